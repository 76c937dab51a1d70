"""The kernels of series, compiled. Importing this module loads numba.

What the kernels call is compiled from the same text, but for the window, which is kept in arrays
instead of lists. Compiling takes a second or two per kernel, once; loading them a tenth.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import njit
from numba.extending import overload, register_jitable

from runwatch.kernels import (
    divergence,
    gradient,
    learning_rate,
    loss_scale,
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
from runwatch.kernels.rolling import SIZE

for _part, _names in {
    tracks: "repeats counts keep look_back",
    rolling: "level",
    gradient: "enough close judged row",
    spike: "alarms rise calm_again stands lost diverged goes_on notable take row",
    divergence: "lasts stand block_ends climb row",
    plateau: "shift halve judge stay block_ends stand take row",
    throughput: "baseline begin compare block_ends take row",
    learning_rate: "take row",
    vanished: "close widen beside zero row loss_row",
    nonfinite: "broken row",
    straggler: "row",
    loss_scale: "row",
}.items():
    for _name in _names.split():
        register_jitable(getattr(_part, _name))


@cache
def compiled(kernel: Callable[..., int]) -> Callable[..., int]:
    """The same kernel, compiled when it is first called."""
    fast: Callable[..., int] = njit(**FAST)(kernel)
    return fast


@njit(**FAST)
def _below(order, value):  # type: ignore[no-untyped-def]
    """How many of a full window are below `value`. Counting all 200 takes half the time of a
    binary search, whose branches nobody can predict."""
    count = 0
    for i in range(SIZE):
        count += 1 if order[i] < value else 0
    return count


@overload(rolling.push)
def _push(s, value):  # type: ignore[no-untyped-def]
    def push(s, value):  # type: ignore[no-untyped-def]
        """Put `value` in place of the oldest, moving only what lies between the two."""
        order, n = s.order, s.n
        if n < SIZE:
            s.ring[n] = value
            s.n = n + 1
            while n > 0 and order[n - 1] > value:
                order[n] = order[n - 1]
                n -= 1
            order[n] = value
            return
        head = s.head
        gone, to = _below(order, s.ring[head]), _below(order, value)
        s.ring[head] = value
        s.head = 0 if head + 1 == SIZE else head + 1
        # Unsigned, since an index that may be negative costs a test and the vector instructions.
        one, begin = np.uint64(1), np.uint64(gone)
        if to > gone:
            to -= 1
            for i in range(begin, np.uint64(to)):
                order[i] = order[i + one]
        else:
            for back in range(np.uint64(0), np.uint64(gone - to)):
                order[begin - back] = order[begin - back - one]
        order[to] = value

    return push


@overload(rolling.forget)
def _forget(s):  # type: ignore[no-untyped-def]
    def forget(s):  # type: ignore[no-untyped-def]
        s.n = 0
        s.head = 0

    return forget


@overload(rolling.insert)
def _insert(values, n, value):  # type: ignore[no-untyped-def]
    def insert(values, n, value):  # type: ignore[no-untyped-def]
        at = n
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value

    return insert


@overload(rolling.clear)
def _clear(values):  # type: ignore[no-untyped-def]
    def clear(values):  # type: ignore[no-untyped-def]
        pass

    return clear


@overload(rolling.middle)
def _middle(values, n):  # type: ignore[no-untyped-def]
    def middle(values, n):  # type: ignore[no-untyped-def]
        """By selection in a copy (Hoare, Algorithm 65: Find)."""
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
