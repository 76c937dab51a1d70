"""Recognise a file later: its device, its inode, and a hash of how it begins.

The inode alone is given to another file as soon as this one is deleted; the head alone is the
same in every run that prints the same banner. The length of the head that was there is kept, so
that a file which has grown since is still the same one.
"""

import os
from hashlib import blake2b

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
    digest = blake2b(head[:length], digest_size=8).hexdigest()
    return len(head) >= length and digest == parts[3]
