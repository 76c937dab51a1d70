"""Rolling order statistics and the CUSUM on them."""

import subprocess
import sys
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.kernels.rolling import ALLOWANCE, LEAST, LIMIT, SIZE, Alarm, Past, advance

VALUES = st.lists(
    st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 1.0, 2.5])), max_size=500
)


@given(values=VALUES)
def test_past_keeps_the_last_values_in_both_orders(values: list[float]) -> None:
    """The last 200 values stand in order of arrival and of size."""
    past = Past()
    for value in values:
        past.push(value)
    assert values[-SIZE:] == past.ring
    assert sorted(values[-SIZE:]) == past.order


@given(values=VALUES.filter(lambda v: len(v) % 2 == 1 and len(v) < SIZE))
def test_level_is_the_median(values: list[float]) -> None:
    """The level is the median, its spread never 0."""
    past = Past()
    for value in values:
        past.push(value)
    level, spread = past.level()
    assert median(values) == level
    assert spread > 0.0


def test_spread_of_even_noise() -> None:
    """For values spread evenly over one, the spread is that of the quartiles."""
    past = Past()
    for i in range(200):
        past.push(10.0 + ((i * 37) % 200) / 200.0)
    level, spread = past.level()
    assert pytest.approx(10.5, abs=0.01) == level
    assert pytest.approx(0.5 / 1.349 * 1.05, rel=0.02) == spread


def test_a_jump_alarms_at_once() -> None:
    """A value far above the past alarms where it stands and is not taken in."""
    values = [1.0 + 0.01 * ((i * 7) % 11) for i in range(100)]
    past = Past()
    assert Alarm(100, 100, 100) == advance([*values, 2.0, 2.0], 0, past)
    assert values == past.ring
    assert past.total > LIMIT


def test_a_lasting_small_step_alarms_soon() -> None:
    """Values a little above their past add up; the run-up begins where they began."""
    values = [1.0 + 0.01 * ((i * 7) % 11) for i in range(200)]
    alarm = advance([*values, *[1.14] * 20], 0, Past())
    assert alarm.onset == 200
    assert 200 < alarm.index < 210


def test_falling_values_never_alarm() -> None:
    """Only rises count."""
    values = [10.0 * 0.99**i for i in range(1000)]
    assert advance(values, 0, Past()).index == 1000


def test_too_little_past_never_alarms() -> None:
    """With fewer values than LEAST nothing is judged."""
    assert advance([1.0] * (LEAST - 1) + [99.0], 0, Past()).index == LEAST


@settings(max_examples=60)
@given(values=VALUES, cut=st.integers(0, 500))
def test_pieces_equal_the_whole(values: list[float], cut: int) -> None:
    """Stopping and going on changes nothing, to the last bit."""
    cut = min(cut, len(values))
    whole, parts = Past(), Past()
    expected = advance(values, 0, whole)
    first = advance(values[:cut], 0, parts)
    if first.index < cut:
        assert (expected.index, whole) == (first.index, parts)
        return
    onset = None if first.onset is None else first.onset - cut
    strong = None if first.first is None else first.first - cut
    second = advance(values[cut:], 0, parts, onset, strong)
    assert expected.index == second.index + cut
    assert whole == parts
    assert expected.onset == (None if second.onset is None else second.onset + cut)


def test_the_allowance_is_free() -> None:
    """Values one spread above the median do not add up."""
    assert ALLOWANCE == 1.0
    values = [1.0 + 0.01 * ((i * 7) % 11) for i in range(200)]
    past = Past()
    advance(values, 0, past)
    level, spread = past.level()
    assert advance([level + 0.9 * spread] * 50, 0, past).index == 50


@settings(max_examples=60)
@given(values=VALUES, start=st.integers(0, 450))
def test_the_compiled_twin_is_the_same(values: list[float], start: int) -> None:
    """The compiled kernel gives the same alarm and the same past, to the last bit."""
    from runwatch.kernels import rolling_compiled

    start = min(start, len(values))
    plain, compiled = Past(), Past()
    for value in values[:start]:
        plain.push(value)
        compiled.push(value)
    array = np.array(values, np.float64)
    assert advance(values, start, plain, -1) == rolling_compiled.advance(array, start, compiled, -1)
    assert plain == compiled


def test_small_inputs_never_load_numba() -> None:
    """A short log is judged without numba."""
    code = (
        "import sys; from runwatch.kernels.rolling import Past, advance, worth_compiling;"
        "advance([1.0] * 1000, 0, Past()); worth_compiling(100_000) and sys.exit(1);"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
