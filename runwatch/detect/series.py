"""A batch's points as series: for each metric and rank the rows that measure it, as arrays.

`Columns` is made once of a batch and handed to every detector. Running averages (`<metric>.avg`)
are left out of the series: they repeat a past that the current values have told already, and one
overflow keeps them at inf for good.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from runwatch.arrays import Flags, Floats, Ints
from runwatch.column import Column
from runwatch.detect.arrange import arranged
from runwatch.detect.table import NO_RANK, Arrangement, Room
from runwatch.kernels.run import SEGMENT, Kernel, Run, expect
from runwatch.kernels.tracks import NOTHING, Tracks, keyed, unkeyed
from runwatch.records import Batch


class Rows(NamedTuple):
    """What the rows of series say beside their metric and rank."""

    line: Ints
    time: Ints
    step: Ints
    epoch: Floats
    value: Floats


@dataclass(frozen=True)
class Groups:
    """The series of one quantity: rows `order[begins[i]:begins[i + 1]]` of the batch are the i-th.

    A series is what one metric of one rank measured within one segment, in line order. `arrays`
    are the rows side by side, since kernel after kernel goes over them; read-only, so that kernels
    are compiled for one kind of array.
    """

    begins: Ints
    segments: Ints
    arrays: Rows
    names: list[tuple[str, int | None]]  # metric and rank
    keys: list[str]
    find: Callable[[], Ints]

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def order(self) -> Ints:
        """The rows of the batch, series after series: found where somebody asks."""
        return self.find()

    @cached_property
    def lists(self) -> list[list[Any]]:
        """The same as plain numbers."""
        return [column.tolist() for column in self.arrays]

    def same_records(self, other: "Groups") -> bool:
        """Whether the rows of both stand in the same records, one by one."""
        mine, theirs = self.arrays, other.arrays
        if np.may_share_memory(mine.line, theirs.line):
            return True
        same = np.array_equal(mine.line, theirs.line) and np.array_equal(mine.step, theirs.step)
        return bool(same)


class Columns:
    """The points of one batch as arrays, in line order, and the series that they make up.

    Nulls are NOTHING in `time` and `step`, NO_RANK in `rank`, NaN in `epoch`, -1 in `quantity`,
    which is an index into `quantities`. Nothing is copied that need not be.
    """

    def __init__(self, batch: Batch, room: Room | None = None) -> None:
        points = batch.points
        self.room = room or Room()
        metric, quantity = points.column("metric"), points.column("quantity")
        self.stream = batch.stream
        self.untimed = points.column("time").empty
        self.line: Ints = _column(points.column("line"), NOTHING)
        self.time: Ints = _column(points.column("time"), NOTHING)
        self.rank = _column(points.column("rank"), NO_RANK)
        self.step: Ints = _column(points.column("step"), NOTHING)
        self.epoch: Floats = _column(points.column("epoch"), np.nan)
        self.value: Floats = _column(points.column("value"), np.nan)
        self.segment = _column(points.column("segment"), 0)
        self.metric = _column(metric, 0)
        self.quantity = _column(quantity, -1)
        self.metrics = metric.words
        self.quantities = quantity.words

    def __len__(self) -> int:
        return len(self.line)

    @cached_property
    def measured(self) -> Flags:
        """Which rows measure a quantity that is known."""
        return np.asarray(self.quantity >= 0)

    @cached_property
    def groups(self) -> dict[str, Groups]:
        """The series of every quantity, in the order in which they first appear."""
        if not len(self):
            return {}
        whole = self._arranged
        edges = np.flatnonzero(np.diff(whole.quantities, prepend=-1, append=-1)).tolist()
        return {
            self.quantities[whole.quantities[a]]: self._groups(whole, a, b)
            for a, b in pairwise(edges)
        }

    @property
    def record(self) -> int:
        """How many points a record has, where all are alike and one at least measures something;
        else 0."""
        return self._arranged.size if len(self) and len(self._arranged.quantities) else 0

    @cached_property
    def _arranged(self) -> Arrangement:
        return arranged(self)

    def _groups(self, whole: Arrangement, a: int, b: int) -> Groups:
        """The series `a` to `b`, which are of one quantity."""
        own = slice(int(whole.begins[a]), int(whole.begins[b]))
        begins, rows = whole.begins[a : b + 1] - whole.begins[a], whole.first[a:b]
        ranks = [self.stream.rank if r == NO_RANK else r for r in self.rank[rows].tolist()]
        metrics = [self.metrics[m] for m in self.metric[rows].tolist()]
        names = list(zip(metrics, ranks, strict=True))
        keys = [keyed(self.stream.name, metric, rank) for metric, rank in names]
        shared = slice(0, len(self) // whole.size) if whole.size else own
        arrays = Rows(*(column[shared] for column in whole.rows))
        arrays = arrays._replace(value=whole.rows[4][own])
        find = partial(_part_of, whole, own)
        return Groups(begins, self.segment[rows], arrays, names, keys, find)


def _part_of(whole: Arrangement, own: slice) -> Ints:
    return whole.order[own]


def _column(column: Column, null: float) -> Any:
    """A column as it lies in memory where nothing is null: what is not copied costs nothing."""
    if column.empty:
        return np.broadcast_to(np.float64(null) if null != null else np.int64(null), len(column))
    return column.numbers(null)


def run(
    kernel: Kernel, tracks: Tracks, groups: Groups, more: Any = 0, *, unless: tuple[str, ...] = (),
) -> Iterator[tuple[int, int, str, int, int]]:  # fmt: skip
    """Let a kernel go over series; gives each event's code, slot, key and segment of the series
    where it happened, and its row of `groups.arrays`, of SEGMENT the first of the series. Metrics
    with one of the words of `unless` are passed by."""
    expect(tracks, len(groups.arrays[0]))
    slots = [
        -1
        if unless and any(word in metric.lower() for word in unless)
        else tracks.slot(key, segment)
        for (metric, _), key, segment in zip(
            groups.names, groups.keys, groups.segments.tolist(), strict=True
        )
    ]
    passed = Run(kernel, tracks, groups, slots, more)
    for code, i, row in passed:
        at = int(groups.begins[i]) if code == SEGMENT else row
        yield code, slots[i], groups.keys[i], int(groups.segments[i]), at


def place(key: str, line: int, step: int, time: int) -> dict[str, Any]:
    """Where a row of this series stands, as plain JSON values."""
    stream, metric, rank = unkeyed(key)
    return {
        "stream": stream, "metric": metric, "rank": rank, "line": line,
        "step": None if step == NOTHING else step, "time": None if time == NOTHING else time,
    }  # fmt: skip
