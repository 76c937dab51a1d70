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
    in a copy (Hoare, Algorithm 65: Find)."""
    for i in range(n if n <= _FEW else 0):
        value: float = values[i]
        below = same = 0
        for j in range(n):
            below += values[j] < value
            same += values[j] == value
        if below <= n >> 1 < below + same:
            return value
    copy: list[float] = [0.0] * plateau.PAIRS
    for i in range(n):
        copy[i] = values[i]
    low, high, wanted = 0, n - 1, n >> 1
    while low < high:
        pivot, i, j = copy[wanted], low, high
        while i <= j:
            while copy[i] < pivot:
                i += 1
            while pivot < copy[j]:
                j -= 1
            if i <= j:
                copy[i], copy[j] = copy[j], copy[i]
                i += 1
                j -= 1
        if j < wanted:
            low = i
        if wanted < i:
            high = j
    return copy[wanted]


TWINS = {
    rolling.insert: insert, rolling.put: put, rolling.order: order, rolling.clear: clear,
    rolling.middle: middle,
}  # fmt: skip
