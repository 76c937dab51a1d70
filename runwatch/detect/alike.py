"""The measurements of a batch whose records are all alike, as in most logs: every so many-th row is
of the same series, and what the points of a record have in common is put in order once."""

from functools import partial
from typing import Any

import numpy as np

from runwatch.arrays import Ints
from runwatch.detect.table import MOVED, NO_RANK, Arrangement, Table, averages, into, span

WIDEST = 512  # points of a record
FEW = 4  # records of a rank, typically, from which ranks are sorted by record


def regular(table: Table, *, compiled: bool) -> Arrangement | None:
    """Where every record has the same metrics, one of each quantity, as it is in most logs; None
    where they differ."""
    size, judged = _record(table)
    quantities = [quantity for quantity, _ in judged]
    if not size or len({*quantities}) < len(judged) or not _alike(table, size):
        return None
    each, ranks = len(table) // size, table.rank[::size]
    places, ends, first = None, np.full(1, each), np.zeros(1, np.int64)
    if not _is_one(ranks):
        places, ends, first = _by_rank(table, ranks, compiled=compiled)
        if FEW * len(ends) > each:
            return None
    put = partial(_put, places=places, compiled=compiled)
    rows = []
    for name in MOVED[:4]:
        column, moved = into(table, name, each)
        if column is not None:
            put(column[::size], moved)
        rows.append(moved)
    rows.append(table.room.array("value", np.float64, each * len(judged)))
    for (_, place), own in zip(judged, _parts(rows[4], each), strict=True):
        put(table.value[place::size], own)
    for column in rows:
        column.flags.writeable = False
    starts = [each * k + ends for k in range(len(judged))]
    return Arrangement(
        np.repeat(np.array(quantities, np.int64), len(ends)),
        np.concatenate(([0], *starts)),
        (size * first + np.array([place for _, place in judged], np.int64).reshape(-1, 1)).ravel(),
        partial(_order, table, size, judged, put),
        rows,
        size,
    )


def _order(table: Table, size: int, judged: list[tuple[int, int]], put: Any) -> Ints:
    """The rows of records that are alike, series after series."""
    each = len(table) // size
    order: Ints = table.room.array("order", np.int64, each * len(judged))
    for (_, place), own in zip(judged, _parts(order, each), strict=True):
        put(np.arange(place, len(table), size), own)
    return order


def _parts(column: Any, each: int) -> list[Any]:
    return [column[i : i + each] for i in range(0, len(column), each)]


def _record(table: Table) -> tuple[int, list[tuple[int, int]]]:
    """How many points a record has, 0 where the first ones show that there are no records, and the
    quantity and place of each that is judged, in the order of quantities."""
    again = np.flatnonzero(table.metric[1:WIDEST] == table.metric[0])
    size, n = int(again[0]) + 1 if len(again) else 0, len(table)
    if not size or n % size or len({*table.metric[:size].tolist()}) < size:
        return 0, []
    unjudged = averages(table)
    told = [(int(q), i) for i, q in enumerate(table.quantity[:size]) if q >= 0]
    return size, sorted((q, i) for q, i in told if table.metric[i] not in unjudged)


def _alike(table: Table, size: int) -> bool:
    """Whether all records have the same metrics, and the points of each the rest in common."""
    for column in (table.metric, table.quantity):
        if column.strides[0] and not (column[size:] == column[:-size]).all():
            return False
    for column in (table.rank, *(getattr(table, name) for name in MOVED[:4])):
        if column.strides[0]:
            bits = column.view(np.int64) if column.dtype == np.float64 else column  # NaN is NaN
            cuts = bits[1:] != bits[:-1]
            if np.count_nonzero(cuts) != np.count_nonzero(cuts[size - 1 :: size]):
                return False
    return _is_one(table.segment)


def _is_one(column: Any) -> bool:
    return not column.strides[0] or bool(column.min() == column.max())


def _by_rank(table: Table, ranks: Any, *, compiled: bool) -> tuple[Ints, Ints, Ints]:
    """The place of every record where those of one rank stand together, the ranks in the order in
    which they appear; where each rank ends; and its first record."""
    low, high = span(ranks)
    if compiled and high - low < len(ranks):
        from runwatch.kernels.arranging import spread, whole

        places = table.room.array("places", np.int64, len(ranks))
        counts, ends, first = (np.zeros(high - low + 2, np.int64) for _ in range(3))
        met = spread(whole(ranks, np.int32), NO_RANK, low, counts, places, ends, first)
        return places, ends[:met], first[:met]
    codes = np.where(ranks == NO_RANK, low - 1, ranks)
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    parts = sorted(np.split(order, cuts), key=lambda part: int(part[0]))
    places = np.empty(len(ranks), np.int64)
    places[np.concatenate(parts)] = np.arange(len(ranks))
    return places, np.cumsum([len(part) for part in parts]), np.array([p[0] for p in parts])


def _put(column: Any, out: Any, *, places: Ints | None, compiled: bool) -> None:
    """Put every record's value at its place."""
    if places is None:
        out[:] = column
    elif compiled:
        from runwatch.kernels.arranging import scattered

        scattered(column.ctypes.data, column.strides[0], places, out.view(np.int64))
    else:
        out[places] = column
