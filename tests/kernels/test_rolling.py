"""Rolling order statistics and the CUSUM on them."""

from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.kernels.rolling import ALLOWANCE, LEAST, LIMIT, SIZE, level, push
from runwatch.kernels.spike import FIELDS, alarms
from runwatch.kernels.tracks import Tracks

VALUES = st.lists(
    st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 1.0, 2.5])), max_size=500
)
CALM = [1.0 + 0.01 * ((i * 7) % 11) for i in range(200)]


def after(values: list[float]) -> Any:
    """A record whose window has taken in these values."""
    record: SimpleNamespace = Tracks(FIELDS).fresh()
    for value in values:
        push(record, value)
    return record


def first_alarm(record: Any, values: list[float]) -> int:
    """The index of the first value that alarms, their number where none does."""
    for i, value in enumerate(values):
        if alarms(record, value, i, i, i):
            return i
    return len(values)


@given(values=VALUES)
def test_the_window_keeps_the_last_values_in_both_orders(values: list[float]) -> None:
    """The last 200 values stand in order of arrival, from the head on, and of size."""
    record = after(values)
    assert values[-SIZE:] == record.ring[record.head :] + record.ring[: record.head]
    assert sorted(values[-SIZE:]) == record.order


@given(values=VALUES.filter(lambda v: len(v) % 2 == 1 and len(v) < SIZE))
def test_level_is_the_median(values: list[float]) -> None:
    """The level is the median, its spread never 0."""
    usual, spread = level(after(values))
    assert median(values) == usual
    assert spread > 0.0


def test_spread_of_even_noise() -> None:
    """For values spread evenly over one, the spread is that of the quartiles."""
    usual, spread = level(after([10.0 + ((i * 37) % 200) / 200.0 for i in range(200)]))
    assert pytest.approx(10.5, abs=0.01) == usual
    assert pytest.approx(0.5 / 1.349 * 1.05, rel=0.02) == spread


def test_a_jump_alarms_at_once() -> None:
    """A value far above the past alarms where it stands and is not taken in."""
    record = after([])
    assert first_alarm(record, [*CALM[:100], 2.0, 2.0]) == 100
    assert (100, 100) == (record.onset_line, record.first_line)
    assert CALM[:100] == record.ring
    assert record.total > LIMIT


def test_a_lasting_small_step_alarms_soon() -> None:
    """Values a little above their past add up; the run-up begins where they began."""
    record = after([])
    assert 200 < first_alarm(record, [*CALM, *[1.14] * 20]) < 210
    assert record.onset_line == 200


def test_falling_values_never_alarm() -> None:
    """Only rises count."""
    assert first_alarm(after([]), [10.0 * 0.99**i for i in range(1000)]) == 1000


def test_too_little_past_never_alarms() -> None:
    """With fewer values than LEAST nothing is judged."""
    assert first_alarm(after([]), [1.0] * (LEAST - 1) + [99.0]) == LEAST


def test_the_allowance_is_free() -> None:
    """Values one spread above the median do not add up."""
    record = after(CALM)
    usual, spread = level(record)
    assert ALLOWANCE == 1.0
    assert first_alarm(record, [usual + 0.9 * spread] * 50) == 50
