"""`rolling.advance` compiled, the same to the last bit. Importing this module loads numba.

It takes 0.1 microseconds a value where the plain twin takes 0.8, but loading it takes a quarter of
a second and compiling it the first time 0.8 s; `rolling.worth_compiling` weighs that.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from runwatch.kernels.rolling import (
    ALLOWANCE,
    FLOOR,
    LEAST,
    LIMIT,
    MEMORY,
    SIZE,
    TINY,
    Alarm,
    Past,
)

NONE = np.iinfo(np.int64).min


def advance(
    values: npt.NDArray[np.float64],
    start: int,
    past: Past,
    onset: int | None = None,
    first: int | None = None,
) -> Alarm:
    """As `rolling.advance`, on an array."""
    ring, order = np.zeros(SIZE), np.zeros(SIZE + 1)
    count = len(past.ring)
    ring[:count], order[:count] = past.ring, past.order
    marks = np.array(
        [NONE if onset is None else onset, NONE if first is None else first, count, 0, past.judged]
    )
    sums = np.array([past.total, past.usual])
    index = int(_advance(values, start, ring, order, marks, sums))
    head, count = int(marks[3]), int(marks[2])
    past.ring[:] = np.roll(ring, -head)[:count].tolist()
    past.order[:] = order[:count].tolist()
    past.total, past.usual, past.judged = float(sums[0]), float(sums[1]), int(marks[4])
    return Alarm(index, _mark(marks[0]), _mark(marks[1]))


def _mark(value: Any) -> int | None:
    return None if value == NONE else int(value)


@njit(cache=True)
def _advance(values, start, ring, order, marks, sums):  # type: ignore[no-untyped-def]
    onset, first, n, head, judged = marks[0], marks[1], marks[2], marks[3], marks[4]
    total, usual = sums[0], sums[1]
    i, end = start, len(values)
    while i < end:
        value = values[i]
        if n >= LEAST:
            median = order[n >> 1]
            quartiles = (order[(3 * n) >> 2] - order[n >> 2]) / 1.349
            tail = (order[(19 * n) // 20] - median) / 1.645
            spread = max(quartiles, tail, FLOOR * abs(median) + TINY) * (1.0 + 10.0 / n)
            judged += 1
            usual += (spread - usual) / min(judged, MEMORY)
            z = (value - median) / spread
            total += z - ALLOWANCE
            if total > 0.0:
                onset = i if onset == NONE else onset
                first = i if first == NONE and z >= 3.0 else first
                if total > LIMIT:
                    break
            else:
                total, onset, first = 0.0, NONE, NONE
        full = n == SIZE
        n = _push(value, ring, order, n, head)
        head = (head + 1) % SIZE if full else head
        i += 1
    marks[0], marks[1], marks[2], marks[4] = onset, first, n, judged
    marks[3] = head
    sums[0], sums[1] = total, usual
    return i


@njit(cache=True)
def _push(value, ring, order, n, head):  # type: ignore[no-untyped-def]
    """Put `value` in place of the oldest, moving only what lies between the two in `order`."""
    if n < SIZE:
        at = n
        while at > 0 and order[at - 1] > value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = value
        ring[n] = value
        return n + 1
    oldest = ring[head]
    ring[head] = value
    at = np.searchsorted(order[:n], oldest)
    while at + 1 < n and order[at + 1] < value:
        order[at] = order[at + 1]
        at += 1
    while at > 0 and order[at - 1] > value:
        order[at] = order[at - 1]
        at -= 1
    order[at] = value
    return n
