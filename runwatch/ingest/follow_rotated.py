"""Where a followed file went: its other names after a rotation, and the order of the copies."""

import os
from collections.abc import Iterable, Iterator

from runwatch.ingest.identity import HEAD, identity_of, is_same
from runwatch.ingest.order import reading_order
from runwatch.ingest.ranks import COMPRESSED, bare

Key = tuple[int, int]
"""Device and inode."""

_LEAST_HEAD = 16  # bytes of a head that are enough to call another inode a copy of it


def key_of(status: os.stat_result) -> Key:
    """What tells two files apart while both exist."""
    return status.st_dev, status.st_ino


def copies(path: str) -> list[str]:
    """The rotated copies of a log beside it, the oldest first; compressed ones are left out."""
    try:
        names = os.listdir(os.path.dirname(path) or ".")
    except OSError:
        return []
    return copies_among(path, names)


def copies_among(path: str, names: Iterable[str]) -> list[str]:
    """The same, from the names that lie in the folder of the log."""
    folder, name = os.path.split(path)
    found = [n for n in names if n != name and n.startswith(name) and bare(n) == name]
    plain = [n for n in found if not COMPRESSED.search(n)]
    return [os.path.join(folder, n) for n in sorted(plain, key=reading_order)]


def renamed(path: str, identity: str) -> str:
    """The name beside `path` under which the file with this identity lies now, else ""."""
    wanted = identity.split(".")[:2]
    for other in _neighbours(path):
        try:
            status = os.stat(other)
            if [f"{status.st_dev:x}", f"{status.st_ino:x}"] == wanted and _is(other, identity):
                return other
        except OSError:
            continue
    return ""


def copied(path: str, identity: str, offset: int) -> str:
    """The newest rotated copy that begins as the file with this identity did, else "".

    copytruncate leaves what was not read yet in another inode, under the same beginning.
    """
    parts = identity.split(".")
    if len(parts) != 4 or int(parts[2]) < _LEAST_HEAD:
        return ""
    length, digest = int(parts[2]), parts[3]
    for other in reversed(copies(path)):
        try:
            with open(other, "rb") as file:
                head = identity_of(file.fileno(), min(length, HEAD)).split(".")
                if head[2:] == [str(length), digest] and os.fstat(file.fileno()).st_size >= offset:
                    return other
        except OSError:
            continue
    return ""


def after(path: str, other: str) -> str:
    """What was written after the rotated copy `other`: a newer copy, or the log at `path`."""
    return next_of(path, other, copies(path))


def next_of(path: str, other: str, rotated: list[str]) -> str:
    """The same, from the copies that there are, the oldest first."""
    if other in rotated and rotated.index(other) + 1 < len(rotated):
        return rotated[rotated.index(other) + 1]
    return path


def since(path: str, when: int) -> str:
    """The oldest rotated copy that was written after a time in ns, or the log itself: where to go
    on once the file that was read at that time is gone."""
    for other in copies(path) if when > 0 else ():
        try:
            if os.stat(other).st_mtime_ns > when:
                return other
        except OSError:
            continue
    return path


def _neighbours(path: str) -> Iterator[str]:
    yield path
    yield from reversed(copies(path))
    try:
        with os.scandir(os.path.dirname(path) or ".") as entries:
            yield from (entry.path for entry in entries if not entry.is_dir())
    except OSError:
        return


def _is(path: str, identity: str) -> bool:
    with open(path, "rb") as file:
        return is_same(identity, file.fileno())
