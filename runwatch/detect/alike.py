"""The measurements of a batch whose records are all alike, as in most logs: every so many-th row is
of the same series, and what the points of a record have in common is put in order once."""

from functools import partial
from typing import Any

import numpy as np

from runwatch.arrays import Ints
from runwatch.detect.table import MOVED, NO_RANK, Arrangement, Table, into, is_average, span

WIDEST = 512  # points of a record
FEW = 4  # records of a rank, typically, from which ranks are sorted by record


def regular(table: Table, *, compiled: bool) -> Arrangement | None:
    """Where every record has the same metrics, one of each quantity, as it is in most logs; None
    where they differ."""
    size, judged = _record(table)
    if not size or len({quantity for quantity, _ in judged}) < len(judged):
        return None
    each, ranks = len(table) // size, table.rank[::size]
    if not compiled and not _alike(table, size):
        return None
    places, ends, first = None, np.full(1, each), np.zeros(1, np.int64)
    if not _is_one(ranks):
        places, ends, first = _by_rank(table, ranks, compiled=compiled)
        if FEW * len(ends) > each:
            return None
    rows = (_compiled if compiled else _strided)(table, size, judged, places)
    if rows is None:
        return None
    for column in rows:
        column.flags.writeable = False
    starts = [each * k + ends for k in range(len(judged))]
    return Arrangement(
        np.repeat(np.array([quantity for quantity, _ in judged], np.int64), len(ends)),
        np.concatenate(([0], *starts)),
        (size * first + np.array([place for _, place in judged], np.int64).reshape(-1, 1)).ravel(),
        partial(_order, table, size, judged, places),
        rows,
        size,
    )


def _compiled(
    table: Table, size: int, judged: list[tuple[int, int]], places: Ints | None
) -> list[Any] | None:
    """Line, time, step and epoch of the records and the values that are judged, each at its place;
    None where records differ."""
    from runwatch.kernels.arranging import HALVES, REALS, WHOLES, records, whole

    each = len(table) // size
    moved = [into(table, name, each) for name in MOVED[:4]]
    value = table.room.array("value", np.float64, each * len(judged))
    given = [
        _NONE if column is None else whole(column, kind)
        for (column, _), kind in zip(moved, (WHOLES, WHOLES, WHOLES, REALS), strict=True)
    ]
    done = records(
        each, size, whole(table.metric, HALVES), whole(table.given_quantity, HALVES),
        _NO_FLAGS if table.unmeasured is None else table.unmeasured.view(np.int8),
        *(whole(c if c.strides[0] else c[:0], HALVES) for c in (table.rank, table.segment)),
        *given, whole(table.value, REALS),
        np.array([place for _, place in judged], np.int64), _NONE if places is None else places,
        *(_NONE if column is None else out for column, out in moved), value,
    )  # fmt: skip
    return [*(out for _, out in moved), value] if done else None


_NONE, _NO_FLAGS = np.zeros(0, np.int64), np.zeros(0, np.int8)


def _strided(
    table: Table, size: int, judged: list[tuple[int, int]], places: Ints | None
) -> list[Any]:
    """The same without compiled code; records are alike."""
    each, rows = len(table) // size, []
    for name in MOVED[:4]:
        column, moved = into(table, name, each)
        if column is not None:
            _put(column[::size], moved, places)
        rows.append(moved)
    rows.append(table.room.array("value", np.float64, each * len(judged)))
    for (_, place), own in zip(judged, _parts(rows[4], each), strict=True):
        _put(table.value[place::size], own, places)
    return rows


def _order(table: Table, size: int, judged: list[tuple[int, int]], places: Ints | None) -> Ints:
    """The rows of records that are alike, series after series."""
    each = len(table) // size
    order: Ints = table.room.array("order", np.int64, each * len(judged))
    for (_, place), own in zip(judged, _parts(order, each), strict=True):
        _put(np.arange(place, len(table), size), own, places)
    return order


def _parts(column: Any, each: int) -> list[Any]:
    return [column[i : i + each] for i in range(0, len(column), each)]


def _record(table: Table) -> tuple[int, list[tuple[int, int]]]:
    """How many points a record has, 0 where the first ones show that there are no records, and the
    quantity and place of each that is judged, in the order of quantities."""
    metrics, n = table.metric[:WIDEST].tolist(), len(table)
    size = metrics.index(metrics[0], 1) if metrics.count(metrics[0]) > 1 else 0
    if not size or n % size or len({*metrics[:size]}) < size:
        return 0, []
    quantities = table.given_quantity[:size]
    if table.unmeasured is not None:
        quantities = np.where(table.unmeasured[:size], -1, quantities)
    told = enumerate(zip(quantities.tolist(), metrics, strict=False))
    return size, sorted((q, i) for i, (q, m) in told if q >= 0 and not is_average(table.metrics[m]))


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
        from runwatch.kernels.arranging import HALVES, spread, whole

        places = table.room.array("places", np.int64, len(ranks))
        counts, ends, first = (np.zeros(high - low + 2, np.int64) for _ in range(3))
        met = spread(whole(ranks, HALVES), NO_RANK, low, counts, places, ends, first)
        return places, ends[:met], first[:met]
    codes = np.where(ranks == NO_RANK, low - 1, ranks)
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    parts = sorted(np.split(order, cuts), key=lambda part: int(part[0]))
    places = np.empty(len(ranks), np.int64)
    places[np.concatenate(parts)] = np.arange(len(ranks))
    return places, np.cumsum([len(part) for part in parts]), np.array([p[0] for p in parts])


def _put(column: Any, out: Any, places: Ints | None) -> None:
    """Put every record's value at its place."""
    out[slice(None) if places is None else places] = column
