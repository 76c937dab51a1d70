"""Rules with thresholds of their own: spells in which a rule is broken, one at a time."""

from math import inf, sqrt
from typing import Any

from runwatch.kernels.field import NOTHING, REPEATED, Field, counts, numbers, repeats
from runwatch.kernels.rolling import WINDOW, push, usual
from runwatch.kernels.run import DONE, over

OVER = 2  # a spell has ended; what it was stands in the record until the next row
RING = 100  # values whose mean and deviation are taken
ENOUGH = 50  # of them, before a value is judged by them
KNOWN = 12  # values before a median is a baseline
WARM = 5  # first speeds, which tell of compilation and caches
SETTLED = 20  # values whose medians make the baseline of a speed

_SPELL = ("count", "line", "step", "time", "last_line")
SPELL = (*_SPELL, "level", "peak")

FIELDS = (
    Field("segment"),
    *REPEATED,
    *WINDOW,
    *numbers("seen", "rises", "open", *_SPELL),
    *numbers("level", "peak", "before", "median", start=0.0),
    *numbers("start_line", "start_step", "start_time", "last_time"),
    *numbers("start", "sum", "squares", start=0.0),
    Field("ring_n"),
    Field("ring", 0.0, RING),
)


def starts(s: Any, line: int, step: int, time: int) -> None:
    """What may become a spell starts at this place."""
    s.start_line = line
    s.start_step = step
    s.start_time = time


def begin(s: Any, level: float) -> None:
    """The rule is broken from where it started on; `level` is what it was measured by."""
    s.open = 1
    s.count = 0
    s.level = level
    s.peak = -inf
    s.line = s.start_line
    s.step = s.start_step
    s.time = s.start_time


def lasts(s: Any, value: float, line: int) -> None:
    """It still is."""
    s.peak = max(s.peak, value)
    s.count += 1
    s.last_line = line


def end(s: Any) -> int:
    """It is no longer; the code of what happened."""
    s.open = 0
    return OVER


def judged(s: Any, broken: bool, value: float, level: float, at: Any) -> int:
    """One more value, which breaks the rule or does not; `at` is line, step and time."""
    if broken:
        if s.open == 0:
            starts(s, at[0], at[1], at[2])
            begin(s, level)
        lasts(s, value, at[0])
        return DONE
    return end(s) if s.open == 1 else DONE


def again(s: Any, level: float, at: Any, more: float) -> None:
    """One more step in a row at line, step and time `at`; `more` of them break the rule, from the
    first one on."""
    if s.rises == 0:
        starts(s, at[0], at[1], at[2])
    s.rises += 1
    if s.open == 0 and s.rises >= more:
        begin(s, level)
        s.count = s.rises - 1


def rising_row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: float
) -> int:  # fmt: skip
    """Rises on `more` steps in a row, until the value is back where the rise began."""
    if not counts(s, value, step, epoch):
        return DONE
    if s.seen > 0 and value > s.before:
        if s.rises == 0:
            s.start = s.before
        again(s, s.start, (line, step, time), more)
    else:
        s.rises = 0
    s.before = value
    s.seen += 1
    if s.open == 0:
        return DONE
    if value <= s.level:
        return end(s)
    lasts(s, value, line)
    return DONE


def deviant_row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: float
) -> int:  # fmt: skip
    """Above the mean of the last values by `more` standard deviations."""
    if not counts(s, value, step, epoch):
        return DONE
    happened = DONE
    n = min(s.ring_n, RING)
    if n >= ENOUGH:
        mean = s.sum / n
        bound = s.start + mean + more * sqrt(max(s.squares / n - mean * mean, 1e-18))
        if s.open == 1:
            bound = s.level
        happened = judged(s, value > bound, value, bound, (line, step, time))
    k = s.ring_n % RING
    if k == 0:  # sums around a value near by, made anew so that no error adds up
        s.start = value
        s.sum = s.squares = 0.0
        for j in range(n):
            s.sum += s.ring[j] - value
            s.squares += (s.ring[j] - value) * (s.ring[j] - value)
    if s.ring_n >= RING:
        gone = s.ring[k] - s.start
        s.sum -= gone
        s.squares -= gone * gone
    s.ring[k] = value
    s.sum += value - s.start
    s.squares += (value - s.start) * (value - s.start)
    s.ring_n += 1
    return happened


def above_row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: float
) -> int:  # fmt: skip
    """Above `more`, whatever it was before."""
    if not counts(s, value, step, epoch):
        return DONE
    return judged(s, value > more, value, more, (line, step, time))


def multiple_row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: float
) -> int:  # fmt: skip
    """At more than `more` times the median of the last values."""
    if not counts(s, value, step, epoch):
        return DONE
    broken = s.n >= KNOWN and value > more * s.median
    if not broken and push(s, value):
        s.median = usual(s)[1]
    return judged(s, broken, value, s.median, (line, step, time))


def lower_row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: float
) -> int:  # fmt: skip
    """A speed that is `more` per cent below its baseline; negative where a time is told."""
    if value - value != 0.0 or not value > 0.0:
        return DONE
    speed = value if more > 0.0 else 1.0 / value
    s.seen += 1
    if s.seen <= WARM:
        return DONE
    if s.seen <= WARM + SETTLED:
        if push(s, speed):
            s.median = usual(s)[1]
        if s.seen <= WARM + KNOWN:
            return DONE
    low = speed < (1.0 - 0.01 * abs(more)) * s.median
    return judged(s, low, 1.0 - speed / s.median, s.median, (line, step, time))


def lost_row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: float
) -> int:  # fmt: skip
    """No finite number on `more` steps in a row."""
    finite = value - value == 0.0
    if repeats(s, step, epoch, finite):
        return DONE
    if finite:
        s.rises = 0
        return end(s) if s.open == 1 else DONE
    again(s, 0.0, (line, step, time), more)
    if s.open == 1:
        lasts(s, 0.0, line)
    return DONE


def silent_row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: float
) -> int:  # fmt: skip
    """No line for more than `more` of the usual intervals; told when the next one comes."""
    if time == NOTHING or (s.seen > 0 and time <= s.last_time):
        return DONE
    happened = DONE
    if s.seen > 0:
        gap = (time - s.last_time) / 1e6
        if s.n >= KNOWN and gap > more * s.median:
            begin(s, s.median)
            lasts(s, gap, s.start_line)
            happened = end(s)
        elif push(s, gap):
            s.median = usual(s)[1]
    s.seen += 1
    s.last_time = time
    starts(s, line, step, time)
    return happened


rising = over(rising_row, None, FIELDS, more="real")
deviant = over(deviant_row, None, FIELDS, more="real")
above = over(above_row, None, FIELDS, more="real")
multiple = over(multiple_row, None, FIELDS, more="real")
lower = over(lower_row, None, FIELDS, more="real")
lost = over(lost_row, None, FIELDS, more="real")
silent = over(silent_row, None, FIELDS, more="real")
