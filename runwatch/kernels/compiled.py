"""The kernels of series, compiled. Importing this module loads numba.

What the kernels call is compiled from the same text, but for the window, which is kept in arrays
instead of lists. Compiling takes a second or two per kernel, once; loading them a tenth.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import njit
from numba.extending import overload, register_jitable

from runwatch.arrays import Ints
from runwatch.kernels import (
    divergence,
    gradient,
    learning_rate,
    loss_scale,
    named,
    nonfinite,
    plateau,
    rolling,
    spike,
    straggler,
    throughput,
    tracks,
    vanished,
)
from runwatch.kernels.jit import FAST
from runwatch.kernels.run import swift

for _part, _names in {
    tracks: "repeats counts follows passed keep keep_rows look_back",
    rolling: "push usual level forget",
    gradient: "enough close limits judged row stretch",
    spike: "refresh alarms runs_up rise calm_again stands lost diverged goes_on notable take row "
    "stretch",
    divergence: "lasts stand block_ends climb row stretch",
    plateau: "shift halve judge stay block_ends stand take row stretch",
    throughput: "baseline begin compare scatter block_ends take row stretch",
    learning_rate: "take row stretch",
    vanished: "close widen beside zero row loss_row stretch loss_stretch",
    nonfinite: "broken row stretch",
    straggler: "row",
    loss_scale: "row",
    named: "starts begin lasts end judged again rising_row deviant_row above_row multiple_row "
    "lower_row lost_row silent_row",
}.items():
    for _name in _names.split():
        register_jitable(getattr(_part, _name))

_FEW = 20  # values whose middle one is found without a copy


@cache
def compiled(kernel: Callable[..., int]) -> Callable[..., int]:
    """The same kernel, compiled when it is first called."""
    fast: Callable[..., int] = njit(**FAST)(swift.get(kernel, kernel))
    return fast


@overload(rolling.insert)
def _insert(values, n, value):  # type: ignore[no-untyped-def]
    def insert(values, n, value):  # type: ignore[no-untyped-def]
        at = n
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value

    return insert


@overload(rolling.put)
def _put(values, n, value):  # type: ignore[no-untyped-def]
    def put(values, n, value):  # type: ignore[no-untyped-def]
        values[n] = value

    return put


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


@overload(rolling.order)
def _order(values, n):  # type: ignore[no-untyped-def]
    def order(values, n):  # type: ignore[no-untyped-def]
        pairs = _SMALL if n == rolling.BLOCK else _LARGE
        for k in range(len(pairs)):
            i, j = pairs[k, 0], pairs[k, 1]
            a, b = values[i], values[j]
            values[i], values[j] = min(a, b), max(a, b)

    return order


@overload(rolling.clear)
def _clear(values):  # type: ignore[no-untyped-def]
    def clear(values):  # type: ignore[no-untyped-def]
        pass

    return clear


@overload(rolling.middle)
def _middle(values, n):  # type: ignore[no-untyped-def]
    def middle(values, n):  # type: ignore[no-untyped-def]
        """Of few values the one that as many are below as must be, else by selection in a copy
        (Hoare, Algorithm 65: Find)."""
        for i in range(n if n <= _FEW else 0):
            value, below, same = values[i], 0, 0
            for j in range(n):
                below += values[j] < value
                same += values[j] == value
            if below <= n >> 1 < below + same:
                return value
        copy = np.empty(n, np.float64)
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

    return middle
