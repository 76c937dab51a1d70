"""Chunks of bytes and parts of them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from runwatch.chunk import Chunk, Stream

STREAM = Stream("run")


@given(st.binary(max_size=40), st.integers(1, 50), st.booleans(), st.integers(0, 60))
def test_the_parts_side_by_side_are_the_whole(
    data: bytes, most: int, last: bool, before: int
) -> None:
    """Each stands where its bytes stand; only the one behind which nothing comes is at the end."""
    size = before + len(data)
    whole = Chunk(STREAM, data, before, "file", size, size, last)
    edges = [*range(0, max(len(data), 1), most), len(data)]
    parts = [whole.part(start, end) for start, end in pairwise(edges)]
    assert data == b"".join(part.data for part in parts)
    assert [before + edge for edge in edges[:-1]] == [part.offset for part in parts]
    assert [part.offset + len(part.data) for part in parts] == [part.position for part in parts]
    assert [False] * (len(parts) - 1) + [last] == [part.last for part in parts]
    assert {("file", size)} == {(part.identity, part.size) for part in parts}
