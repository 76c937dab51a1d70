"""Recognise a file later: its device, its inode, and a hash of how it begins.

The inode alone is given to another file as soon as this one is deleted; the head alone is the
same in every run that prints the same banner. The length of the head that was there is kept, so
that a file which has grown since is still the same one. Files of other hosts are told by cksum.
"""

import os

from runwatch.digest import blake2b

HEAD = 4096


def identity_of(descriptor: int, head: int = HEAD) -> str:
    """`device.inode.length.hash` of the stored bytes; does not move the file's position."""
    stat = os.fstat(descriptor)
    begin = os.pread(descriptor, head, 0)
    digest = blake2b(begin, digest_size=8).hexdigest()
    return f"{stat.st_dev:x}.{stat.st_ino:x}.{len(begin)}.{digest}"


def is_same(identity: str, descriptor: int) -> bool:
    """Whether the file is the one that had this identity, and still begins as it did."""
    parts = identity.split(".")
    if len(parts) != 4 or not parts[2].isdecimal():
        return False
    return identity_of(descriptor, min(int(parts[2]), HEAD)) == identity


def is_head(identity: str, now: str, head: bytes) -> bool:
    """Whether a file that is now identified as `now` and begins with `head` had this identity."""
    parts = identity.split(".")
    if len(parts) != 4 or not parts[2].isdecimal() or parts[:2] != now.split(".")[:2]:
        return False
    length = min(int(parts[2]), HEAD)
    begin = head[:length]
    digest = blake2b(begin, digest_size=8).hexdigest()
    return len(head) >= length and parts[3] in (digest, f"{cksum(begin):08x}")


def cksum(data: bytes) -> int:
    """The checksum that every POSIX system's `cksum` prints: a CRC of the data and its length, the
    highest bit first, by 0x04C11DB7 (POSIX.1, cksum)."""
    crc, length = 0, len(data)
    size = length.to_bytes((length.bit_length() + 7) // 8, "little")
    for byte in data + size:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1) ^ (0x04C11DB7 if crc & 0x80000000 else 0)
        crc &= 0xFFFFFFFF
    return crc ^ 0xFFFFFFFF
