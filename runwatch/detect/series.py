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
from runwatch.kernels.field import NOTHING
from runwatch.kernels.run import SEGMENT, Kernel, expect, numbers_of, passed
from runwatch.kernels.tracks import Tracks, unkeyed
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
    def numbers(self) -> tuple[int, ...]:
        """What tells compiled kernels of them."""
        return numbers_of(self.arrays, self.begins, self.segments)

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
        self.given_quantity, self.unmeasured = quantity.values, quantity.null
        self.metrics = metric.words
        self.quantities = quantity.words

    def __len__(self) -> int:
        return len(self.line)

    @cached_property
    def quantity(self) -> Any:
        """What each row measures, by its place in `quantities`."""
        given, none = self.given_quantity, self.unmeasured
        return given if none is None else np.where(none, np.int32(-1), given)

    @cached_property
    def measured(self) -> Flags:
        """Which rows measure a quantity that is known."""
        return np.asarray(self.quantity >= 0)

    @cached_property
    def last(self) -> int:
        """The last row that measures a quantity that is known; -1 where none does."""
        given, none = self.given_quantity, self.unmeasured
        for row in range(len(self) - 1, max(-1, len(self) - _FEW), -1):
            if given[row] >= 0 and (none is None or not none[row]):
                return row
        rows = np.flatnonzero(self.measured)
        return int(rows[-1]) if len(rows) else -1

    @cached_property
    def groups(self) -> dict[str, Groups]:
        """The series of every quantity, in the order in which they first appear."""
        if not len(self):
            return {}
        whole, told = self._arranged, self._arranged.quantities.tolist()
        edges = [i for i in range(1, len(told)) if told[i] != told[i - 1]]
        spans = pairwise([0, *edges, len(told)]) if told else ()
        return {self.quantities[told[a]]: self._groups(whole, a, b) for a, b in spans}

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
        begins, rows = whole.begins[a : b + 1], whole.first[a:b]
        own = slice(int(begins[0]), int(begins[-1]))
        metrics = [self.metrics[m] for m in self.metric[rows].tolist()]
        if whole.size:
            (segments, ranks), begins = self._common, whole.begins[: b - a + 1]
            line, time, step, epoch = whole.rows[:4]
        else:
            (segments, ranks), begins = self._of(rows), begins - begins[0]
            line, time, step, epoch = (column[own] for column in whole.rows[:4])
        names, keys = self.room.names.of(self.stream.name, metrics, ranks)
        arrays = Rows(line, time, step, epoch, whole.rows[4][own])
        return Groups(begins, segments, arrays, names, keys, partial(_part_of, whole, own))

    @cached_property
    def _common(self) -> tuple[Ints, list[int | None]]:
        """Segments and ranks of the series of each quantity, where all have the same ones."""
        first, told = self._arranged.first, self._arranged.quantities
        return self._of(first[: len(first) // max(1, len({*told.tolist()}))])

    def _of(self, rows: Ints) -> tuple[Ints, list[int | None]]:
        """Segment and rank of series whose first rows these are."""
        ranks = self.rank[rows].tolist()
        named = [self.stream.rank if rank == NO_RANK else rank for rank in ranks]
        return self.segment[rows].astype(np.int64), named


def _part_of(whole: Arrangement, own: slice) -> Ints:
    return whole.order[own]


def _column(column: Column, null: float) -> Any:
    """A column as it lies in memory where nothing is null: what is not copied costs nothing."""
    return _NULLS[null][: len(column)] if column.empty else column.numbers(null)


_FEW = 64  # rows, of which one measures something in most logs
_NULLS = {  # by how it is told that nothing is known, as much of that as there may be rows
    null: np.broadcast_to(np.float64(null) if null != null else np.int64(null), 1 << 40)
    for null in (0, NOTHING, NO_RANK, np.nan)
}


def run(
    kernel: Kernel, tracks: Tracks, groups: Groups, more: Any = 0
) -> Iterator[tuple[int, int, str, int, int]]:
    """Let a kernel go over series; gives each event's code, slot, key and segment of the series
    where it happened, and its row of `groups.arrays`, of SEGMENT the first of the series."""
    expect(tracks, len(groups.arrays[0]))
    slots = tracks.places(groups.keys, groups.segments)
    for code, i, row in passed(kernel, tracks, groups, slots, more):
        at = int(groups.begins[i]) if code == SEGMENT else row
        yield code, int(slots[i]), groups.keys[i], int(groups.segments[i]), at


def place(key: str, line: int, step: int, time: int) -> dict[str, Any]:
    """Where a row of this series stands, as plain JSON values."""
    stream, metric, rank = unkeyed(key)
    return {
        "stream": stream, "metric": metric, "rank": rank, "line": line,
        "step": None if step == NOTHING else step, "time": None if time == NOTHING else time,
    }  # fmt: skip
