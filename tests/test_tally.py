"""Counting without keeping."""

from itertools import pairwise
from math import inf, nan

from hypothesis import given
from hypothesis import strategies as st

from runwatch.tally import Tally
from tests.cli.samples import batch

NUMBERS = st.floats(-1e300, 1e300) | st.just(nan)


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.lists(st.integers(0, 60)))
def test_where_the_input_is_cut_does_not_matter(values: list[float], cuts: list[int]) -> None:
    """Any split into batches gives the same row to the last bit."""
    whole, pieces = Tally(), Tally()
    whole.feed(batch(values))
    bounds = sorted({0, len(values), *(cut for cut in cuts if cut < len(values))})
    for start, end in pairwise(bounds):
        pieces.feed(batch(values[start:end]))
    assert repr(whole.metrics()) == repr(pieces.metrics())
    assert (whole.points, whole.lines) == (pieces.points, pieces.lines)


def test_nan_counts_but_does_not_spoil_the_rest() -> None:
    """Extremes and mean are of the numbers, first and last are what was printed."""
    tally = Tally()
    tally.feed(batch([2.0, nan, 4.0, nan]))
    (row,) = tally.metrics()
    assert (row.count, row.nan, row.first, row.min, row.max, row.mean) == (4, 2, 2, 2, 4, 3)
    assert row.last != row.last


def test_all_nan_has_no_mean() -> None:
    """Nothing is made up where there is no number."""
    tally = Tally()
    tally.feed(batch([nan]))
    (row,) = tally.metrics()
    assert (row.min, row.max, row.mean) == (None, None, None)


def test_infinity_is_a_value() -> None:
    """It shows in the extremes, for it is what one looks for."""
    tally = Tally()
    tally.feed(batch([1.0, inf]))
    assert tally.metrics()[0].max == inf


def test_units_are_kept_apart() -> None:
    """98 ms and 1.2 s are not averaged; rows come in order of appearance."""
    tally = Tally()
    tally.feed(batch([98.0], metric="time", unit="ms"))
    tally.feed(batch([1.2], metric="time", unit="s"))
    tally.feed(batch([3.0], metric="loss"))
    assert [(row.metric, row.unit) for row in tally.metrics()] == [
        ("time", "ms"),
        ("time", "s"),
        ("loss", None),
    ]
