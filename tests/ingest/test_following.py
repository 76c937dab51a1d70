"""What is followed, for who has others to serve meanwhile."""

import asyncio
from collections.abc import AsyncIterator

from runwatch.chunk import Chunk, Stream
from runwatch.ingest.following import in_parts

CHUNKS = [Chunk(Stream("run"), data, at) for data, at in ((b"abcdefg", 0), (b"", 7), (b"hij", 7))]


class Source:
    """Chunks, and whether they were closed."""

    closed = False

    async def chunks(self) -> AsyncIterator[Chunk]:
        """All of them."""
        try:
            for chunk in CHUNKS:
                yield chunk
        finally:
            self.closed = True


def test_chunks_come_in_parts_of_what_is_wanted_at_the_moment() -> None:
    """An empty one, which says that time has passed, comes as it is."""
    wanted = iter([2, 3, 9, 9, 2, 2])

    async def read() -> list[bytes]:
        return [part.data async for part in in_parts(Source().chunks(), lambda: next(wanted))]

    assert [b"ab", b"cde", b"fg", b"", b"hi", b"j"] == asyncio.run(read())


def test_a_source_is_closed_with_its_parts() -> None:
    """Though more was there."""
    source = Source()

    async def read() -> bytes:
        parts = in_parts(source.chunks(), lambda: 2)
        first = await anext(parts)
        await parts.aclose()  # type: ignore[attr-defined]  it is a generator
        return first.data

    assert b"ab" == asyncio.run(read())
    assert source.closed
