"""Standard input, or a named pipe: bytes as they come, read once, never to be resumed."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from itertools import chain

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import InputError, in_words
from runwatch.ingest.magic import LONGEST_MAGIC, format_of
from runwatch.ingest.sniff import SAMPLE, looks_binary
from runwatch.ingest.source import Skipped
from runwatch.ingest.text import texts
from runwatch.target import Target

# Bytes of a pipe that wait for us, so that a piece is worth the work around it; and of a piece, as
# room for more than there can be would be taken and given back for each.
_ROOM = 1 << 20
HINT = "name or pipe in the text log itself"


def open_target(target: Target) -> "Pipe":
    """Reads descriptor 0."""
    return Pipe("stdin", 0)


class Pipe:
    """One stream from a descriptor, or from a path that is opened when reading begins.

    Opening a named pipe waits for its writer. Identities are empty: no pipe can be read again.
    """

    def __init__(self, name: str, where: int | str, chunk_size: int = _ROOM) -> None:
        self.skipped: list[Skipped] = []
        self._stream = Stream(name)
        self._where = where
        self._size = chunk_size

    def streams(self) -> list[Stream]:
        """The one stream."""
        return [self._stream]

    def chunks(self, cursors: Mapping[str, Cursor]) -> Iterator[Chunk]:
        """Everything from the first byte; plain text is passed on as soon as it comes."""
        descriptor, offset = self._opened(), 0
        with suppress(OSError, AttributeError):  # no pipe, a quota, or another system
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _ROOM)
        try:
            for text in self._texts(descriptor):
                yield Chunk(self._stream, text, offset, position=offset + len(text))
                offset += len(text)
        except InputError as error:
            if not offset:
                raise InputError(f"{self._stream.name}: {error}", hint=error.hint) from error
            self.skipped.append(Skipped(self._stream.name, str(error), offset))
        except OSError as error:
            raise InputError(f"{self._stream.name}: {in_words(error)}", hint=HINT) from error
        finally:
            if isinstance(self._where, str):
                os.close(descriptor)
        yield Chunk(self._stream, b"", offset, position=offset, last=True)

    def _opened(self) -> int:
        if isinstance(self._where, int):
            return self._where
        try:
            return os.open(self._where, os.O_RDONLY)
        except OSError as error:
            raise InputError(f"{self._stream.name}: {in_words(error)}", hint=HINT) from error

    def _texts(self, descriptor: int) -> Iterator[bytes]:
        head = b""
        while len(head) < LONGEST_MAGIC and (first := os.read(descriptor, self._size)):
            head += first
        stored = _Stored(head, descriptor)
        least = self._size if format_of(head[:LONGEST_MAGIC]) else 1
        pieces = texts(stored.read, head, self._size, least=least)
        sample = next(pieces, b"")
        if why := looks_binary(sample[:SAMPLE]):
            raise InputError(f"looks binary ({why})", hint=HINT)
        yield from chain([sample] if sample else [], pieces)


class _Stored:
    """The bytes already taken from a pipe, then the rest of it."""

    def __init__(self, head: bytes, descriptor: int) -> None:
        self._head = BytesIO(head)
        self._descriptor = descriptor

    def read(self, size: int) -> bytes:
        return self._head.read(size) or os.read(self._descriptor, size)
