"""The measurements of a batch put side by side, series after series.

Three ways to the same: every so many-th row where all records are alike, a compiled counting sort
for large batches, and numpy's sort for all others.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from runwatch.kernels.run import compiles

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NO_RANK = int(np.iinfo(np.int32).min)
LARGE = 4096  # rows from which compiled code arranges them
WIDEST = 512  # points of a record
_RADIX = 1 << 16  # codes below this are sorted in linear time
_MOVED = ("line", "time", "step", "epoch", "value")


class Room:
    """Memory in which one batch after the other is arranged: asking for it anew costs more than
    filling it. What was made in it is good until the next batch is."""

    def __init__(self) -> None:
        self._kept: dict[str, npt.NDArray[Any]] = {}

    def array(self, name: str, kind: Any, length: int) -> Any:
        """An array of this name; what it holds is left from before."""
        kept = self._kept.get(name)
        if kept is None or len(kept) < length:
            kept = self._kept[name] = np.empty(length + length // 4, kind)
        return kept[:length]

    def filled(self, name: str, value: Any, length: int) -> Any:
        """An array of this name that holds nothing but this value."""
        kept, wanted = self._kept.get(name), np.asarray(value)
        if (
            kept is None
            or len(kept) < length
            or kept.dtype != wanted.dtype
            or kept[:1].tobytes() != wanted.tobytes()  # NaN is the same as NaN here
        ):
            kept = self._kept[name] = np.full(length + length // 4, value)
        return kept[:length]


class Table(Protocol):
    """What is arranged: `Columns` are one."""

    room: Room
    line: Ints
    time: Ints
    rank: Any
    step: Ints
    epoch: Floats
    value: Floats
    segment: Any
    metric: Any
    quantity: Any
    metrics: Sequence[str]
    quantities: Sequence[str]

    def __len__(self) -> int: ...


class Arrangement(NamedTuple):
    """Series by quantity, then by first appearance. Rows `order[begins[i]:begins[i + 1]]` are the
    i-th; `rows` are their line, time, step, epoch and value, read-only."""

    quantities: Ints
    begins: Ints
    order: Ints
    rows: list[Any]


def arranged(table: Table) -> Arrangement:
    """The series of a batch."""
    found = _regular(table)
    if found is None and len(table) >= LARGE and compiles(len(table)):
        found = _counted(table)
    return _sorted(table) if found is None else found


def averages(table: Table) -> list[int]:
    """The metrics that are running averages."""
    return [i for i, name in enumerate(table.metrics) if name.endswith(".avg")]


def _regular(table: Table) -> Arrangement | None:
    """Where every record has the same metrics, as it is in most logs; None where they differ."""
    again = np.flatnonzero(table.metric[1:WIDEST] == table.metric[0])
    size, n = int(again[0]) + 1 if len(again) else 0, len(table)
    if not size or n % size or table.segment.min() != table.segment.max():
        return None
    if table.rank.min() != table.rank.max() or len({*table.metric[:size].tolist()}) < size:
        return None
    for column in (table.metric, table.quantity):
        if column.strides[0] and not (column[size:] == column[:-size]).all():
            return None
    unjudged = averages(table)
    told = [(int(q), i) for i, q in enumerate(table.quantity[:size]) if q >= 0]
    judged = sorted((q, i) for q, i in told if table.metric[i] not in unjudged)
    each = n // size
    order = table.room.array("order", np.int64, each * len(judged))
    for k, (_, i) in enumerate(judged):
        order[k * each : (k + 1) * each] = np.arange(i, n, size)
    rows = []
    for name in _MOVED:
        column, moved = _into(table, name, len(order))
        for k, (_, i) in enumerate(judged) if column is not None else ():
            moved[k * each : (k + 1) * each] = column[i::size]
        moved.flags.writeable = False
        rows.append(moved)
    quantities = np.array([quantity for quantity, _ in judged], np.int64)
    return Arrangement(quantities, np.arange(len(judged) + 1) * each, order, rows)


def _counted(table: Table) -> Arrangement | None:
    """By compiled code; None for what it is not made for: several segments, or so many ranks that
    most would have nothing to say."""
    from runwatch.kernels.arranging import FULL, PASSED_BY, UNKNOWN, counted, placed, whole

    width, (low, high), n = len(table.metrics), span(table.rank), len(table)
    ranks = high - low + 2
    space = (width + 8) * ranks
    if space > n or table.segment.min() != table.segment.max():
        return None
    pairs: Ints = np.full(len(table.quantities) * width, UNKNOWN)
    pairs.reshape(-1, width)[:, averages(table)] = PASSED_BY
    codes = table.room.array("codes", np.int32, n)
    counts, first = np.zeros(space, np.int64), np.empty(space, np.int64)
    of = [whole(c, np.int32) for c in (table.quantity, table.metric, table.rank)]
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
    return Arrangement(quantities[series // ranks], begins, order, _moved(table, order))


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
        return Arrangement(nothing, np.zeros(1, np.int64), nothing, _moved(table, nothing))
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
    return Arrangement(quantities, begins, order, _moved(table, order))


def span(ranks: Any) -> tuple[int, int]:
    """The lowest and the highest rank that is told."""
    told = ranks[ranks != NO_RANK] if ranks.min() == NO_RANK else ranks
    return (int(told.min()), int(told.max())) if len(told) else (0, 0)


def _moved(table: Table, order: Ints) -> list[Any]:
    """Line, time, step, epoch and value of the rows in this order, read-only."""
    rows = []
    for name in _MOVED:
        column, moved = _into(table, name, len(order))
        if column is not None:
            np.take(column, order, out=moved, mode="clip")
        moved.flags.writeable = False
        rows.append(moved)
    return rows


def _into(table: Table, name: str, length: int) -> tuple[Any, Any]:
    """A column and where to move it; None where nothing is told in all of it, which stands there
    already."""
    column = getattr(table, name)
    if not column.strides[0]:
        return None, table.room.filled(f"no {name}", column[0], length)
    return column, table.room.array(name, column.dtype, length)
