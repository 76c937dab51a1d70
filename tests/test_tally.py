"""Counting without keeping."""

from math import inf, nan

from hypothesis import given
from hypothesis import strategies as st

from runwatch.tally import Tally

NUMBERS = st.floats(-1e300, 1e300) | st.just(nan)


def counted(values: list[float], metric: str = "loss", unit: str = "") -> Tally:
    """A tally of these values alone."""
    tally = Tally()
    for value in values:
        tally.add(metric, unit, value)
    return tally


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=60))
def test_it_says_what_python_says(values: list[int]) -> None:
    """Count, ends, extremes and mean are those of the list."""
    (row,) = counted([float(v) for v in values]).metrics()
    assert (len(values), values[0], values[-1]) == (row.count, row.first, row.last)
    assert (min(values), max(values), sum(values) / len(values)) == (row.min, row.max, row.mean)


def test_nan_counts_but_does_not_spoil_the_rest() -> None:
    """Extremes and mean are of the numbers, first and last are what was printed."""
    (row,) = counted([2.0, nan, 4.0, nan]).metrics()
    assert (row.count, row.nan, row.first, row.min, row.max, row.mean) == (4, 2, 2, 2, 4, 3)
    assert row.last != row.last


def test_all_nan_has_no_mean() -> None:
    """Nothing is made up where there is no number."""
    (row,) = counted([nan]).metrics()
    assert (row.min, row.max, row.mean) == (None, None, None)


def test_infinity_is_a_value() -> None:
    """It shows in the extremes, for it is what one looks for."""
    assert inf == counted([1.0, inf]).metrics()[0].max


def test_units_are_kept_apart() -> None:
    """98 ms and 1.2 s are not averaged; rows come in order of appearance."""
    tally = Tally()
    for metric, unit, value in (("time", "ms", 98.0), ("time", "s", 1.2), ("loss", "", 3.0)):
        tally.add(metric, unit, value)
    found = [(row.metric, row.unit) for row in tally.metrics()]
    assert [("time", "ms"), ("time", "s"), ("loss", None)] == found


@given(st.integers(1, 300))
def test_it_grows_with_the_metrics(count: int) -> None:
    """Any number of metrics has a row each."""
    tally = Tally()
    for index in range(count):
        tally.add(f"m{index}", "", float(index))
    assert [float(i) for i in range(count)] == [row.last for row in tally.metrics()]
