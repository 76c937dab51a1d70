"""Rolling order statistics and the CUSUM on them."""

from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.kernels.rolling import ALLOWANCE, BLOCK, BLOCKS, LEAST, LIMIT, level, push
from runwatch.kernels.spike import FIELDS, alarms, refresh
from runwatch.kernels.tracks import Tracks

VALUES = st.lists(
    st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 1.0, 2.5])), max_size=500
)
CALM = [1.0 + 0.01 * ((i * 7) % 11) for i in range(200)]


def after(values: list[float]) -> Any:
    """A record whose window has taken in these values."""
    record: SimpleNamespace = Tracks(FIELDS).fresh()
    for value in values:
        if push(record, value):
            refresh(record)
    return record


def first_alarm(record: Any, values: list[float]) -> int:
    """The index of the first value that alarms, their number where none does."""
    for i, value in enumerate(values):
        if alarms(record, value, i, i, i):
            return i
    return len(values)


@given(values=VALUES)
def test_the_window_is_the_last_whole_blocks(values: list[float]) -> None:
    """Of every whole block the quartiles and the largest value are kept, of the last ten blocks;
    until the first is whole, all there is counts and is kept in order."""
    record = after(values)
    whole = len(values) - len(values) % BLOCK
    blocks = [sorted(values[i : i + BLOCK]) for i in range(0, whole, BLOCK)]
    late, kept = values[whole:], blocks[-BLOCKS:]
    assert (late if blocks else sorted(late)) == record.late
    assert (len(late) if not blocks else BLOCK * len(kept)) == record.n
    for name, place in (("lows", 5), ("medians", 10), ("highs", 15), ("tops", 19)):
        assert sorted(b[place] for b in kept) == sorted(getattr(record, name)[: len(kept)])


@given(values=VALUES.filter(lambda v: len(v) % 2 == 1 and len(v) < BLOCK))
def test_level_of_few_is_their_median(values: list[float]) -> None:
    """The level of less than a block is its median, its spread never 0."""
    usual, spread = level(after(values))
    assert median(values) == usual
    assert spread > 0.0


def test_spread_of_even_noise() -> None:
    """For values spread evenly over one, the spread is that of the quartiles."""
    usual, spread = level(after([10.0 + ((i * 37) % 200) / 200.0 for i in range(200)]))
    assert pytest.approx(10.5, abs=0.03) == usual
    assert pytest.approx(0.5 / 1.349 * 1.05, rel=0.06) == spread


def test_one_wild_value_leaves_what_is_usual() -> None:
    """A single outlier moves neither the level nor the spread by much."""
    calm = [1.0 + 0.01 * ((i * 7) % 11) for i in range(200)]
    usual, spread = level(after(calm))
    assert (pytest.approx(usual, rel=0.01), pytest.approx(spread, rel=0.1)) == level(
        after([*calm[:90], 1e6, *calm[91:]])
    )


def test_a_jump_alarms_at_once() -> None:
    """A value far above the past alarms where it stands and is not taken in."""
    record = after([])
    assert first_alarm(record, [*CALM[:100], 2.0, 2.0]) == 100
    assert (100, 100) == (record.onset_line, record.first_line)
    assert record.n == 100
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
