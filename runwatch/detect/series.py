"""A batch's points as series: for each metric and rank the rows that measure it, as arrays.

`Columns` is made once of a batch and handed to every detector. Running averages (`<metric>.avg`)
are left out of the series: they repeat a past that the current values have told already, and one
overflow keeps them at inf for good.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from runwatch.column import numbers
from runwatch.kernels.run import Kernel, Run
from runwatch.kernels.tracks import NOTHING, Tracks, keyed, unkeyed
from runwatch.records import Batch

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NO_RANK = int(np.iinfo(np.int32).min)
_RADIX = 1 << 16  # codes below this are sorted in linear time


@dataclass(frozen=True, slots=True)
class Groups:
    """The series of one quantity: rows `order[begins[i]:begins[i + 1]]` are the i-th.

    A series is what one metric of one rank measured within one segment, in line order.
    """

    order: Ints
    begins: Ints
    segments: Ints
    names: list[tuple[str, int | None]]  # metric and rank
    keys: list[str]

    def __len__(self) -> int:
        return len(self.keys)


class Columns:
    """The points of one batch as arrays, in line order, and the series that they make up.

    Nulls are NOTHING in `time` and `step`, NO_RANK in `rank`, NaN in `epoch`, -1 in `quantity`,
    which is an index into `quantities`. Nothing is copied that need not be.
    """

    def __init__(self, batch: Batch) -> None:
        points = batch.points
        metric: Any = points.column("metric")
        quantity: Any = points.column("quantity")
        self.stream = batch.stream
        self.untimed = points.column("time").null_count == len(points.column("time"))
        self.line: Ints = _column(points.column("line"), NOTHING)
        self.time: Ints = _column(points.column("time"), NOTHING)
        self.rank = _column(points.column("rank"), NO_RANK)
        self.step: Ints = _column(points.column("step"), NOTHING)
        self.epoch: Floats = _column(points.column("epoch"), np.nan)
        self.value: Floats = _column(points.column("value"), np.nan)
        self.segment = _column(points.column("segment"), 0)
        self.metric = _column(metric.indices, 0)
        self.quantity = _column(quantity.indices, -1)
        self.metrics: list[str] = metric.dictionary.to_pylist()
        self.quantities: list[str] = quantity.dictionary.to_pylist()

    def __len__(self) -> int:
        return len(self.line)

    @cached_property
    def measured(self) -> npt.NDArray[np.bool_]:
        """Which rows measure a quantity that is known."""
        return np.asarray(self.quantity >= 0)

    @cached_property
    def lists(self) -> tuple[list[int], list[int], list[int], list[float], list[float]]:
        """Line, time, step, epoch and value of every row as plain numbers."""
        return (
            self.line.tolist(), self.time.tolist(), self.step.tolist(),
            self.epoch.tolist(), self.value.tolist(),
        )  # fmt: skip

    @cached_property
    def arrays(self) -> tuple[Ints, Ints, Ints, Floats, Floats]:
        """Line, time, step, epoch and value of every row as arrays."""
        of = self.line, self.time, self.step, self.epoch, self.value
        line, time, step, epoch, value = map(_frozen, of)
        return line, time, step, epoch, value

    @cached_property
    def groups(self) -> dict[str, Groups]:
        """The series of every quantity, in the order in which they first appear."""
        if not len(self):
            return {}
        return {name: self._groups(*part) for name, part in self._parts().items()}

    def _parts(self) -> dict[str, tuple[Ints, Ints]]:
        """For each quantity its rows, series after series, and where each series begins."""
        width = len(self.metrics)
        pairs = (self.quantity + 1) * width + self.metric if width > 1 else self.quantity + 1
        present = np.bincount(pairs, minlength=(len(self.quantities) + 1) * width)
        present[:width] = 0
        averages = [i for i, name in enumerate(self.metrics) if name.endswith(".avg")]
        present.reshape(-1, width)[:, averages] = 0
        kept = np.flatnonzero(present)
        if not len(kept):
            return {}
        dense = np.full(len(present), len(kept))
        dense[kept] = np.arange(len(kept))
        codes, ranks = dense[pairs], 1
        if len(kept) > 1 or (self.rank != self.rank[0]).any():
            low, high = _span(self.rank)
            ranks = high - low + 2
            codes = codes * ranks + np.where(self.rank == NO_RANK, 0, self.rank - low + 1)
        return self._sorted(codes, (kept // width - 1).tolist(), ranks, int(present.sum()))

    def _sorted(
        self, codes: Ints, quantities: list[int], ranks: int, count: int
    ) -> dict[str, tuple[Ints, Ints]]:
        """The rows by code; those behind the first `count` measure nothing that is judged."""
        small = len(quantities) * ranks + ranks < _RADIX
        order = np.argsort(codes.astype(np.uint16) if small else codes, kind="stable")[:count]
        ordered, segment = codes[order], self.segment[order]
        cuts = (ordered[1:] != ordered[:-1]) | (segment[1:] != segment[:-1])
        begins = np.concatenate(([0], np.flatnonzero(cuts) + 1))
        of = np.array(quantities)[ordered[begins] // ranks]
        edges = np.flatnonzero(np.concatenate(([True], of[1:] != of[:-1], [True])))
        ends = np.append(begins, count)
        return {
            self.quantities[of[a]]: (order[ends[a] : ends[b]], ends[a : b + 1] - ends[a])
            for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        }

    def _groups(self, order: Ints, begins: Ints) -> Groups:
        if len(begins) > 2:  # by first appearance
            first = np.argsort(order[begins[:-1]], kind="stable")
            if (np.diff(first) < 0).any():
                parts = [order[begins[i] : begins[i + 1]] for i in first.tolist()]
                order = np.concatenate(parts)
                begins = np.concatenate(([0], np.cumsum([len(part) for part in parts])))
        rows = order[begins[:-1]]
        ranks = [self.stream.rank if r == NO_RANK else r for r in self.rank[rows].tolist()]
        metrics = [self.metrics[m] for m in self.metric[rows].tolist()]
        names = list(zip(metrics, ranks, strict=True))
        keys = [keyed(self.stream.name, metric, rank) for metric, rank in names]
        return Groups(order, begins, self.segment[rows], names, keys)


def _span(ranks: Ints) -> tuple[int, int]:
    """The lowest and the highest rank that is told."""
    told = ranks[ranks != NO_RANK] if ranks.min() == NO_RANK else ranks
    return (int(told.min()), int(told.max())) if len(told) else (0, 0)


def _column(column: Any, null: float) -> Any:
    """A column as it lies in memory where nothing is null: what is not copied costs nothing."""
    if column.null_count == len(column):
        return np.broadcast_to(np.float64(null) if null != null else np.int64(null), len(column))
    return numbers(column, null)


def _frozen(column: Any) -> Any:
    """The same read-only and in one piece, so that kernels are compiled for one kind of array."""
    column = np.ascontiguousarray(column).view()
    column.flags.writeable = False
    return column


def run(
    kernel: Kernel, tracks: Tracks, columns: Columns, groups: Groups, more: Any = 0, *,
    unless: tuple[str, ...] = (),
) -> Iterator[tuple[int, int, str, int, int]]:  # fmt: skip
    """Let a kernel go over series; gives each event's code, slot, key and segment of the series
    where it happened, and the row (not of SEGMENT). Metrics with one of the words of `unless` are
    passed by."""
    slots = [
        -1
        if unless and any(word in metric.lower() for word in unless)
        else tracks.slot(key, segment)
        for (metric, _), key, segment in zip(
            groups.names, groups.keys, groups.segments.tolist(), strict=True
        )
    ]
    passed = Run(kernel, tracks, groups, slots, columns.arrays, lambda: columns.lists, more)
    for code, i, row in passed:
        yield code, slots[i], groups.keys[i], int(groups.segments[i]), row


def place(key: str, line: int, step: int, time: int) -> dict[str, Any]:
    """Where a row of this series stands, as plain JSON values."""
    stream, metric, rank = unkeyed(key)
    return {
        "stream": stream, "metric": metric, "rank": rank, "line": line,
        "step": None if step == NOTHING else step, "time": None if time == NOTHING else time,
    }  # fmt: skip
