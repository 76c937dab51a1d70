"""Files at rest, one after the other, each from where it was left."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import BinaryIO

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import InputError, in_words
from runwatch.ingest import records
from runwatch.ingest.identity import HEAD, identity_of, is_same
from runwatch.ingest.ranks import rank_of
from runwatch.ingest.sniff import SAMPLE, looks_binary, sample_of
from runwatch.ingest.source import CHUNK_SIZE, Skipped, Source
from runwatch.ingest.text import is_plain, texts
from runwatch.slotted import frozen
from runwatch.target import Target

NOTHING_READ = "nothing of it could be read"


def open_target(target: Target) -> Source:
    """One named file: a run of one stream, whatever its name ends in.

    Raises InputError where there is none, where it may not be read or is no text.
    """
    path, name = target.path, printable(os.path.basename(target.path))
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            from runwatch.ingest.standard_input import Pipe

            return Pipe(printable(path), path)
        if not stat.S_ISREG(mode):
            raise InputError(f"{printable(path)} is no file", hint="name a log file or a folder")
        why = looks_binary(sample_at(path))
    except FileNotFoundError as error:
        from runwatch.ingest.nearby import missing

        raise missing(path) from error
    except OSError as error:
        raise unreadable(path, error) from error
    except InputError as error:
        hint = error.hint or NOTHING_READ
        raise InputError(f"{printable(path)}: {error}", hint=hint) from error
    if why:
        raise InputError(f"{printable(path)} looks binary ({why})", hint="name its text log")
    around = "/".join(os.path.abspath(path).split("/")[-3:])
    return Files([LogFile(Stream(name, rank_of(around), format_at(path)), path)])


def format_at(path: str) -> str:
    """The format of a file of records, "" for any other."""
    with open(path, "rb") as stored:
        return records.format_of(os.pread(stored.fileno(), HEAD, 0))


def printable(path: str) -> str:
    """A path as text that can be stored and printed, whatever its bytes are."""
    return os.fsencode(path).decode("utf-8", "replace")


def unreadable(path: str, error: OSError) -> InputError:
    """The error for a path that the system does not let us read."""
    return InputError(
        f"{printable(path)}: {in_words(error)}",
        hint="may this user read it, and is its disk there?",
    )


@frozen
class LogFile:
    """A file that a stream is read from."""

    stream: Stream
    path: str


class Files:
    """A run of files at rest: read in the order given, one open at a time.

    What a file held when it was opened is read; what is written behind that meanwhile is left
    for the next time, so a scan whose own output goes into the folder comes to an end.
    """

    def __init__(
        self,
        files: Sequence[LogFile],
        skipped: Sequence[Skipped] = (),
        chunk_size: int = CHUNK_SIZE,
    ) -> None:
        self.skipped = list(skipped)
        self._files = files
        self._size = chunk_size

    def streams(self) -> list[Stream]:
        """One stream a file, in the order of reading."""
        return [file.stream for file in self._files]

    def chunks(self, cursors: Mapping[str, Cursor]) -> Iterator[Chunk]:
        """Each file from its cursor to its end; see `Source`."""
        for file in self._files:
            name = file.stream.name
            try:
                with open(file.path, "rb") as stored:
                    yield from self._chunks(file.stream, stored, cursors.get(name))
            except OSError as error:
                self._give_up(file.stream, in_words(error), 0)
                yield Chunk(file.stream, b"", 0, last=True)

    def _chunks(self, stream: Stream, stored: BinaryIO, cursor: Cursor | None) -> Iterator[Chunk]:
        """One chunk is held back, so that the last one can be told."""
        if stream.kind == records.STATE:
            yield self._document(stream, stored, cursor)
            return
        identity, size = identity_of(stored.fileno()), os.fstat(stored.fileno()).st_size
        same = cursor is not None and is_same(cursor.identity, stored.fileno())
        offset, pieces = text_from(stored, cursor.offset if cursor and same else 0, self._size)
        held = b""
        while piece := self._next(pieces, stream, offset + len(held)):
            if held:
                yield Chunk(stream, held, offset, identity, size, stored.tell())
                offset += len(held)
            held = piece
        yield Chunk(stream, held, offset, identity, size, stored.tell(), last=True)

    def _document(self, stream: Stream, stored: BinaryIO, cursor: Cursor | None) -> Chunk:
        """A document that is written anew, and longer, is told by its text."""
        _, pieces = text_from(stored, 0, self._size)
        text = b"".join(iter(lambda: self._next(pieces, stream, 0), b""))
        same = cursor is not None and records.is_same_text(cursor.identity, text)
        offset = cursor.offset if cursor and same and cursor.offset <= len(text) else 0
        identity, size = records.identity_of_text(text), stored.tell()
        return Chunk(stream, text[offset:], offset, identity, size, size, last=True)

    def _next(self, pieces: Iterator[bytes], stream: Stream, read: int) -> bytes:
        try:
            return next(pieces, b"")
        except InputError as error:
            self._give_up(stream, str(error), read)
        except OSError as error:
            self._give_up(stream, in_words(error), read)
        return b""

    def _give_up(self, stream: Stream, reason: str, read: int) -> None:
        if not read and len(self._files) == 1:
            raise InputError(f"{stream.name}: {reason}", hint=NOTHING_READ)
        self.skipped.append(Skipped(stream.name, reason, read))


def text_from(stored: BinaryIO, offset: int, size: int) -> tuple[int, Iterator[bytes]]:
    """Where reading begins and the text from there on, in pieces of about `size` bytes.

    It begins at `offset`, or at 0 where the text has become shorter. Stored bytes that are not
    the text itself cannot be entered in the middle: they are read from the first on.
    """
    length = os.fstat(stored.fileno()).st_size
    if is_plain(os.pread(stored.fileno(), HEAD, 0)):
        start = offset if offset <= length else 0
        stored.seek(start)
        return start, _plain(stored, length, size)
    pieces = _decoded(stored, size)
    rest = _behind(pieces, offset)
    return (0, _decoded(stored, size)) if rest is None else (offset, rest)


def sample_at(path: str) -> bytes:
    """Enough of the beginning of a file's text to tell what it is; holes are jumped over."""
    with open(path, "rb") as stored:
        if is_plain(os.pread(stored.fileno(), HEAD, 0)):
            stored.seek(_first_data(stored.fileno()))
            return sample_of(iter(lambda: stored.read(SAMPLE), b""))
        return sample_of(_decoded(stored, SAMPLE))


def _plain(stored: BinaryIO, length: int, size: int) -> Iterator[bytes]:
    """Up to the length that was, or to the end where the system tells none (as in /proc)."""
    left = length - stored.tell() if length else 1 << 62
    while left > 0 and (data := stored.read(min(size, left))):
        left -= len(data)
        yield data


def _decoded(stored: BinaryIO, size: int) -> Iterator[bytes]:
    stored.seek(0)
    head = os.pread(stored.fileno(), HEAD, 0)
    return texts(stored.read, head, size, seek=stored.seek)


def _behind(pieces: Iterator[bytes], offset: int) -> Iterator[bytes] | None:
    """What follows the first `offset` bytes, None where there are not so many."""
    while offset:
        try:
            piece = next(pieces, b"")
        except InputError:
            return None
        if not piece:
            return None
        if len(piece) > offset:
            return chain([piece[offset:]], pieces)
        offset -= len(piece)
    return pieces


def _first_data(descriptor: int) -> int:
    """Where the first byte is that is no hole, as a copytruncate leaves gigabytes of them."""
    try:
        return os.lseek(descriptor, 0, os.SEEK_DATA)
    except (OSError, AttributeError):  # nothing but a hole, or a system that cannot tell
        return 0
