"""What holds for every log: where it is cut, and when reading is interrupted, changes nothing."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.chunk import Chunk
from runwatch.parse import Parser
from tests.parse.reading import MIXED, RUN, points, rows

WHOLE = points(MIXED)
CUTS = st.lists(st.integers(0, len(MIXED)), max_size=8)
PIECES = st.lists(
    st.sampled_from(
        [*MIXED.splitlines(keepends=True), b"\x00" * 9, b"\r", b"\xff\xfe", b"{", b"]"]
    ),
    max_size=30,
)


def test_the_mixture_is_read() -> None:
    """The log that the laws are tried on gives points in every dialect."""
    assert {1 + i for i in (1, 2, 3, 4, 5, 6, 12, 14, 17, 18, 19, 20, 21, 22, 23)} <= {
        row[0] for row in WHOLE
    } | {7, 13, 15, 16}


@given(CUTS)
def test_where_the_bytes_are_cut_does_not_matter(cuts: list[int]) -> None:
    """Any cut of the bytes into chunks gives the same points in the same order."""
    assert WHOLE == points(MIXED, cuts)


@given(PIECES, CUTS)
@settings(max_examples=60)
def test_no_order_of_lines_makes_cuts_matter(pieces: list[bytes], cuts: list[int]) -> None:
    """The same holds for any jumble of lines, torn bytes and control characters."""
    data = b"".join(pieces)
    assert points(data) == points(data, cuts)


@given(CUTS)
def test_a_reader_goes_on_from_its_cursor(cuts: list[int]) -> None:
    """Stopped anywhere, its past written as JSON and read by another parser, nothing is lost or
    read twice."""
    parser, out = Parser(), []
    at = 0
    for end in sorted({cut for cut in cuts if cut < len(MIXED)}):
        if end > at:
            out += rows(parser.feed(Chunk(RUN, MIXED[at:end], at)).points)
            at = parser.cursor(RUN).offset
            past = json.loads(json.dumps(parser.state()))
            parser = Parser()
            parser.restore(past)
    out += rows(parser.feed(Chunk(RUN, MIXED[at:], at)).points)
    out += rows(parser.finish(RUN).points)
    assert WHOLE == out


@given(
    st.binary(max_size=200),
    st.lists(st.tuples(st.integers(0, len(MIXED) - 1), st.integers(0, 255)), max_size=40),
)
@settings(max_examples=300)
def test_no_bytes_make_it_raise(junk: bytes, changes: list[tuple[int, int]]) -> None:
    """Bytes changed anywhere in a log are read as far as they can be."""
    data = bytearray(MIXED)
    for where, byte in changes:
        data[where] = byte
    points(bytes(data) + junk)


def test_real_logs_do_not_notice_cuts(shared: Path) -> None:
    """On real logs of many formats, chunks of odd sizes give what one chunk gives."""
    for path in sorted((shared / "corpus").rglob("*.log"))[::3]:
        data = path.read_bytes()[:200_000]
        sizes = range(0, len(data), 7919)
        assert points(data) == points(data, [end for _, end in pairwise(sizes)]), path.name


@pytest.mark.parametrize("year", [1999, 2024])
def test_the_year_of_a_stamp_without_one_is_told(year: int) -> None:
    """A glog stamp gets the year that the parser is given."""
    parser = Parser(year=year)
    line = b"I0501 12:00:00.000000 17 train.py:3] step 1 loss 2.0\n"
    batch = parser.feed(Chunk(RUN, line, 0)).points
    (time,) = batch.column("time").tolist()
    assert year == datetime.fromtimestamp(time / 1e6, UTC).year
