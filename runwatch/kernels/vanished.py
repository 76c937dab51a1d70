"""Losses that are missing beside other fields, and losses of exactly 0."""

from typing import Any

from runwatch.kernels.field import REPEATED, Field, counts, follows, numbers, passed, repeats
from runwatch.kernels.run import DONE, over

SETTLED = 20  # records in a row with a loss before its absence means something
MISSING = 2  # records in a row without it
TOLD = 3  # records without it that are worth a line once it is back
ZEROS = 5  # steps in a row at exactly 0.0
SOLID = 0.05  # what the loss stood at before, so that it did not just shrink to 0
OVER = 2  # a gap that was long enough has ended; it stands in the fields `over_*`

_GAP = ("count", "line", "step", "time", "last_line")
_COMMON = (
    Field("segment"),
    *REPEATED,
    *numbers("run", "settled", *_GAP, *(f"over_{name}" for name in _GAP)),
)
COMPANION_FIELDS = _COMMON
ZERO_FIELDS = (*_COMMON, Field("before_n"), Field("before", 0.0, ZEROS), Field("low", 0.0))


def close(s: Any, enough: int) -> int:
    """End the gap; the code of what happened."""
    if s.count == 0:
        return DONE
    told = s.count >= max(TOLD, enough)
    if told:
        s.over_count = s.count
        s.over_line = s.line
        s.over_step = s.step
        s.over_time = s.time
        s.over_last_line = s.last_line
    s.count = 0
    s.run = 0
    return OVER if told else DONE


def widen(s: Any, line: int, step: int, time: int) -> None:
    """One more record in a gap."""
    if s.count == 0:
        s.line = line
        s.step = step
        s.time = time
    s.count += 1
    s.last_line = line


def beside(s: Any, there: bool, line: int, step: int, time: int) -> int:
    """One more record of a companion, with a loss beside it or not."""
    happened = DONE
    if there:
        happened = close(s, MISSING)
        s.run += 1
        if s.run >= SETTLED:
            s.settled = 1
    elif s.count > 0 or s.run >= SETTLED:
        widen(s, line, step, time)
    else:
        s.run = 0
    return happened


def zero(s: Any, value: float, line: int, step: int, time: int) -> int:
    """One more finite loss."""
    s.low = min(s.low, value)
    if value != 0.0:
        happened = close(s, ZEROS)
        s.before[s.before_n % ZEROS] = value
        s.before_n += 1
        return happened
    solid = s.before_n >= ZEROS and s.low >= 0.0
    for j in range(ZEROS):
        solid = solid and s.before[j] >= SOLID
    if s.count > 0 or solid:
        widen(s, line, step, time)
    return DONE


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more row of a series; a code where a gap has ended. `more` tells of each row whether a
    loss stands beside it."""
    if repeats(s, step, epoch, value - value == 0.0):
        return DONE
    return beside(s, more[i] != 0, line, step, time)


def stretch(
    s: Any, line: Any, step: Any, epoch: Any, value: Any, time: Any, k: int, end: int, more: Any
) -> int:  # fmt: skip
    """`row` where a loss stands beside every record."""
    first, before = k, s.last_step
    if s.count > 0:
        return k
    while k < end and follows(value[k], step[k], before) and more[k] != 0:
        before = step[k]
        k += 1
    if k > first:
        s.run += k - first
        if s.run >= SETTLED:
            s.settled = 1
        passed(s, step, epoch, k - 1)
    return k


follow = over(row, stretch, COMPANION_FIELDS, more="bytes")


def loss_row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more loss; a code where a gap of zeros has ended."""
    return zero(s, value, line, step, time) if counts(s, value, step, epoch) else DONE


def loss_stretch(
    s: Any, line: Any, step: Any, epoch: Any, value: Any, time: Any, k: int, end: int, more: Any
) -> int:  # fmt: skip
    """`loss_row` for losses other than 0."""
    first, before, low = k, s.last_step, s.low
    if s.count > 0:
        return k
    while k < end and follows(value[k], step[k], before) and value[k] != 0.0:
        low = min(low, value[k])
        before = step[k]
        k += 1
    if k > first:
        s.low = low
        for i in range(max(first, k - ZEROS), k):
            s.before[(s.before_n + i - first) % ZEROS] = value[i]
        s.before_n += k - first
        passed(s, step, epoch, k - 1)
    return k


follow_losses = over(loss_row, loss_stretch, ZERO_FIELDS)
