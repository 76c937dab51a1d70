"""How far each stream has come, in a number that faults can be compared with.

The number goes up by one with every new highest step of a segment (or with every line that
reports a loss without a step). A fault that is followed by two such advances did not end the run:
one alone may be a line that another rank had still in its buffer.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from runwatch.records import Batch

ENOUGH = 2
_EPOCH = 1 << 36  # more steps than any epoch has


@dataclass(slots=True)
class Progress:
    """One stream's course. `total` is what the log announced, None where it did not."""

    advances: int = 0
    highest: int = -1
    step: int | None = None
    first_step: int | None = None
    segment: int = 0
    line: int = 0
    first_line: int = 0
    points: int = 0
    total: int | None = None
    epochs: int | None = None
    epoch: float | None = None
    epoch_carried: float = 0.0
    top: int = -1  # the highest step of the present epoch
    widest: int = -1  # and of any epoch before it

    def feed(self, batch: Batch) -> "Advances":
        """Take the points of one batch and say where in it the stream advanced."""
        self.total = batch.total_steps if batch.total_steps is not None else self.total
        self.epochs = batch.total_epochs if batch.total_epochs is not None else self.epochs
        before = self.advances
        points = batch.points
        if points.num_rows == 0:
            return Advances(before, np.empty(0, np.int64))
        self.points += points.num_rows
        lines = _numbers(points.column("line"), 0)
        self.line = max(self.line, int(lines.max()))
        self.first_line = min(self.first_line or int(lines.min()), int(lines.min()))
        epochs = points.column("epoch").drop_null()
        if len(epochs):
            self.epoch = float(epochs[len(epochs) - 1].as_py())
        at = self._stepped(lines, points)
        if at is None:
            at = np.unique(lines[_losses(points)])
        at = np.sort(at)
        self.advances += len(at)
        return Advances(before, at)

    def _stepped(self, lines: "np.ndarray[Any, Any]", points: pa.RecordBatch) -> Any:
        column = points.column("step")
        if column.null_count == len(column):
            return None if self.step is None else np.empty(0, np.int64)
        known = _known(column)
        steps = _numbers(column, -1)[known]
        lines, segments = lines[known], _numbers(points.column("segment"), 0)[known]
        epochs = self._epochs(points)[known]
        at = [
            self._in_segment(int(s), lines, steps, epochs, segments == s)
            for s in np.unique(segments)
        ]
        self.step = int(steps[-1])
        if self.first_step is None:
            self.first_step = int(steps[0])
        return np.concatenate(at)

    def _in_segment(self, segment: int, lines: Any, steps: Any, epochs: Any, inside: Any) -> Any:
        """Lines at which (epoch, step) came higher than ever before in this segment."""
        if segment > self.segment:
            self.segment, self.highest, self.top, self.widest = segment, -1, -1, -1
        steps, epochs = steps[inside], epochs[inside]
        keys = epochs * _EPOCH + np.minimum(steps, _EPOCH - 1)
        course = np.maximum.accumulate(np.concatenate([[self.highest], keys]))
        if len(steps):
            last = epochs[-1]
            if last * _EPOCH > self.highest:
                self.widest, self.top = max(self.widest, self.top, *_tops(steps, epochs, last)), -1
            self.top = max(self.top, int(steps[epochs == last].max()))
        self.highest = int(course[-1])
        return lines[inside][course[1:] > course[:-1]]

    def _epochs(self, points: pa.RecordBatch) -> Any:
        """The epoch of every row, whole, carried on where a row has none."""
        column: Any = points.column("epoch")
        values = np.nan_to_num(_numbers(column, 0))
        known = np.concatenate([[True], _known(column)])
        values = np.concatenate([[self.epoch_carried], np.clip(values, 0, 1e8)])
        at = np.maximum.accumulate(np.where(known, np.arange(len(values)), 0))
        filled = values[at][1:]
        self.epoch_carried = float(filled[-1])
        return filled.astype(np.int64)

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values; `Progress(**state)` takes it up again."""
        return asdict(self)


class Advances:
    """Where in one batch its stream advanced."""

    def __init__(self, before: int, lines: "np.ndarray[Any, Any]") -> None:
        self.before = before
        self.lines = lines

    def until(self, line: int) -> int:
        """The count of advances of the stream up to and with this line."""
        return self.before + int(np.searchsorted(self.lines, line, side="right"))


def _numbers(column: Any, missing: int) -> "np.ndarray[Any, Any]":
    return np.asarray(pc.fill_null(column, missing).to_numpy(zero_copy_only=False))


def _known(column: Any) -> "np.ndarray[Any, Any]":
    return np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False))


def _tops(steps: Any, epochs: Any, last: int) -> list[int]:
    """The highest step of the epochs before the last one in this batch."""
    earlier = steps[epochs < last]
    return [int(earlier.max())] if len(earlier) else [-1]


def _losses(points: pa.RecordBatch) -> "np.ndarray[Any, Any]":
    quantity = points.column("quantity")
    indices: Any = getattr(quantity, "indices", None)
    words: Any = getattr(quantity, "dictionary", None)
    if words is None:
        return np.ones(points.num_rows, bool)
    loss = [i for i, word in enumerate(words.to_pylist()) if word == "loss"]
    codes = np.asarray(pc.fill_null(indices, -1).to_numpy(zero_copy_only=False))
    return np.isin(codes, loss)
