"""Rolling order statistics, one value at a time.

The spread of a window is the larger of a quartile estimate and the upper tail's, so that a series
with a heavy upper tail is measured by its own habits. ALLOWANCE, LIMIT and MEMORY are of the
one-sided CUSUM in `spike.alarms` only: it adds up z - ALLOWANCE, z being the distance above the
median in spreads, never below 0, and alarms above LIMIT (Page 1954; k = 1 and h = 6 are what
trainscope uses on median and MAD of 200).

These functions stand as they are for the plain twin of a kernel; `compiled` holds the other one.
"""

from bisect import bisect_left, insort
from typing import Any

from runwatch.kernels.tracks import Field, numbers

SIZE = 200
LEAST = 12
ALLOWANCE = 1.0
LIMIT = 6.0
FLOOR = 0.003  # of the median: below that a printed loss shows rounding rather than noise
TINY = 1e-9
MEMORY = 10_000  # values over which the usual spread is averaged

WINDOW = (  # the last SIZE values, in order of arrival from `head` on, and in order of size
    *numbers("n", "head"),
    Field("ring", 0.0, SIZE, count="n"),
    Field("order", 0.0, SIZE, count="n", sorts="ring"),
)


def push(s: Any, value: float) -> None:
    """Take in one finite value and let the oldest of more than SIZE go."""
    if s.n < SIZE:
        s.ring.append(value)
        s.n += 1
    else:
        del s.order[bisect_left(s.order, s.ring[s.head])]
        s.ring[s.head] = value
        s.head = (s.head + 1) % SIZE
    insort(s.order, value)


def forget(s: Any) -> None:
    """Empty the window."""
    s.ring, s.order = [], []
    s.n = s.head = 0


def middle(values: Any, n: int) -> float:
    """The upper median of the first `n` values."""
    return float(sorted(values[:n])[n >> 1])


def insert(values: Any, n: int, value: float) -> None:
    """Put a value in its place among the first `n`, which are sorted; there is room for it."""
    insort(values, value)


def clear(values: Any) -> None:
    """Empty an array whose count is set to 0 by the caller."""
    values.clear()


def level(s: Any) -> tuple[float, float]:
    """Median and spread of the window; the spread is wider while little is known."""
    n = s.n
    median = s.order[n >> 1]
    quartiles = (s.order[(3 * n) >> 2] - s.order[n >> 2]) / 1.349
    tail = (s.order[(19 * n) // 20] - median) / 1.645
    floor = FLOOR * abs(median) + TINY
    return median, max(quartiles, tail, floor) * (1.0 + 10.0 / n)
