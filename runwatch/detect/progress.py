"""How far each stream has come, in a number that faults can be compared with.

The number goes up by one with every new highest step of a segment (or with every line that
reports a loss without a step). A fault that is followed by two such advances did not end the run:
one alone may be a line that another rank had still in its buffer.
"""

from dataclasses import asdict, field
from typing import Any

import numpy as np

from runwatch.arrays import Array
from runwatch.column import Column, Frame, distinct
from runwatch.records import Batch
from runwatch.slotted import mutable

ENOUGH = 2
_TURNS = 64
# A place in a run as one number that grows with it: segment, epoch, step.
_STEP_BITS, _EPOCH_BITS = 33, 20
_MOST = ((1 << 10) - 1, (1 << _EPOCH_BITS) - 1, (1 << _STEP_BITS) - 1)


@mutable
class Progress:
    """One stream's course. `total` and `epochs` are what the log announced.

    `top` is the highest step of the present epoch, `widest` that of any epoch before it; `fell` is
    the line at which steps last went back a long way. `far` is the furthest epoch and step that it
    ever came to, as one number; `turns` are its last segments, and its advances before each.
    """

    advances: int = 0
    highest: int = -1
    step: int | None = None
    segment: int = 0
    line: int = 0
    first_line: int = 0
    lossy_line: int = 0
    points: int = 0
    total: int | None = None
    epochs: int | None = None
    epoch: float | None = None
    top: int = -1
    widest: int = -1
    fell: int = 0
    far: int = -1
    turns: list[list[int]] = field(default_factory=list)

    def feed(self, batch: Batch) -> "Advances":
        """Take the points of one batch and say where in it the stream advanced."""
        self.total = batch.total_steps if batch.total_steps is not None else self.total
        self.epochs = batch.total_epochs if batch.total_epochs is not None else self.epochs
        before, points = self.advances, batch.points
        if not len(points):
            return Advances(before, np.empty(0, np.int64), self.far, [], [])
        self.points += len(points)
        lines = points.column("line").numbers()
        # Held lines may come late, so the first and the last row do not bound them.
        low, high = int(lines.min()), int(lines.max())
        self.line = max(self.line, high)
        self.first_line = min(self.first_line or low, low)
        far, lossy = self.far, self._lossy(lines, points)
        stepped, further, places = self._stepped(lines, points, before + len(lossy))
        at = np.sort(np.concatenate([lossy, stepped]))
        self.advances += len(at)
        return Advances(before, at, far, further, places)

    def _lossy(self, lines: Array, points: Frame) -> Array:
        """Lines that report a loss in a stream that has not told a step yet."""
        if self.step is not None:
            return np.empty(0, np.int64)
        stepped = np.flatnonzero(points.column("step").known)
        end = int(stepped[0]) if len(stepped) else len(lines)
        losses = distinct(lines[:end][_losses(points[:end])])
        losses = losses[losses > self.lossy_line]
        if len(losses):
            self.lossy_line = int(losses[-1])
        return losses

    def _stepped(self, lines: Array, points: Frame, before: int) -> tuple[Array, Any, Any]:
        """Lines at which (segment, epoch, step) came higher than ever before, those at which only
        epoch and step did, and how far. `before` are the advances until then."""
        steps = points.column("step").numbers(-1)
        # The many points of one record say the same: one of them is enough.
        fresh = np.concatenate([[True], (lines[1:] != lines[:-1]) | (steps[1:] != steps[:-1])])
        rows = np.flatnonzero(fresh)
        epochs = self._epochs(points.column("epoch"), rows)
        segments = points.column("segment").numbers()[rows]
        told = steps[rows] >= 0
        steps, lines = np.minimum(steps[rows][told], _MOST[2]), lines[rows][told]
        if not len(steps):
            return np.empty(0, np.int64), [], []
        last = steps[0] if self.step is None else self.step
        # By more than half: ranks that share a stream lag by a little.
        back = np.flatnonzero(steps * 2 < np.concatenate([[last], steps[:-1]]))
        self.fell = int(lines[back[-1]]) if len(back) else self.fell
        groups = np.minimum(segments, _MOST[0]).astype(np.int64) << _EPOCH_BITS
        groups = (groups + epochs)[told]
        places = (groups << _STEP_BITS) + steps
        course = np.maximum.accumulate(np.concatenate([[self.highest], places]))
        self._groups(groups, steps, course[1:] >> _STEP_BITS)
        higher = course[1:] > course[:-1]
        self._turn(course >> (_STEP_BITS + _EPOCH_BITS), before + np.cumsum(higher))
        self.highest, self.step = int(course[-1]), int(steps[-1])
        self.segment = int(course[-1] >> (_STEP_BITS + _EPOCH_BITS))
        within = places & ((1 << (_STEP_BITS + _EPOCH_BITS)) - 1)
        reach = np.maximum.accumulate(np.concatenate([[self.far], within]))
        self.far, further = int(reach[-1]), reach[1:] > reach[:-1]
        return np.asarray(lines[higher]), lines[further], reach[1:][further]

    def _turn(self, segments: Array, advances: Array) -> None:
        """Note which segments began; -1 is before any."""
        for i in np.flatnonzero(segments[1:] > np.maximum(segments[:-1], 0)).tolist():
            self.turns = [*self.turns, [int(segments[i + 1]), int(advances[i]) - 1]][-_TURNS:]

    def _groups(self, groups: Array, steps: Array, present: Array) -> None:
        """Keep the highest step of the present epoch and of those before it."""
        group = self.highest >> _STEP_BITS if self.highest >= 0 else -1
        if group == present[-1] and groups.min() == groups.max() == group:
            self.top = max(self.top, int(steps.max()))
            return
        for new in distinct(present[groups == present]):
            if new != group:
                same = group >= 0 and new >> _EPOCH_BITS == group >> _EPOCH_BITS
                self.widest = max(self.widest, self.top) if same else -1
                self.top, group = -1, int(new)
            self.top = max(self.top, int(steps[(groups == new) & (present == new)].max()))

    def _epochs(self, column: Column, rows: Array) -> Array:
        """The epoch of these rows as a whole number, carried on where a row has none."""
        carried = 0.0 if self.epoch is None else self.epoch
        if column.empty:
            return np.full(len(rows), _whole(np.float64(carried)))
        values = np.concatenate([[carried], column.numbers()[rows]])
        told = np.concatenate([[True], column.known[rows]])
        filled = values[np.maximum.accumulate(np.where(told, np.arange(len(values)), 0))][1:]
        if told[1:].any():
            self.epoch = float(filled[-1])
        return _whole(filled)

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values; `Progress(**state)` takes it up again."""
        return asdict(self)


def step_of(place: int) -> int | None:
    """The step of a furthest place, None where no step was told."""
    return None if place < 0 else place & _MOST[2]


class Advances:
    """Where in one batch its stream advanced."""

    def __init__(self, before: int, lines: Array, far: int, further: Any, places: Any) -> None:
        self.before = before
        self.lines = lines
        self._far = np.concatenate([[far], places]).astype(np.int64)
        self._further = np.asarray(further, np.int64)
        if (self._further[1:] < self._further[:-1]).any():
            order = np.argsort(self._further, kind="stable")
            self._further = self._further[order]
            self._far[1:] = np.maximum.accumulate(self._far[1:][order])

    def far(self, line: int) -> int:
        """The furthest place of the stream up to and with this line."""
        return int(self._far[self._further.searchsorted(line, side="right")])

    def until(self, line: int) -> int:
        """The count of advances of the stream up to and with this line."""
        return self.before + int(self.lines.searchsorted(line, side="right"))


def _whole(epochs: Any) -> Array:
    whole = np.nan_to_num(epochs, nan=0.0, posinf=0.0, neginf=0.0)
    return np.asarray(np.clip(whole, 0, _MOST[1])).astype(np.int64)


def _losses(points: Frame) -> Array:
    return points.column("quantity").says("loss")
