"""Losses that are missing beside other fields, and losses of exactly 0."""

from typing import Any

from runwatch.kernels.run import DONE, SEGMENT
from runwatch.kernels.tracks import REPEATED, Field, numbers, repeats

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


def follow(
    line: Any, time: Any, step: Any, epoch: Any, value: Any, order: Any, begins: Any,
    segments: Any, slots: Any, states: Any, at: Any, there: Any,
) -> int:  # fmt: skip
    """Go on from series `at[0]` and place `at[1]` until a gap has ended.

    `there` tells of each row whether a loss stands beside it.
    """
    g, k = at[0], at[1]
    while g < len(slots):
        s = states[slots[g]]
        if s.segment != segments[g]:
            at[0], at[1] = g, k
            return SEGMENT
        k = max(k, begins[g])
        while k < begins[g + 1]:
            i = order[k]
            k += 1
            v = value[i]
            if repeats(s, step[i], epoch[i], v - v == 0.0):
                continue
            happened = beside(s, there[i] != 0, line[i], step[i], time[i])
            if happened != DONE:
                at[0], at[1] = g, k
                return happened
        g += 1
    return DONE


def follow_losses(
    line: Any, time: Any, step: Any, epoch: Any, value: Any, order: Any, begins: Any,
    segments: Any, slots: Any, states: Any, at: Any,
) -> int:  # fmt: skip
    """Go on from series `at[0]` and place `at[1]` until a gap of zeros has ended."""
    g, k = at[0], at[1]
    while g < len(slots):
        s = states[slots[g]]
        if s.segment != segments[g]:
            at[0], at[1] = g, k
            return SEGMENT
        k = max(k, begins[g])
        while k < begins[g + 1]:
            i = order[k]
            k += 1
            v = value[i]
            finite = v - v == 0.0
            if repeats(s, step[i], epoch[i], finite) or not finite:
                continue
            happened = zero(s, v, line[i], step[i], time[i])
            if happened != DONE:
                at[0], at[1] = g, k
                return happened
        g += 1
    return DONE
