"""The points of a batch put side by side, series after series. Importing this module loads numba.

A counting sort: one pass tells how long every series is, a second one puts each point in its place.
`series.Columns` has the same without compiled code.
"""

import numpy as np
from numba import njit

from runwatch.kernels.jit import FAST
from runwatch.kernels.tracks import NOTHING

UNKNOWN, PASSED_BY = -2, -1  # what the table of pairs holds: not met yet, of no series
FULL = -1


@njit(**FAST)
def counted(  # type: ignore[no-untyped-def]
    quantity, metric, rank, pairs, width, no_rank, low, ranks, codes, counts, first
):
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


@njit(**FAST)
def placed(codes, free, order):  # type: ignore[no-untyped-def]
    """Put the number of every row where its series has the next place free."""
    for i in range(len(codes)):
        code = codes[i]
        if code >= 0:
            k = free[code]
            free[code] = k + 1
            order[k] = i


@njit(**FAST)
def spread(rank, no_rank, low, counts, places):  # type: ignore[no-untyped-def]
    """Give every record its place where those of one rank stand together, the ranks in the order in
    which they appear; where each rank ends, and its first record. `counts` has a 0 for no rank and
    each one from `low` on."""
    ends, first = np.empty((2, len(counts)), np.int64)
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
    return ends[:met], first[:met]


@njit(**FAST)
def scattered(column, places, out):  # type: ignore[no-untyped-def]
    """Put every value at its place."""
    for i in range(len(places)):
        out[places[i]] = column[i]


@njit(**FAST)
def advanced(quantity, time, segment, rows):  # type: ignore[no-untyped-def]
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
