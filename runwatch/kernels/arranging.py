"""The points of a batch put side by side, series after series.

A counting sort: one pass tells how long every series is, a second one puts each point in its place.
`series.Columns` has the same without compiled code.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from runwatch.kernels import native
from runwatch.kernels.memory import whole_at
from runwatch.kernels.tracks import NOTHING

UNKNOWN, PASSED_BY = -2, -1  # what the table of pairs holds: not met yet, of no series
FULL = -1


def _kernel(takes: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A function that is compiled, and called with arrays; `takes` is what `Native` says."""

    def made(function: Callable[..., int]) -> Callable[..., int]:
        kernel = native.judging.kernel(f"arranging.{function.__name__}", takes, function)
        return lambda *given: kernel.bound(*given)()

    return made


@_kernel("hhhinnnnhii")
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


@_kernel("hii")
def placed(codes: Any, free: Any, order: Any) -> int:
    """Put the number of every row where its series has the next place free."""
    for i in range(len(codes)):
        code = codes[i]
        if code >= 0:
            k = free[code]
            free[code] = k + 1
            order[k] = i
    return len(codes)


@_kernel("hnniiii")
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


@_kernel("nnii")
def scattered(column: int, stride: int, places: Any, out: Any) -> int:
    """Put every value, of eight bytes each, at its place; the column is told by its address."""
    for i in range(len(places)):
        out[places[i]] = whole_at(column + stride * i)
    return len(places)


@_kernel("hihi")
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


def whole(column: np.ndarray, kind: type) -> np.ndarray:
    """A column as compiled code takes it: in one piece, of this type, read-only."""
    column = np.ascontiguousarray(column, kind).view()
    column.flags.writeable = False
    return column
