"""The next chunks are read while the last ones are worked on."""

import threading
from collections.abc import Iterator

import pytest

from runwatch.chunk import Chunk, Stream
from runwatch.errors import InputError
from runwatch.ingest.ahead import ahead

STREAM = Stream("run.log")


def test_the_chunks_come_in_order_and_all() -> None:
    """However many there are."""
    chunks = [Chunk(STREAM, b"x" * n, n) for n in range(40)]
    assert chunks == [chunk for chunk, _ in ahead(chunks)]


def test_a_chunk_comes_with_the_next_or_with_none() -> None:
    """Never with another."""
    chunks = [Chunk(STREAM, b"x" * n, n) for n in range(400)]
    for (_, following), after in zip(ahead(chunks), [*chunks[1:], None], strict=True):
        assert following in (None, after)


def test_what_reading_raises_is_raised_behind_what_was_read() -> None:
    """A source that breaks off gives what it had first."""

    def broken() -> Iterator[Chunk]:
        yield Chunk(STREAM, b"a", 0)
        raise InputError("it broke", hint="none")

    chunks = ahead(broken())
    assert (Chunk(STREAM, b"a", 0), None) == next(chunks)
    with pytest.raises(InputError, match="it broke"):
        next(chunks)


def test_no_thread_is_left_where_the_caller_stops_early() -> None:
    """Nor is the source read to its end."""
    read: list[int] = []
    ended = threading.Event()

    def endless() -> Iterator[Chunk]:
        try:
            for n in range(10**9):
                read.append(n)
                yield Chunk(STREAM, b"a", n)
        finally:
            ended.set()

    chunks = ahead(source := endless())
    next(chunks)
    chunks.close()  # type: ignore[attr-defined]
    for thread in threading.enumerate():
        if thread.name == "runwatch-read":
            thread.join()
    source.close()  # type: ignore[attr-defined]
    assert ended.is_set()
    assert len(read) < 20
