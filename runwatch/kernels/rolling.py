"""What is usual of the last values: order statistics of blocks, one value at a time.

A window is the last BLOCKS blocks of BLOCK values. Sorting a block once it is whole costs a
fraction of keeping all of a window in order, and what is usual changes little over one block; until
the first is whole every value counts at once, so that one is kept in order. A quartile of the
window is the mean of those of the blocks; its upper tail comes from the middle one of the blocks'
largest values; and how the blocks' medians differ is noise of its own, slower than a block.

The spread within blocks is the larger of a quartile estimate and the upper tail's, so that a
series with a heavy upper tail is measured by its own habits. ALLOWANCE, LIMIT and MEMORY are of the
one-sided CUSUM in `spike.alarms` only: it adds up z - ALLOWANCE, z being the distance above the
median in spreads, never below 0, and alarms above LIMIT (Page 1954; k = 1 and h = 6 are what
trainscope uses on median and MAD of 200).

These functions stand as they are for the plain twin of a kernel; `compiled` holds the other one.
"""

from bisect import insort
from math import sqrt
from typing import Any

from runwatch.kernels.field import Field, numbers

BLOCK = 20
BLOCKS = 10
LEAST = 12
ALLOWANCE = 1.0
LIMIT = 6.0
FLOOR = 0.003  # of the median: below that a printed loss shows rounding rather than noise
TINY = 1e-9
MEMORY = 10_000  # values over which the usual spread is averaged
QUARTILES = 1.349  # spreads between the quartiles of even noise (Gaussian)
TWENTIETH = 1.645  # spreads from the median to what a twentieth is above
APART = 1.253  # spreads by a mean distance (Gaussian)
SLOPED = 3  # blocks from which a window may be called falling
STEEP = 4.0  # spreads, by which it must have fallen
BENDS = 1.954  # spreads by a mean second difference (Gaussian: sqrt(6) times sqrt(2 / pi))
TOP = 1.83  # spreads from the median to the largest of BLOCK values, typically

WINDOW = (
    *numbers("n", "blocks", "late_n"),  # `n` values are behind what is usual
    Field("late", 0.0, BLOCK, count="late_n"),  # the block that is not whole yet
    *(Field(name, 0.0, BLOCKS) for name in ("lows", "medians", "highs", "tops")),
)


def push(s: Any, value: float) -> bool:
    """Take in one finite value; whether what is usual may have changed."""
    if s.blocks == 0:
        insert(s.late, s.late_n, value)
    else:
        put(s.late, s.late_n, value)
    s.late_n += 1
    if s.late_n < BLOCK:
        if s.blocks == 0:
            s.n = s.late_n
        return bool(s.blocks == 0)
    if s.blocks > 0:
        order(s.late, BLOCK)
    k = s.blocks % BLOCKS
    s.lows[k] = s.late[BLOCK >> 2]
    s.medians[k] = s.late[BLOCK >> 1]
    s.highs[k] = s.late[(3 * BLOCK) >> 2]
    s.tops[k] = s.late[BLOCK - 1]
    clear(s.late)
    s.late_n = 0
    s.blocks += 1
    s.n = BLOCK * min(s.blocks, BLOCKS)
    return True


def quartiles(s: Any) -> tuple[float, float, float]:
    """Those of the window, the median among them."""
    if s.blocks == 0:
        n = s.late_n
        return s.late[n >> 2], s.late[n >> 1], s.late[(3 * n) >> 2]
    blocks = min(s.blocks, BLOCKS)
    low = median = high = 0.0
    for i in range(blocks):
        low += s.lows[i]
        median += s.medians[i]
        high += s.highs[i]
    return low / blocks, median / blocks, high / blocks


def usual(s: Any) -> tuple[float, float, float, float, float]:
    """The quartiles of the window, the median among them, what a twentieth is above, and how far
    blocks lie apart."""
    low, median, high = quartiles(s)
    if s.blocks == 0:
        return low, median, high, s.late[(19 * s.late_n) // 20], 0.0
    blocks = min(s.blocks, BLOCKS)
    tail = median + (middle(s.tops, blocks) - median) * (TWENTIETH / TOP)
    apart = 0.0
    for i in range(blocks):
        apart += abs(s.medians[i] - median)
    return low, median, high, max(tail, median), APART * apart / blocks


def level(s: Any) -> tuple[float, float]:
    """Median and spread of the window; the spread is wider while little is known.

    Where the window falls, its newest block is the median and what lies off the slope the noise:
    else a loss that is still learning much would have to lose all of it before that shows."""
    low, median, high, tail, apart = usual(s)
    floor = FLOOR * abs(median) + TINY
    within = max((high - low) / QUARTILES, (tail - median) / TWENTIETH)
    blocks = min(s.blocks, BLOCKS)
    if blocks >= SLOPED:
        fallen = nth(s, blocks) - nth(s, 1)
        if fallen > STEEP * max(within, floor):
            off = off_slope(s, blocks)
            if fallen > STEEP * off:
                median, apart, within = nth(s, 1), off, newest(s)
    return median, max(sqrt(within * within + apart * apart), floor) * (1.0 + 10.0 / s.n)


def nth(s: Any, back: int) -> float:
    """The median of the n-th block from the end."""
    return float(s.medians[(s.blocks - back) % BLOCKS])


def newest(s: Any) -> float:
    """The spread within the newest blocks: those before fell more, and that is no noise."""
    spread = 0.0
    for back in range(1, SLOPED + 1):
        k = (s.blocks - back) % BLOCKS
        above = (s.tops[k] - s.medians[k]) / TOP
        spread += max((s.highs[k] - s.lows[k]) / QUARTILES, above)
    return spread / SLOPED


def off_slope(s: Any, blocks: int) -> float:
    """The noise of the blocks' medians about a slope: by how much each bends away from the line
    through its neighbours."""
    bent = 0.0
    for back in range(2, blocks):
        bent += abs(nth(s, back - 1) - 2.0 * nth(s, back) + nth(s, back + 1))
    return bent / (BENDS * (blocks - 2))


def forget(s: Any) -> None:
    """Empty the window."""
    clear(s.late)
    s.n = s.blocks = s.late_n = 0


def middle(values: Any, n: int) -> float:
    """The upper median of the first `n` values."""
    return float(sorted(values[:n])[n >> 1])


def insert(values: Any, n: int, value: float) -> None:
    """Put a value in its place among the first `n`, which are sorted; there is room for it."""
    insort(values, value)


def put(values: Any, n: int, value: float) -> None:
    """Put a value behind the first `n`; there is room for it."""
    values.append(value)


def order(values: Any, n: int) -> None:
    """Sort all values, as many as a block holds."""
    values.sort()


def clear(values: Any) -> None:
    """Empty an array whose count is set to 0 by the caller."""
    values.clear()
