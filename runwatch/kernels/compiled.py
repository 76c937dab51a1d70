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

for _part, _names in {
    tracks: "repeats counts keep look_back",
    rolling: "push usual level forget",
    gradient: "enough close limits judged row",
    spike: "refresh alarms rise calm_again stands lost diverged goes_on notable take row",
    divergence: "lasts stand block_ends climb row",
    plateau: "shift halve judge stay block_ends stand take row",
    throughput: "baseline begin compare scatter block_ends take row",
    learning_rate: "take row",
    vanished: "close widen beside zero row loss_row",
    nonfinite: "broken row",
    straggler: "row",
    loss_scale: "row",
    named: "starts begin lasts end judged again rising_row deviant_row above_row multiple_row "
    "lower_row lost_row silent_row",
}.items():
    for _name in _names.split():
        register_jitable(getattr(_part, _name))


@cache
def compiled(kernel: Callable[..., int]) -> Callable[..., int]:
    """The same kernel, compiled when it is first called."""
    fast: Callable[..., int] = njit(**FAST)(kernel)
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
