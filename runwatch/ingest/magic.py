"""Whether a file is compressed, by its first bytes."""

LONGEST_MAGIC = 6


def format_of(head: bytes) -> str:
    """gzip, zstd, bzip2 or xz, as the first LONGEST_MAGIC bytes of a file tell; else ""."""
    if head[:2] == b"\x1f\x8b":
        return "gzip"
    if head[:4] == b"\x28\xb5\x2f\xfd" or (head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5):
        return "zstd"
    if head[:3] == b"BZh" and head[3:4] in b"123456789":
        return "bzip2"
    return "xz" if head[:6] == b"\xfd7zXZ\0" else ""
