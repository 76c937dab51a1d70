"""The measurements of a batch whose records are all alike, as in most logs: every so many-th row is
of the same series, and what the points of a record have in common is put in order once."""

from functools import partial
from typing import Any

import numpy as np

from runwatch.arrays import Ints
from runwatch.detect.table import MOVED, NO_RANK, Arrangement, Table, into, is_average, span

WIDEST = 512  # points of a record
_USUAL = 32  # most have no more
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
    places, ends, first = None, None, None
    if not _is_one(ranks):
        places, ends, first = _by_rank(table, ranks, compiled=compiled)
        if FEW * len(ends) > each:
            return None
    rows = (_compiled if compiled else _strided)(table, size, judged, places)
    if rows is None:
        return None
    for column in rows:
        column.flags.writeable = False
    if ends is None or first is None:
        laid = table.room.once((size, each, *judged), lambda: _laid_out(size, each, judged))
    else:
        laid = _laid_out(size, each, judged, ends, first)
    quantities, begins, tops = laid
    find = partial(_order, table, size, judged, places)
    return Arrangement(quantities, begins, tops, find, rows, size)


def _laid_out(
    size: int, each: int, judged: list[tuple[int, int]], ends: Ints | None = None,
    first: Ints | None = None,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """The quantity of each series, where each begins, and its first row; of one rank where it is
    not told where ranks end and which their first records are."""
    ends = np.full(1, each) if ends is None else ends
    first = np.zeros(1, np.int64) if first is None else first
    quantities, places = np.array(judged, np.int64).reshape(-1, 2).T
    begins = np.concatenate(([0], *(each * k + ends for k in range(len(judged)))))
    rows = (size * first + places.reshape(-1, 1)).ravel()
    return np.repeat(quantities, len(ends)), begins, rows


def _compiled(
    table: Table, size: int, judged: list[tuple[int, int]], places: Ints | None
) -> list[Any] | None:
    """Line, time, step and epoch of the records and the values that are judged, each at its place;
    None where records differ."""
    from runwatch.kernels.arranging import HALVES, REALS, WHOLES, records, whole

    each, flags = len(table) // size, table.unmeasured
    moved = [into(table, name, each) for name in MOVED[:4]]
    value = table.room.array("value", np.float64, each * len(judged))
    done = records(
        each, size, whole(table.metric, HALVES), whole(table.given_quantity, HALVES),
        _NO_FLAGS if flags is None else flags.view(np.int8),
        *(whole(c, HALVES) if c.strides[0] else _NO_HALVES for c in (table.rank, table.segment)),
        *(_NONE if c is None else whole(c, WHOLES) for c, _ in moved[:3]),
        _NONE if moved[3][0] is None else whole(moved[3][0], REALS), whole(table.value, REALS),
        table.room.once(("places", *judged), lambda: np.array([at for _, at in judged], np.int64)),
        _NONE if places is None else places,
        *(_NONE if column is None else out for column, out in moved), value,
    )  # fmt: skip
    return [*(out for _, out in moved), value] if done else None


_NONE, _NO_FLAGS, _NO_HALVES = (np.zeros(0, kind) for kind in (np.int64, np.int8, np.int32))


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
    metrics, n = table.metric[:_USUAL].tolist(), len(table)
    if metrics.count(metrics[0]) == 1:
        metrics = table.metric[:WIDEST].tolist()
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
