"""Where a followed file lies now: under its name, renamed, or copied."""

import os

from runwatch.chunk import Cursor
from runwatch.ingest.follow_part import Descriptors, Part
from runwatch.ingest.follow_rotated import after, copied, key_of, renamed, since
from runwatch.ingest.identity import is_same


def kept(path: str, cursor: Cursor, files: Descriptors) -> str:
    """Where the file of a cursor that belongs to this name lies, else ""."""
    if os.path.exists(path) and _is_at(path, cursor, files):
        return path
    return renamed(path, cursor.identity) or copied(path, cursor.identity, cursor.offset)


def _is_at(path: str, cursor: Cursor, files: Descriptors) -> bool:
    _, descriptor = files.open(path)
    long_enough = os.fstat(descriptor).st_size >= cursor.offset
    return long_enough and is_same(cursor.identity, descriptor)


def successor(path: str, part: Part, files: Descriptors) -> str | None:
    """What was written under a name after a part, opened; None while names are being shifted.

    A rotation renames one file after the other, and looking at it meanwhile could leave one out:
    the old file, the names beside it and the new file must be the same twice in a row.
    """
    where = renamed(path, part.identity)
    following = _behind(path, part, where)
    key, _ = files.open(following)
    settled = renamed(path, part.identity) == where
    settled = settled and _behind(path, part, where) == following
    return following if settled and key_of(os.stat(following)) == key else None


def _behind(path: str, part: Part, where: str) -> str:
    """What was written after a part that lies at `where`, if it still lies anywhere."""
    if where or part.path != path:
        return after(path, where or part.path)
    copy = copied(path, part.identity, part.offset)
    return after(path, copy) if copy else since(path, part.seen[1])


def reopened(path: str, part: Part, files: Descriptors) -> int | None:
    """The open file of a part; a name that it has been given meanwhile is looked up."""
    descriptor = files.get(part.key)
    if descriptor is not None:
        return descriptor
    for place in (part.path, renamed(path, part.identity)):
        try:
            if place and key_of(os.stat(place)) == part.key:
                return files.open(place)[1]
        except OSError:
            continue
    return None
