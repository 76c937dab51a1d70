"""Whose turn it is at a history: writers one at a time, readers together.

Where it is not told what a file is, DuckDB reads the headers before it locks it. Who is held up
between the two goes on from headers that another has replaced since: it overwrites what the other
committed, or reads blocks that are gone. So runwatch takes turns at locks of its own first, in a
small file beside the history; and once DuckDB holds its lock, the headers are compared with those
from before, because others may write that know nothing of ours.

There are two locks, a byte each. The room is held as long as the history is open. The gate is held
on the way in: readers that come after a waiting writer wait behind it, else a writer would never
find the room empty.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

HEADERS = 3 * 4096  # bytes; every checkpoint numbers one of them anew
GATE, ROOM = 0, 1  # the bytes of the lock file


@contextmanager
def turn(path: Path, tries: Iterator[bool], *, alone: bool) -> Iterator[None]:
    """Hold the room, shared or alone, from when one of the tries gets in.

    Only writers make the file, and it stays. Where it cannot be had (a folder of somebody else, a
    disk without locks, all tries used up) it goes on without: DuckDB's own lock has the last word.
    """
    lock = _opened(path.with_name(f"{path.name}.lock"), make=alone)
    try:
        if lock is not None:
            _enter(lock, tries, alone=alone)
        yield
    finally:
        if lock is not None:
            os.close(lock)  # and with it whatever is held


@contextmanager
def headers(path: Path) -> Iterator[Callable[[], bytes]]:
    """Gives what the headers are whenever it is called.

    The file stays open meanwhile: closing it would drop the lock that DuckDB has on it, as POSIX
    has it. Windows lets nobody open what another has open, so there is nothing to compare there.
    """
    if sys.platform == "win32":
        yield lambda: b""
        return
    file = os.open(path, os.O_RDONLY)
    try:
        yield lambda: os.pread(file, HEADERS, 0)
    finally:
        os.close(file)


def _opened(path: Path, *, make: bool) -> int | None:
    careful = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # for what else it may be
    for flags in ((os.O_RDWR | os.O_CREAT,) if make else ()) + (os.O_RDONLY,):
        try:
            return os.open(path, flags | careful, 0o666)
        except OSError:
            continue
    return None


def _enter(lock: int, tries: Iterator[bool], *, alone: bool) -> None:
    if sys.platform == "win32":
        return  # what is open cannot be opened there, so DuckDB's lock is complete
    kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
    try:
        if _take(lock, kind, GATE, tries) and _take(lock, kind, ROOM, tries):
            fcntl.lockf(lock, fcntl.LOCK_UN, 1, GATE)
    except OSError:
        return  # no locks here


def _take(lock: int, kind: int, byte: int, tries: Iterator[bool]) -> bool:
    """Whether it was free at one of the tries."""
    while True:
        try:
            fcntl.lockf(lock, kind | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):  # POSIX allows either word for "held"
            if not next(tries, False):
                return False
        else:
            return True
