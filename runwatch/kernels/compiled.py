"""The kernels of series, compiled. Importing this module loads numba.

What the kernels call is compiled from the same text, but for the window, which is kept in arrays
instead of lists. Compiling takes a second or two per kernel, once; loading them a tenth.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload, register_jitable

from runwatch.kernels import (
    divergence,
    gradient,
    learning_rate,
    nonfinite,
    plateau,
    rolling,
    spike,
    throughput,
    tracks,
    vanished,
)
from runwatch.kernels.rolling import SIZE

for _part, _names in {
    tracks: "repeats",
    rolling: "level",
    gradient: "enough close judged",
    spike: "alarms rise calm_again stands lost diverged goes_on notable take",
    divergence: "lasts stand block_ends climb",
    plateau: "shift halve judge block_ends stand take",
    throughput: "baseline begin compare block_ends take",
    learning_rate: "take",
    vanished: "close widen beside zero",
    nonfinite: "broken",
}.items():
    for _name in _names.split():
        register_jitable(getattr(_part, _name))

_FAST: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@cache
def compiled(kernel: Callable[..., int]) -> Callable[..., int]:
    """The same kernel, compiled when it is first called."""
    fast: Callable[..., int] = njit(**_FAST)(kernel)
    return fast


@njit(**_FAST)
def _lower(order, n, value):  # type: ignore[no-untyped-def]
    """How many of the first `n` sorted values are below `value`."""
    low, size = 0, n
    while size > 0:
        half = size >> 1
        below = order[low + half] < value
        low = low + half + 1 if below else low
        size = size - half - 1 if below else half
    return low


@overload(rolling.push)
def _push(s, value):  # type: ignore[no-untyped-def]
    def push(s, value):  # type: ignore[no-untyped-def]
        """Put `value` in place of the oldest, moving only what lies between the two."""
        order, n = s.order, s.n
        if n < SIZE:
            s.ring[n] = value
            s.n = n + 1
            gone = n
        else:
            gone = _lower(order, n, s.ring[s.head])
            s.ring[s.head] = value
            s.head = (s.head + 1) % SIZE
        to = _lower(order, n, value)
        if to > gone:
            to -= 1
            for i in range(gone, to):
                order[i] = order[i + 1]
        else:
            for i in range(gone, to, -1):
                order[i] = order[i - 1]
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
        """By insertion into a copy: these are few."""
        copy = np.empty(n, np.float64)
        for i in range(n):
            value, at = values[i], i
            while at > 0 and copy[at - 1] > value:
                copy[at] = copy[at - 1]
                at -= 1
            copy[at] = value
        return copy[n >> 1]

    return middle
