"""Files that followed streams are read from, and those of them that are open."""

import os
from collections import OrderedDict

from runwatch.ingest.follow_rotated import Key, key_of
from runwatch.slotted import mutable


class Descriptors:
    """Open files, the longest unused closed first, so that quiet ones cost none."""

    def __init__(self, limit: int = 128) -> None:
        self._open: OrderedDict[Key, int] = OrderedDict()
        self._limit = limit

    def __len__(self) -> int:
        return len(self._open)

    def get(self, key: Key) -> int | None:
        """The open descriptor of a file."""
        if key in self._open:
            self._open.move_to_end(key)
        return self._open.get(key)

    def open(self, path: str) -> tuple[Key, int]:
        """Open a path, or take what is open of the file that it leads to."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        key = key_of(os.fstat(descriptor))
        if key in self._open:
            os.close(descriptor)
        else:
            self._open[key] = descriptor
        self._open.move_to_end(key)
        while len(self._open) > self._limit:
            os.close(self._open.popitem(last=False)[1])
        return key, self._open[key]

    def close(self, key: Key) -> None:
        """Close a file that is done with."""
        if key in self._open:
            os.close(self._open.pop(key))

    def close_all(self) -> None:
        """Close everything."""
        for key in list(self._open):
            self.close(key)


@mutable
class Part:
    """A file that a stream is read from, and how far."""

    key: Key
    path: str
    identity: str
    offset: int = 0
    bare: bool = True  # nothing but NULs so far
    plain: bool = False  # known to be neither compressed nor UTF-16
    settled: bool = False  # nobody writes to it any more
    seen: tuple[int, int] = (-1, -1)  # size and time of the last look
