"""Stored bytes to the bytes of text: decompressed, UTF-16 turned into UTF-8, records into JSON."""

import codecs
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from runwatch.errors import InputError
from runwatch.ingest import records
from runwatch.ingest.magic import LONGEST_MAGIC, format_of

Read = Callable[[int], bytes]

WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_raw(head: bytes) -> bool:
    """Whether the stored bytes are neither compressed nor UTF-16: text, or records."""
    return not (format_of(head[:LONGEST_MAGIC]) or head.startswith(WIDE_MARKS))


def is_plain(head: bytes) -> bool:
    """Whether the stored bytes are the text, so that a position in one is one in the other."""
    return is_raw(head) and not records.format_of(head)


def texts(
    read: Read,
    head: bytes,
    size: int,
    *,
    least: int | None = None,
    seek: Callable[[int], int] | None = None,
) -> Iterator[bytes]:
    """The text of stored bytes that begin with `head`, in pieces of at least `least` bytes.

    `read` gives the stored bytes from the first on, `head` among them, `size` at most at a time,
    none at their end. A piece is never empty and only the last is shorter than `least` (without
    it, `size`). Raises InputError at a break, after all that was readable before it.
    """
    name = format_of(head[:LONGEST_MAGIC])
    if name:
        from runwatch.ingest.compressed import decompress

        pieces = decompress(read, name, seek)
    elif kind := records.format_of(head):
        pieces = records.translated(read, kind, size)
    else:
        pieces = iter(lambda: read(size), b"")
    return _gathered(_as_utf8(pieces), least or size)


def _as_utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    head = b""
    try:
        while len(head) < len(WIDE_MARKS[0]) and (piece := next(pieces, b"")):
            head += piece
    except InputError:
        yield head
        raise
    rest = chain([head], pieces)
    yield from _narrowed(rest) if head.startswith(WIDE_MARKS) else rest


def _narrowed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """UTF-16 as PowerShell's `>` writes it, to UTF-8; a torn character becomes a question mark."""
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _gathered(pieces: Iterable[bytes], least: int) -> Iterator[bytes]:
    held: list[bytes] = []
    length = 0
    try:
        for piece in pieces:
            held.append(piece)
            length += len(piece)
            if length >= least:
                yield b"".join(held)
                held.clear()
                length = 0
    except InputError:
        if length:
            yield b"".join(held)
        raise
    if length:
        yield b"".join(held)
