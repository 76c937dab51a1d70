"""One followed name on a disk: its bytes in order, whatever happens to the file behind it.

The name is followed, not the inode: a rotation, a recreated file or a link that flips leads to
another file. What was being read is then drained, as its writer may still hold it, and the new
one is read from its start. Only bytes that were read move the offset, and the head is compared
before and after each read, so a file that was truncated and has grown past the offset is seen.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import InputError, in_words
from runwatch.ingest.file import Files, LogFile
from runwatch.ingest.follow_part import Descriptors, Part
from runwatch.ingest.follow_rotated import Key, after, copied, key_of, since
from runwatch.ingest.follow_whereabouts import kept, reopened, successor
from runwatch.ingest.identity import HEAD, identity_of, is_same
from runwatch.ingest.source import CHUNK_SIZE
from runwatch.ingest.text import is_raw

_LONGEST_DRAIN = 30.0  # times the grace period: a new file waits no longer for its elder
_MOST_NULS = 64  # chunks of NULs that are skipped before others have their turn
_FORMER = 16  # files behind a name that are recognised when it leads to them again


def _inode(part: Part) -> str:
    return f"{part.key[0]:x}.{part.key[1]:x}."


class Tail:
    """What one name gives. `look` never waits; `more` says that there is more right now.

    `taken` tells whether an open file is already read under another name, so that a rotated copy
    is not read again. `tell` is given words for a person on what happened to the file.
    """

    def __init__(
        self, stream: Stream, path: str, files: Descriptors, *,
        tell: Callable[[str], None], taken: Callable[["Tail", int], bool] = lambda _t, _d: False,
        cursor: Cursor | None = None, grace: float = 2.0, revalidate: bool = False,
        size: int = CHUNK_SIZE,
    ) -> None:  # fmt: skip
        self.stream, self.path = stream, path
        self.more = False
        self._files, self._tell, self._taken = files, tell, taken
        self._cursor, self._grace, self._revalidate, self._size = cursor, grace, revalidate, size
        self._part: Part | None = None
        self._former: OrderedDict[Key, tuple[str, int]] = OrderedDict()
        self._left = self._grown = 0.0  # when the name led elsewhere; when there were bytes last
        self._written = 0  # the file's own time of its last bytes that were seen, in ns
        self.real_path = ""  # where the bytes lie, links resolved
        self.gone = self._ended = False
        self._rest: Iterator[Chunk] | None = None
        self._ignored: Key | None = None

    @property
    def restless(self) -> bool:
        """Whether it must be looked at again soon though no event may come."""
        draining = self._left and self._part and self._files.get(self._part.key) is not None
        return self.more or bool(draining)

    @property
    def begun(self) -> bool:
        """Whether a file was found under this name."""
        return self._part is not None

    @property
    def identities(self) -> dict[Key, str]:
        """The files read so far under this name."""
        found = {key: identity for key, (identity, _) in self._former.items()}
        return found | ({self._part.key: self._part.identity} if self._part else {})

    def nothing(self) -> Chunk:
        """An empty chunk that stands where the stream stands."""
        if self._part is None:
            return Chunk(self.stream, b"", 0)
        return Chunk(self.stream, b"", self._part.offset, self._part.identity)

    def look(self, now: float) -> list[Chunk]:
        """What there is to read now, a chunk or two at most. Raises nothing: it tells."""
        self.more = False
        if self._ended:
            return []
        try:
            if self._rest is not None:
                return self._next_of_rest()
            return self._look(now)
        except OSError as error:
            self._say_gone(in_words(error), now)
            return []

    def _look(self, now: float) -> list[Chunk]:
        status = self._status()
        if self._part is None:
            return [] if status is None and self._cursor is None else self._begin(now)
        if status is None:
            self._say_gone("is gone", now)
            return self._read(self._part, now)
        here = key_of(status)
        if here == self._part.key:
            if self.gone:
                self.gone = False
                self._tell(f"{self.stream.name} is back")
            self._left = 0.0
            seen = (status.st_size, status.st_mtime_ns)
            if seen == self._part.seen and self._part.offset >= status.st_size:
                return []
            return self._read(self._part, now)
        if here == self._ignored:
            return []
        return self._drain(now)

    def _status(self) -> os.stat_result | None:
        try:
            if not self._revalidate:
                return os.stat(self.path)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)  # asks the file's server
            try:
                return os.fstat(descriptor)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            return None

    def _say_gone(self, why: str, now: float) -> None:
        if not self.gone:
            self.gone = True
            self._left = self._left or now
            self._tell(f"{self.stream.name} {why}")

    # Where to begin

    def _begin(self, now: float) -> list[Chunk]:
        """The first file under this name, or what the cursor still wants of an older one."""
        cursor = self._cursor
        if cursor is None or not cursor.identity:
            return self._enter(self.path, 0, now)
        path = kept(self.path, cursor, self._files)
        if path != kept(self.path, cursor, self._files):
            return []  # files are being renamed in this moment
        self._cursor = None
        begin = path or since(self.path, int(cursor.at * 1e9))
        if not path and cursor.offset:
            name = self.stream.name
            what = "another file than before; reading it from its start"
            if begin != self.path:
                what = f"gone as it was; reading {os.path.basename(begin)}, written since"
            self._tell(f"{name} is {what}")
        chunks = self._enter(begin, cursor.offset if path else 0, now)
        if path and self._part is not None and not cursor.identity.startswith(_inode(self._part)):
            self._part.settled = True  # a copy, which nobody writes to
        return chunks

    def _enter(self, path: str, offset: int, now: float) -> list[Chunk]:
        """Go over to a file. It comes from 0, with an empty chunk first, if it is another."""
        key, descriptor = self._files.open(path)
        fresh = self._part is None
        if path == self.path and not fresh and self._taken(self, descriptor):
            self._ignored = key
            return []
        identity = identity_of(descriptor)
        if key in self._former and is_same(self._former[key][0], descriptor):
            former = self._former[key][1]
            offset = former if former <= os.fstat(descriptor).st_size else offset
        if self._part is not None:
            self._former[self._part.key] = (self._part.identity, self._part.offset)
            while len(self._former) > _FORMER:
                self._former.popitem(last=False)
        settled = path != self.path and after(self.path, path) != self.path
        self._part = Part(key, path, identity, offset, bare=not offset, settled=settled)
        self.real_path = os.path.realpath(path)
        self._left, self._grown, self.gone = 0.0 if path == self.path else now, now, False
        self.more = True
        return [] if fresh else [Chunk(self.stream, b"", offset, identity, 0, offset)]

    def _at_rest(self, path: str, cursor: Cursor) -> None:
        self._tell(f"{self.stream.name} is compressed or UTF-16: read once, not followed")
        files = Files([LogFile(self.stream, path)], chunk_size=self._size)
        self._rest = files.chunks({self.stream.name: cursor})
        self.more = True

    def _next_of_rest(self) -> list[Chunk]:
        assert self._rest is not None
        try:
            chunk = next(self._rest, None)
        except InputError as error:
            self._tell(str(error))
            chunk = None
        self.more, self._ended = chunk is not None, chunk is None
        return [chunk] if chunk else []

    # A file that the name has left

    def _drain(self, now: float) -> list[Chunk]:
        """Read what its writer still writes to the old file, then go over to what came after."""
        part = self._part
        assert part is not None
        if not self._left or self.gone:
            self._tell(f"{self.stream.name} was replaced; reading the old file to its end")
        self._left, self.gone = self._left or now, False
        chunks = self._read(part, now)
        if chunks or self.more:
            return chunks
        quiet = part.settled or now - max(self._left, self._grown) >= self._grace
        if self._files.get(part.key) is None:
            quiet = True
            self._tell(f"{self.stream.name}: the old file is gone, and what was not read of it")
        if not quiet and now - self._left < self._grace * _LONGEST_DRAIN:
            return []
        following = successor(self.path, part, self._files)
        if following is None:
            return []
        self._files.close(part.key)
        return self._enter(following, 0, now)

    # Bytes

    def _read(self, part: Part, now: float) -> list[Chunk]:
        descriptor = reopened(self.path, part, self._files)
        if descriptor is None:
            return []
        status = os.fstat(descriptor)
        part.seen = (status.st_size, status.st_mtime_ns)
        if status.st_size < part.offset or not is_same(part.identity, descriptor):
            return self._start_over(part, descriptor, now)
        self._written = status.st_mtime_ns
        if not part.plain and not self._found_plain(part, descriptor):
            return []
        if part.bare and not self._skip_nuls(part, descriptor):
            return []
        data = os.pread(descriptor, self._size, part.offset)
        if not data:
            if self.gone and not status.st_nlink and now - self._left >= self._grace:
                self._files.close(part.key)  # deleted and quiet: its disk space is not held
            return []
        if not is_same(part.identity, descriptor):  # truncated in this very moment
            if os.pread(descriptor, len(data), part.offset) == data:
                return self._start_over(part, descriptor, now)  # new bytes: they come again
            part.seen = (-1, -1)
        elif part.identity.split(".")[2] != str(HEAD):
            part.identity = identity_of(descriptor)
        begin, part.offset = part.offset, part.offset + len(data)
        self._grown, self.more = now, len(data) == self._size
        size = max(status.st_size, part.offset)
        return [Chunk(self.stream, data, begin, part.identity, size, part.offset)]

    def _found_plain(self, part: Part, descriptor: int) -> bool:
        head = os.pread(descriptor, HEAD, 0)
        part.plain = bool(head) and is_raw(head)
        if head and not part.plain:
            self._at_rest(part.path, Cursor(part.identity, part.offset))
        return part.plain

    def _start_over(self, part: Part, descriptor: int, now: float) -> list[Chunk]:
        """The file was truncated: first what a rotated copy still has of it, then from 0."""
        self._tell(f"{self.stream.name} was truncated; reading it from its start")
        copy = copied(self.path, part.identity, part.offset) if part.path == self.path else ""
        if copy:
            key, copy_descriptor = self._files.open(copy)
            status = os.fstat(copy_descriptor)
            # A copy made before the last look is of an older run that began with the same words.
            if status.st_size > part.offset and status.st_ctime_ns >= self._written:
                self._part = Part(key, copy, identity_of(copy_descriptor), part.offset, bare=False)
                self._part.settled = self.more = True
                self._left = now
                return []
            self._files.close(key)
        part.identity, part.offset, part.bare = identity_of(descriptor), 0, True
        part.seen, self.more = (-1, -1), True
        self._former.pop(part.key, None)
        return [Chunk(self.stream, b"", 0, part.identity)]

    def _skip_nuls(self, part: Part, descriptor: int) -> bool:
        """Move to the first byte that is no NUL; whether there is one yet."""
        begin = part.offset
        with suppress(OSError):  # nothing but a hole behind it, or a system that tells no holes
            part.offset = os.lseek(descriptor, part.offset, os.SEEK_DATA)
        for _ in range(_MOST_NULS):
            data = os.pread(descriptor, self._size, part.offset)
            text = data.lstrip(b"\0")
            part.offset += len(data) - len(text)
            if text:
                part.bare = False
                if part.offset > begin:
                    self._tell(f"{self.stream.name}: {part.offset} NUL bytes at its start skipped")
                return True
            if not data:
                return False
        self.more = True
        return False
