"""What stands for the functions of `rolling` that keep values in lists, where kernels are compiled
and keep them in arrays."""

from typing import Any

import numpy as np

from runwatch.arrays import Ints
from runwatch.kernels import plateau, rolling


def insert(values: Any, n: int, value: float) -> None:
    """`rolling.insert`, moving what is larger."""
    at = n
    while at > 0 and values[at - 1] > value:
        values[at] = values[at - 1]
        at -= 1
    values[at] = value


def put(values: Any, n: int, value: float) -> None:
    """`rolling.put`."""
    values[n] = value


def _network(n: int) -> Ints:
    """The pairs of places to compare that sort n values (Batcher's odd-even merges; Knuth, The Art
    of Computer Programming 3, Algorithm 5.2.2M): no branch depends on a value."""
    pairs, top = [], 1 << (n - 1).bit_length() - 1
    p = top
    while p:
        q, r, d = top, 0, p
        while True:
            pairs += [(i, i + d) for i in range(n - d) if i & p == r]
            if q == p:
                break
            q, r, d = q >> 1, p, q - p
        p >>= 1
    return np.array(pairs)


_SMALL, _LARGE = _network(rolling.BLOCK), _network(plateau.BLOCK)


def order(values: Any, n: int) -> None:
    """`rolling.order`, for blocks of either size."""
    pairs = _SMALL if n == rolling.BLOCK else _LARGE
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = values[i], values[j]
        values[i], values[j] = min(a, b), max(a, b)


def clear(values: Any) -> None:
    """`rolling.clear`: the count tells that nothing is in use."""


_FEW = 20  # values whose middle one is found without a copy


def middle(values: Any, n: int) -> float:
    """`rolling.middle`: of few values the one that as many are below as must be, else by selection
    (Hoare, Algorithm 65: Find), where no branch depends on a single value."""
    for i in range(n if n <= _FEW else 0):
        value: float = values[i]
        below = same = 0
        for j in range(n):
            below += values[j] < value
            same += values[j] == value
        if below <= n >> 1 < below + same:
            return value
    left, low, high = [0.0] * plateau.PAIRS, [0.0] * plateau.PAIRS, [0.0] * plateau.PAIRS
    for i in range(n):
        left[i] = values[i]
    wanted, count = n >> 1, n
    while True:
        a, b, c = left[0], left[count >> 1], left[count - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        below = above = 0
        for i in range(count):
            value = left[i]
            low[below] = high[above] = value
            below += value < pivot
            above += value > pivot
        if below <= wanted < count - above:
            return pivot
        if wanted < below:
            count = below
            for i in range(count):
                left[i] = low[i]
        else:
            wanted -= count - above
            count = above
            for i in range(count):
                left[i] = high[i]


TWINS = {
    rolling.insert: insert, rolling.put: put, rolling.order: order, rolling.clear: clear,
    rolling.middle: middle,
}  # fmt: skip
