"""Trends, told by order: facts that hold for any series."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.trend import FEW, trend

numbers = st.floats(-1e6, 1e6)
series = st.lists(numbers, min_size=FEW, max_size=40)


def test_a_short_series_has_no_trend() -> None:
    """Fewer values than FEW say nothing."""
    assert trend([3.0] * (FEW - 1)) is None


@given(series)
def test_turned_around_it_goes_the_other_way(values: list[float]) -> None:
    """A series read backwards has the opposite statistic."""
    there, back = trend(values), trend(values[::-1])
    assert there is not None
    assert back is not None
    assert there.z == pytest.approx(-back.z)


@given(st.lists(st.floats(0.01, 100), min_size=FEW, max_size=40))
def test_what_only_falls_falls(drops: list[float]) -> None:
    """Whatever the size of each drop."""
    value, values = 1e6, []
    for drop in drops:
        value -= drop
        values.append(value)
    told = trend(values)
    assert told is not None
    assert told.falls
    assert told.change < 0


def test_noise_alone_rarely_has_a_trend() -> None:
    """At most a few of two hundred seeded series of pure noise."""
    false = 0
    for seed in range(200):
        shake = random.Random(seed)
        told = trend([shake.gauss(0, 1) for _ in range(30)])
        assert told is not None
        false += told.falls or told.climbs
    assert false <= 6


def test_one_spike_changes_nothing() -> None:
    """A falling series with one huge value still falls."""
    values = [10 - i / 3 for i in range(20)]
    values[10] = 1e9
    told = trend(values)
    assert told is not None
    assert told.falls
