"""Gradient norms against their own past: spells in which they explode or are exactly 0."""

from math import inf, log10, nan, sqrt
from typing import Any

from runwatch.kernels.field import REPEATED, Field, counts, follows, numbers, passed
from runwatch.kernels.rolling import (
    BLOCK,
    FLOOR,
    QUARTILES,
    TINY,
    TWENTIETH,
    WINDOW,
    push,
    put,
    quartiles,
    usual,
)
from runwatch.kernels.run import DONE, over

WARM = 100  # first steps, in which norms settle
FACTOR = 1.0  # decades above the median of the last 200 steps
SPREADS = 6.0  # and spreads of the norm's logarithm
SUSTAINED = 10  # steps in a row
HIGHEST = 300.0  # decades: no limit is above
ZEROS = 3  # steps in a row at exactly 0
SOLID = 1e-3  # where the norm stood before, so that it did not just shrink to 0
CALM, EXPLODED, ZERO = 0, 1, 2
OVER = 2  # a spell that was long enough has ended; it stands in the fields `over_*`

_SPELL = ("kind", "count", "line", "step", "time", "last_line")

FIELDS = (
    Field("segment"),
    *REPEATED,
    *WINDOW,
    *numbers("seen", "distinct"),
    *numbers("first_value", "low", "usual", "limit", start=0.0),
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


def changed(s: Any) -> None:
    """The window is another one. What is usual, and the limit, which is above this one, are worked
    out where a norm is that high, as hardly any is."""
    low, mid, _ = quartiles(s)
    s.low = low
    s.usual = nan
    s.limit = min(0.99 * 10.0**FACTOR * mid, 0.9 * 10.0**HIGHEST)


def limits(s: Any) -> None:
    """Where norms usually stand, and from where on they explode: `rolling.level` of logarithms."""
    if s.usual == s.usual:
        return
    low, mid, high, tail, apart = usual(s)
    median = log10(mid)
    floor = FLOOR * abs(median) + TINY
    within = max((log10(high) - log10(low)) / QUARTILES, (log10(tail) - median) / TWENTIETH)
    slow = log10(1.0 + apart / mid)
    spread = max(sqrt(within * within + slow * slow), floor) * (1.0 + 10.0 / s.n)
    s.usual = median
    s.limit = 10.0 ** min(median + max(FACTOR, SPREADS * spread), HIGHEST)


def judged(s: Any, value: float, resting: bool) -> int:
    """What a norm is; negative where it is not to be judged."""
    s.seen += 1
    if s.distinct == 0:
        s.first_value = value
        s.distinct = 1
    elif s.distinct == 1 and value != s.first_value:
        s.distinct = 2
    if value == 0.0:
        solid = s.n >= 10 and s.low >= SOLID
        return ZERO if solid and not resting else -1
    return EXPLODED if s.n >= 20 and s.seen > WARM and explodes(s, value) else CALM


def explodes(s: Any, value: float) -> bool:
    """Whether a norm is above the limit."""
    if value <= s.limit:
        return False
    limits(s)
    return bool(value > s.limit)


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more norm; OVER where something has ended. `more` tells of each row whether the learning
    rate is 0 beside it."""
    if not counts(s, value, step, epoch) or value < 0.0:
        return DONE
    kind = judged(s, value, more[i] != 0)
    if kind < 0:
        return DONE
    ended = kind != s.kind and close(s)
    if kind == CALM:
        if push(s, value):
            changed(s)
    else:
        if s.kind == CALM:
            s.kind = kind
            s.line = line
            s.step = step
            s.time = time
            s.peak = 0.0
            limits(s)
            s.height = s.usual
        s.count += 1
        s.peak = max(s.peak, value)
        s.last_line = line
    return OVER if ended else DONE


def stretch(
    s: Any, line: Any, step: Any, epoch: Any, value: Any, time: Any, k: int, end: int, more: Any
) -> int:  # fmt: skip
    """`row` for norms that are calm and make no block whole."""
    if s.kind != CALM or s.distinct < 2 or s.blocks == 0:
        return k
    first, before, room = k, s.last_step, k + BLOCK - 1 - s.late_n
    limit = s.limit
    if s.seen < WARM:
        limit, room = inf, min(room, k + WARM - s.seen)
    while k < min(end, room) and follows(value[k], step[k], before):
        if not 0.0 < value[k] <= limit:
            break
        put(s.late, s.late_n + k - first, value[k])
        before = step[k]
        k += 1
    if k > first:
        s.late_n += k - first
        s.seen += k - first
        passed(s, step, epoch, k - 1)
    return k


follow = over(row, stretch, FIELDS, more="bytes")
