"""Learning rates that no schedule explains."""

from typing import Any

from runwatch.kernels.field import (
    LAST,
    NOTHING,
    REPEATED,
    Field,
    follows,
    keep,
    keep_rows,
    numbers,
    passed,
    repeats,
)
from runwatch.kernels.run import DONE, over

JUMP = 3.0  # times the rate of the record before
SETTLED = 20  # records before a jump is one; warm-up and coarse logging come first
SCHEDULE = 3  # jumps of one segment that are a schedule of restarts, not a mishap
SUDDEN = 0.05  # share of the highest rate: from below it 0 is the end of a decay, rounded
BELOW = 0.5  # share of the highest rate so far: a jump starts in the decay, or ends far above it

CLIMB = 10  # records in a row, by which a rate that had decayed must have risen,
CLIMBED = 1.2  # and this far above its lowest
DECAYED = 0.9  # share of the highest rate: from below it a rise begins

FIELDS = (
    Field("segment"),
    *REPEATED,
    *LAST,
    Field("seen"),
    *numbers("climb", "cycles", "turn_line", "turn_step", "turn_time", "turn_last_line"),
    *numbers("crest", "trough", "risen", start=0.0),
    *numbers("before", "highest", "bad_value", start=0.0),
    *numbers("bad", "bad_line", "bad_step", "bad_time"),
    *numbers("zeros", "zero_line", "zero_step", "zero_time", "zero_last_line"),
    Field("jumps"),
    *(Field(f"jump_{name}", 0, SCHEDULE) for name in ("line", "step", "time")),
    *(Field(f"jump_{name}", 0.0, SCHEDULE) for name in ("before", "value", "above")),
)


def climbs(s: Any) -> bool:
    """Whether a rate that had decayed is rising, record after record, for the first time."""
    return bool(
        s.climb >= CLIMB and s.cycles == 0 and s.trough < DECAYED * s.crest
        and s.risen >= CLIMBED * s.trough
    )  # fmt: skip


def turns(s: Any, before: float, value: float, line: int, step: int, time: int) -> None:
    """Follow a rate down to its lowest and up again; once it falls from there it has cycles."""
    if value > before > 0.0:
        if s.climb == 0:
            s.crest = s.highest
            s.trough = before
            s.turn_line = line
            s.turn_step = step
            s.turn_time = time
        s.climb += 1
        s.risen = value
        s.turn_last_line = line
    elif value < before:
        if climbs(s):
            s.cycles = 1
        s.climb = 0


def take(s: Any, value: float, line: int, step: int, time: int) -> None:
    """One more rate."""
    if value - value != 0.0 or value < 0.0:
        if s.bad == 0:
            s.bad = 1
            s.bad_value = value
            s.bad_line = line
            s.bad_step = step
            s.bad_time = time
        return
    s.seen += 1
    if value == 0.0:
        if s.zeros == 0 and s.before > SUDDEN * s.highest:
            s.zeros = 1
            s.zero_line = line
            s.zero_step = step
            s.zero_time = time
        elif s.zeros > 0:
            s.zeros += 1
        s.zero_last_line = line
        return
    s.zeros = 0
    decayed = 0.0 < s.before < BELOW * s.highest or value > JUMP * s.highest
    if decayed and value > JUMP * s.before and s.seen > SETTLED and s.jumps < SCHEDULE:
        s.jump_above[s.jumps] = value / s.highest if s.before < s.highest else 1.0
        s.jump_line[s.jumps] = line
        s.jump_step[s.jumps] = step
        s.jump_time[s.jumps] = time
        s.jump_before[s.jumps] = s.before
        s.jump_value[s.jumps] = value
        s.jumps += 1
    turns(s, s.before, value, line, step, time)
    s.before = value
    s.highest = max(s.highest, value)
    if step != NOTHING:
        keep(s, step, value)


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more row of a series, finite or not."""
    if not repeats(s, step, epoch, value - value == 0.0):
        take(s, value, line, step, time)
    return DONE


def stretch(
    s: Any, line: Any, step: Any, epoch: Any, value: Any, time: Any, k: int, end: int, more: Any
) -> int:  # fmt: skip
    """`row` for rates above 0 that do not jump, each with its step."""
    first, last, before, highest = k, s.last_step, s.before, s.highest
    if not before > 0.0:
        return k
    while k < end and step[k] != NOTHING and follows(value[k], step[k], last):
        if not 0.0 < value[k] <= JUMP * before:
            break
        s.highest = highest
        turns(s, before, value[k], line[k], step[k], time[k])
        before = value[k]
        highest = max(highest, before)
        last = step[k]
        k += 1
    if k > first:
        s.zeros = 0
        s.seen += k - first
        s.before = before
        s.highest = highest
        keep_rows(s, line, step, value, first, k)
        passed(s, step, epoch, k - 1)
    return k


follow = over(row, stretch, FIELDS)
