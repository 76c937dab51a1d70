"""Gradient norms against their own past: spells in which they explode or are exactly 0."""

from math import log10
from typing import Any

from runwatch.kernels.rolling import WINDOW, level, push
from runwatch.kernels.run import DONE, SEGMENT
from runwatch.kernels.tracks import REPEATED, Field, numbers, repeats

WARM = 100  # first steps, in which norms settle
FACTOR = 1.0  # decades above the median of the last 200 steps
SPREADS = 6.0  # and spreads of the norm's logarithm
SUSTAINED = 10  # steps in a row
ZEROS = 3  # steps in a row at exactly 0
SOLID = -3.0  # decades at which the norm stood before, so that it did not just shrink to 0
CALM, EXPLODED, ZERO = 0, 1, 2
OVER = 2  # a spell that was long enough has ended; it stands in the fields `over_*`

_SPELL = ("kind", "count", "line", "step", "time", "last_line")

FIELDS = (
    Field("segment"),
    *REPEATED,
    *WINDOW,
    *numbers("seen", "distinct"),
    Field("first_value", 0.0),
    *numbers(*_SPELL),
    *numbers("peak", "height", start=0.0),
    *numbers(*(f"over_{name}" for name in _SPELL)),
    *numbers("over_peak", "over_height", start=0.0),
)


def enough(kind: int) -> int:
    """How many steps in a row make a spell."""
    return ZEROS if kind == ZERO else SUSTAINED


def close(s: Any) -> bool:
    """End the spell; whether it was long enough to be told."""
    told = s.kind != CALM and s.count >= enough(s.kind)
    if told:
        s.over_kind = s.kind
        s.over_count = s.count
        s.over_line = s.line
        s.over_step = s.step
        s.over_time = s.time
        s.over_last_line = s.last_line
        s.over_peak = s.peak
        s.over_height = s.height
    s.kind = CALM
    s.count = 0
    return bool(told)


def judged(s: Any, value: float, resting: bool) -> tuple[int, float]:
    """What a norm is, and the height that it is measured by."""
    s.seen += 1
    if s.distinct == 0:
        s.first_value = value
        s.distinct = 1
    elif s.distinct == 1 and value != s.first_value:
        s.distinct = 2
    if value == 0.0:
        solid = s.n >= 10 and s.order[s.n // 10] >= SOLID
        return (ZERO, 0.0) if solid and not resting else (-1, 0.0)
    height = log10(value)
    if s.n >= 20 and s.seen > WARM:
        usual, spread = level(s)
        if height > usual + max(FACTOR, SPREADS * spread):
            return EXPLODED, usual
    return CALM, height


def follow(
    line: Any, time: Any, step: Any, epoch: Any, value: Any, order: Any, begins: Any,
    segments: Any, slots: Any, states: Any, at: Any, resting: Any,
) -> int:  # fmt: skip
    """Go on from series `at[0]` and place `at[1]` until something happens.

    `resting` tells of each row whether the learning rate is 0 beside it.
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
            finite = v - v == 0.0
            if repeats(s, step[i], epoch[i], finite) or not finite or v < 0.0:
                continue
            kind, height = judged(s, v, resting[i] != 0)
            if kind < 0:
                continue
            ended = kind != s.kind and close(s)
            if kind == CALM:
                push(s, height)
            else:
                if s.kind == CALM:
                    s.kind = kind
                    s.line = line[i]
                    s.step = step[i]
                    s.time = time[i]
                    s.peak = 0.0
                    s.height = height
                s.count += 1
                s.peak = max(s.peak, v)
                s.last_line = line[i]
            if ended:
                at[0], at[1] = g, k
                return OVER
        g += 1
    return DONE
