"""The measurements of a batch put side by side, series after series.

Three ways to the same: every so many-th row where all records are alike, a compiled counting sort
for large batches, and numpy's sort for all others.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from runwatch.arrays import Ints
from runwatch.detect.alike import regular
from runwatch.detect.table import MOVED, NO_RANK, Arrangement, Table, averages, into, span
from runwatch.kernels.run import compiles

LARGE = 4096  # rows from which compiled code arranges those that are not alike
_RADIX = 1 << 16  # codes below this are sorted in linear time


def arranged(table: Table) -> Arrangement:
    """The series of a batch."""
    compiled = compiles(len(table))
    found = regular(table, compiled=compiled)
    if found is None and compiled and len(table) >= LARGE:
        found = _counted(table)
    return _sorted(table) if found is None else found


def _counted(table: Table) -> Arrangement | None:
    """By compiled code; None for what it is not made for: several segments, or so many ranks that
    most would have nothing to say."""
    from runwatch.kernels.arranging import (
        FULL,
        HALVES,
        PASSED_BY,
        UNKNOWN,
        counted,
        placed,
        whole,
    )

    width, (low, high), n = len(table.metrics), span(table.rank), len(table)
    ranks = high - low + 2
    space = (width + 8) * ranks
    if space > n or table.segment.min() != table.segment.max():
        return None
    pairs: Ints = np.full(len(table.quantities) * width, UNKNOWN)
    pairs.reshape(-1, width)[:, averages(table)] = PASSED_BY
    codes = table.room.array("codes", np.int32, n)
    counts, first = np.zeros(space, np.int64), np.empty(space, np.int64)
    of = [whole(c, HALVES) for c in (table.quantity, table.metric, table.rank)]
    known = counted(*of, pairs, width, NO_RANK, low, ranks, codes, counts, first)
    if known == FULL:
        return None
    quantities = np.empty(known, np.int64)
    quantities[pairs[pairs >= 0]] = np.flatnonzero(pairs >= 0) // width
    series = np.flatnonzero(counts[: known * ranks])
    series = series[np.lexsort((first[series], quantities[series // ranks]))]
    begins = np.concatenate(([0], np.cumsum(counts[series])))
    counts[series] = begins[:-1]
    order = table.room.array("order", np.int64, int(begins[-1]))
    placed(codes, counts, order)
    return _laid_out(table, quantities[series // ranks], begins, order)


def _sorted(table: Table) -> Arrangement:
    """By numpy, whatever there is."""
    width = len(table.metrics)
    pairs = (table.quantity + 1) * width + table.metric if width > 1 else table.quantity + 1
    present = np.bincount(pairs, minlength=(len(table.quantities) + 1) * width)
    present[:width] = 0
    present.reshape(-1, width)[:, averages(table)] = 0
    kept, count = np.flatnonzero(present), int(present.sum())
    if not count:
        nothing = np.zeros(0, np.int64)
        return _laid_out(table, nothing, np.zeros(1, np.int64), nothing)
    dense = np.full(len(present), len(kept))
    dense[kept] = np.arange(len(kept))
    low, high = span(table.rank)
    ranks = high - low + 2
    codes = dense[pairs] * ranks + np.where(table.rank == NO_RANK, 0, table.rank - low + 1)
    small = (len(kept) + 1) * ranks < _RADIX
    order = np.argsort(codes.astype(np.uint16) if small else codes, kind="stable")[:count]
    ordered, segment = codes[order], table.segment[order]
    cuts = (ordered[1:] != ordered[:-1]) | (segment[1:] != segment[:-1])
    begins = np.concatenate(([0], np.flatnonzero(cuts) + 1, [count]))
    quantities = (kept // width - 1)[ordered[begins[:-1]] // ranks]
    first = np.lexsort((order[begins[:-1]], quantities))
    if (np.diff(first) < 0).any():
        spans = list(pairwise(begins.tolist()))
        order = np.concatenate([order[slice(*spans[i])] for i in first.tolist()])
        begins = np.concatenate(([0], np.cumsum(np.diff(begins)[first])))
        quantities = quantities[first]
    return _laid_out(table, quantities, begins, order)


def _laid_out(table: Table, quantities: Ints, begins: Ints, order: Ints) -> Arrangement:
    first = order[begins[:-1]]
    return Arrangement(quantities, begins, first, lambda: order, _moved(table, order))


def _moved(table: Table, order: Ints) -> list[Any]:
    """Line, time, step, epoch and value of the rows in this order, read-only."""
    rows = []
    for name in MOVED:
        column, moved = into(table, name, len(order))
        if column is not None:
            np.take(column, order, out=moved, mode="clip")
        moved.flags.writeable = False
        rows.append(moved)
    return rows
