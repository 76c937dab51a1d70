"""gzip, zstd, bzip2 and xz to text: told by their first bytes, all members, in bounded memory.

Stored bytes are fed in small pieces because zstd cannot bound what a call gives: 1 KiB of
zstd can stand for 32 MiB of text, of which no more is held than that, whatever a bomb holds.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol

from runwatch.errors import InputError
from runwatch.ingest.magic import format_of

PIECE = 1024
LONGEST = 1 << 18

Read = Callable[[int], bytes]


class Decoder(Protocol):
    """One member or frame, as bz2 and lzma of the standard library do it."""

    @property
    def eof(self) -> bool:
        """Whether the member is complete."""

    @property
    def needs_input(self) -> bool:
        """Whether there is no more text without more data."""

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the end of the member."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """At most about `max_length` bytes of text; more may come for no data."""


class _Gzip:
    """zlib's decoder with the manners of bz2's."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        text = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        self.needs_input = not self._zlib.unconsumed_tail and len(text) < max_length
        return text


class _Zstd:
    """A frame, skippable ones too; `max_length` is not kept."""

    def __init__(self) -> None:
        import zstandard

        self._zstd = zstandard.ZstdDecompressor().decompressobj()
        self._error = zstandard.ZstdError
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._zstd.eof

    @property
    def unused_data(self) -> bytes:
        return self._zstd.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        try:
            return self._zstd.decompress(data)
        except self._error as error:
            raise ValueError(str(error)) from error


def _xz() -> Decoder:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 28)


DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": _Gzip,
    "zstd": _Zstd,
    "bzip2": bz2.BZ2Decompressor,
    "xz": _xz,
}
BREAKS = (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError)


class _Feed:
    """Stored bytes in small pieces; `at` is the position of the next one."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._rest = b""
        self.at = 0

    def take(self) -> bytes:
        data, self._rest = self._rest or self._read(PIECE), b""
        self.at += len(data)
        return data

    def give_back(self, data: bytes) -> None:
        self._rest = data
        self.at -= len(data)

    def another_member(self) -> bool:
        """Whether anything but NUL padding follows; the first member takes none before it."""
        while data := self.take():
            member = data if self.at == len(data) else data.lstrip(b"\0")
            self.give_back(member)
            if member:
                return True
        return False


def decompress(read: Read, name: str, seek: Callable[[int], int] | None = None) -> Iterator[bytes]:
    """The text of all members in pieces.

    `read` starts at the first byte. Where the data breaks, InputError comes after everything
    that could be read before; with `seek` that is to the last byte, without it the text of the
    last PIECE of stored bytes is lost.
    """
    feed = _Feed(read)
    while feed.another_member():
        start, given, decoder = feed.at, 0, DECODERS[name]()
        while not decoder.eof:
            data = feed.take() if decoder.needs_input else b""
            if decoder.needs_input and not data:
                raise InputError(f"its {name} data ends too early")
            try:
                text = decoder.decompress(data, LONGEST)
            except BREAKS as error:
                if seek:
                    yield _salvaged(read, name, seek, start, feed.at - len(data), given)
                raise InputError(_broken(name, data, start, feed.at, error)) from error
            given += len(text)
            if text:
                yield text
        feed.give_back(decoder.unused_data)


def _salvaged(
    read: Read, name: str, seek: Callable[[int], int], start: int, good: int, given: int
) -> bytes:
    """What the call that broke had still read: the member once more, its end byte by byte."""
    decoder, at, seen, rest = DECODERS[name](), seek(start), 0, bytearray()
    with suppress(*BREAKS):
        while not decoder.eof:
            data = b""
            if decoder.needs_input and not (data := read(min(PIECE, good - at) or 1)):
                break
            at = min(at + len(data), good)
            text = decoder.decompress(data, LONGEST if seen + LONGEST < given else 1)
            rest += text[max(given - seen, 0) :]
            seen += len(text)
    return bytes(rest)


def _broken(name: str, data: bytes, start: int, at: int, error: Exception) -> str:
    if start and format_of(data) != name and at - len(data) <= start:
        return f"what follows byte {start} is no {name} data"
    return f"its {name} data is broken near byte {at - len(data)}: {error}"
