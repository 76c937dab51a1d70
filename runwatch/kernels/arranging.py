"""The points of a batch put side by side, series after series.

A counting sort: one pass tells how long every series is, a second one puts each point in its place.
`series.Columns` has the same without compiled code.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from runwatch.kernels import native
from runwatch.kernels.field import NOTHING

WHOLES, HALVES, REALS = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float64)
UNKNOWN, PASSED_BY = -2, -1  # what the table of pairs holds: not met yet, of no series
FULL = -1


def kernel(takes: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A function that is compiled, and called with arrays; `takes` is what `Native` says."""

    def made(function: Callable[..., int]) -> Callable[..., int]:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        kernel = native.judging.kernel(name, takes, function)
        return lambda *given: kernel(*native.numbers(takes, given, name))

    return made


@kernel("hhhinnnnhii")
def counted(
    quantity: Any, metric: Any, rank: Any, pairs: Any, width: int, no_rank: int, low: int,
    ranks: int, codes: Any, counts: Any, first: Any,
) -> int:  # fmt: skip
    """Give every point the code of its series, -1 where it is of none, and count the series.

    `pairs` numbers the pairs of quantity and metric as they are met; `first` is the row in which a
    series begins. The number of pairs, FULL where there is no room for another.
    """
    known = 0
    for i in range(len(codes)):
        codes[i] = -1
        if quantity[i] < 0:
            continue
        at = quantity[i] * width + metric[i]
        pair = pairs[at]
        if pair == PASSED_BY:
            continue
        if pair == UNKNOWN:
            if (known + 1) * ranks > len(counts):
                return FULL
            pair = pairs[at] = known
            known += 1
        code = pair * ranks + (0 if rank[i] == no_rank else rank[i] - low + 1)
        if counts[code] == 0:
            first[code] = i
        counts[code] += 1
        codes[i] = code
    return known


@kernel("hii")
def placed(codes: Any, free: Any, order: Any) -> int:
    """Put the number of every row where its series has the next place free."""
    for i in range(len(codes)):
        code = codes[i]
        if code >= 0:
            k = free[code]
            free[code] = k + 1
            order[k] = i
    return len(codes)


@kernel("hnniiii")
def spread(
    rank: Any, no_rank: int, low: int, counts: Any, places: Any, ends: Any, first: Any,
) -> int:  # fmt: skip
    """Give every record its place where those of one rank stand together, the ranks in the order in
    which they appear; where each rank ends, its first record, and how many ranks there are.
    `counts` has a 0 for no rank and each one from `low` on."""
    met = 0
    for i in range(len(rank)):
        code = 0 if rank[i] == no_rank else rank[i] - low + 1
        if counts[code] == 0:
            ends[met] = code
            first[met] = i
            met += 1
        counts[code] += 1
    total = 0
    for k in range(met):
        code = ends[k]
        total, counts[code] = total + counts[code], total
        ends[k] = total
    for i in range(len(rank)):
        code = 0 if rank[i] == no_rank else rank[i] - low + 1
        places[i] = counts[code]
        counts[code] += 1
    return met


_TOGETHER = 512  # records that are looked at and then put in order while they are at hand


@kernel("nnhhbhhiiiwwiiiiiww")
def records(
    n: int, size: int, metric: Any, quantity: Any, unknown: Any, rank: Any, segment: Any, line: Any,
    time: Any, step: Any, epoch: Any, value: Any, judged: Any, places: Any, lines: Any, times: Any,
    steps: Any, epochs: Any, values: Any,
) -> int:  # fmt: skip
    """Put n records of `size` points in order where all of them are alike: of the same metrics and
    quantities (where not `unknown`), all in one segment, and of points that have the rest in
    common. 0 where they are not.

    Columns of which nothing is told are empty, and so is `places` where records stand in their
    order. `judged` are the points of a record whose values are wanted, one after the other.
    """
    begin = 0
    while begin < n:
        end = min(begin + _TOGETHER, n)
        a, b = begin * size, end * size
        odd = differs(metric, quantity, unknown, size, max(a, size), b)
        for i in range(a, min(b, len(segment))):
            odd |= segment[i] ^ segment[0]
        odd |= within(rank, size, a, b) | within(line, size, a, b) | within(time, size, a, b)
        odd |= within(step, size, a, b) | within(epoch, size, a, b)
        if odd != 0:
            return 0
        put(line, places, lines, size, begin, end)
        put(time, places, times, size, begin, end)
        put(step, places, steps, size, begin, end)
        put(epoch, places, epochs, size, begin, end)
        for k in range(len(judged)):
            for r in range(begin, end):
                p = places[r] if len(places) > 0 else r
                values[k * n + p] = value[r * size + judged[k]]
        begin = end
    return 1


def differs(metric: Any, quantity: Any, unknown: Any, size: int, begin: int, end: int) -> int:
    """0 where the points `begin` to `end` are of what those a record before them are of."""
    odd = 0
    for i in range(begin, end):
        odd |= metric[i] ^ metric[i - size]
    if len(unknown) == 0:
        for i in range(begin, end):
            odd |= quantity[i] ^ quantity[i - size]
    else:
        for i in range(begin, end):
            odd |= unknown[i] ^ unknown[i - size]
            odd |= (quantity[i] ^ quantity[i - size]) & (unknown[i] - 1)
    return odd


def within(column: Any, size: int, begin: int, end: int) -> int:
    """How often a column changes within records, from one that begins at `begin` on."""
    changes, end = 0, min(end, len(column))
    for i in range(begin + 1, end):
        changes += column[i] != column[i - 1]
    i = begin + size
    while i < end:
        changes -= column[i] != column[i - 1]
        i += size
    return changes


def put(column: Any, places: Any, out: Any, size: int, begin: int, end: int) -> int:
    """Put what the records `begin` to `end` have in common at their places."""
    if len(column) == 0:
        return 0
    for r in range(begin, end):
        out[places[r] if len(places) > 0 else r] = column[r * size]
    return end


@kernel("iiiiii")
def furthest(step: Any, begins: Any, top: Any, at: Any, told: Any, first: Any) -> int:
    """The highest step of each series and the first row that has it, how many rows tell a step,
    and the step of the first of them."""
    for g in range(len(top)):
        top[g] = first[g] = NOTHING
        at[g], told[g] = begins[g], 0
        for i in range(begins[g], begins[g + 1]):
            if step[i] == NOTHING:
                continue
            if told[g] == 0:
                first[g] = step[i]
            told[g] += 1
            if step[i] > top[g]:
                top[g], at[g] = step[i], i
    return len(top)


@kernel("hihi")
def advanced(quantity: Any, time: Any, segment: Any, rows: Any) -> int:
    """The rows of measurements whose time or segment is another than in the row before; how many
    they are."""
    count = 0
    for i in range(len(rows)):
        if quantity[i] < 0 or time[i] == NOTHING:
            continue
        same = i > 0 and time[i] == time[i - 1] and segment[i] == segment[i - 1]
        if same and quantity[i - 1] >= 0:
            continue
        rows[count] = i
        count += 1
    return count


def whole(column: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
    """A column as compiled code takes it: in one piece, of this type; not copied where it is so."""
    if column.dtype == kind and column.flags.c_contiguous:
        return column
    return np.ascontiguousarray(column, kind)
