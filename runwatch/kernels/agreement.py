"""Steps that are kept of a run, and what ranks say of them side by side."""

from math import inf
from typing import Any

from runwatch.kernels.arranging import kernel
from runwatch.kernels.field import NOTHING

MOST = 256  # steps that are kept of a metric; of more, every second one
SAME = 1e-3  # share by which values may differ that agree: they are printed rounded
EXACT = 1e-5  # share by which they may differ where agreement is to be proven
STEPS = (1 << 40) - 1  # the highest step that is told from others
# The golden ratio, by which neighbours fall apart (Knuth, The Art of Computer Programming 3, 6.4).
SPREAD = 0x9E3779B97F4A7C15 - (1 << 64)
STRIDES = 24  # times that every second step is left out, at most
DIFFERS, FULL = 1, 2


@kernel("ii")
def strides(step: Any, counts: Any) -> int:
    """How many of these steps a stride leaves that is doubled so many times, in `counts`; 1 where
    each step is a later one than the one before."""
    rises = 1
    for i in range(len(step)):
        drawn = (step[i] * SPREAD) >> 40
        n = 0
        while n < STRIDES and drawn & ((1 << n) - 1) == 0:
            counts[n] += 1
            n += 1
        if i > 0 and step[i] <= step[i - 1]:
            rises = 0
    return rises


@kernel("iiniii")
def kept(step: Any, begins: Any, stride: int, at: Any, keys: Any, group: Any) -> int:
    """The rows that are kept with this stride, whose step is told and not that of the row before,
    their keys and the series that they are of; how many they are."""
    n = 0
    for g in range(len(begins) - 1):
        for i in range(begins[g], begins[g + 1]):
            if ((step[i] * SPREAD) >> 40) & (stride - 1) != 0 or step[i] == NOTHING:
                continue
            key = min(max(step[i], 0), STEPS)
            if i == begins[g] or key != min(max(step[i - 1], 0), STEPS):
                at[n] = i
                keys[n] = key
                group[n] = g
                n += 1
    return n


def is_near(one: float, other: float, share: float) -> bool:
    """Whether numbers differ by no more than this share, or are no numbers alike."""
    apart = abs(one - other)
    if apart < inf and apart <= share * max(abs(one), abs(other)):
        return True
    return one == other or (one != one and other != other)


@kernel("iiiifiiiifibi")
def compared(
    told: Any, tellers: Any, lines: Any, times: Any, values: Any, keys: Any, rank: Any, line: Any,
    time: Any, value: Any, count: Any, loose: Any, at: Any,
) -> int:  # fmt: skip
    """Take in rows from the one at `at[1]` on: those of a step that is not among the `at[0]` known
    ones, which stand in order, are put among them, those of another are counted. DIFFERS at a row
    that says something else, which is not taken in; FULL behind one that makes steps too many."""
    n, i, k, happened = at[0], at[1], 0, 0
    while i < len(told) and happened == 0:
        key = told[i]
        if k >= n or keys[k] != key:
            k, end = (n, n) if n > 0 and keys[n - 1] < key else (0, n)
            while k < end:
                middle = (k + end) >> 1
                if keys[middle] < key:
                    k = middle + 1
                else:
                    end = middle
        if k == n or keys[k] != key:
            j = n
            while j > k:
                b = j - 1
                keys[j], rank[j], line[j], time[j] = keys[b], rank[b], line[b], time[b]
                value[j], count[j], loose[j] = value[b], count[b], loose[b]
                j = b
            keys[k], rank[k], line[k], time[k] = key, tellers[i], lines[i], times[i]
            value[k], count[k], loose[k] = values[i], 0, 0
            n += 1
        elif not is_near(values[i], value[k], SAME):
            happened = DIFFERS
            break
        if not is_near(values[i], value[k], EXACT):
            loose[k] = 1
        count[k] += 1
        i += 1
        if n > MOST:
            happened = FULL
    at[0], at[1] = n, i
    return happened
