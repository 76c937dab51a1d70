"""Count, first, last, extremes and mean of every metric, without keeping a point."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from runwatch.records import Batch

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class MetricTally:
    """One metric in one unit. `count` includes the NaN; extremes and mean leave them out.

    `first` and `last` are in order of arrival. The mean is a plain running sum in that order, so
    cutting the input elsewhere does not change its last bit; None where all values are NaN.
    """

    metric: str
    unit: str | None
    count: int = 0
    nan: int = 0
    first: float = np.nan
    last: float = np.nan
    min: float | None = None
    max: float | None = None
    total: float = 0.0

    def add(self, values: Floats) -> None:
        """Take the next values, at least one."""
        if not self.count:
            self.first = float(values[0])
        self.last = float(values[-1])
        self.count += len(values)
        valid = values[~np.isnan(values)]
        self.nan += len(values) - len(valid)
        if len(valid):
            low, high = float(valid.min()), float(valid.max())
            self.min = low if self.min is None else min(low, self.min)
            self.max = high if self.max is None else max(high, self.max)
            # cumsum adds strictly in order, unlike sum, which adds in pairs.
            with np.errstate(over="ignore", invalid="ignore"):
                self.total = float(np.cumsum(np.concatenate(([self.total], valid)))[-1])

    @property
    def mean(self) -> float | None:
        """Over the values that are numbers."""
        return self.total / (self.count - self.nan) if self.count > self.nan else None

    def as_dict(self) -> dict[str, Any]:
        """The row that `parse --summary` prints."""
        names = ("metric", "unit", "count", "nan", "first", "last", "min", "max", "mean")
        return {name: getattr(self, name) for name in names}


class Tally:
    """Fed batches, knows every (metric, unit) in order of appearance.

    A metric that is printed in two units (`98 ms`, `1.2 s`) has two rows: values are not scaled.
    """

    def __init__(self) -> None:
        self.points = 0
        self.lines = 0
        self._metrics: dict[tuple[str, str | None], MetricTally] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of any stream."""
        self.lines += max(0, batch.last_line - batch.first_line + 1)
        points = batch.points
        if not points.num_rows:
            return
        self.points += points.num_rows
        metric, unit = _words(points, "metric"), _words(points, "unit")
        names = cast("list[str]", metric.dictionary.to_pylist())
        units: list[str | None] = [*unit.dictionary.to_pylist(), None]
        unit_code = unit.indices.fill_null(len(units) - 1).to_numpy(zero_copy_only=False)
        code = metric.indices.to_numpy(zero_copy_only=False).astype(np.int64) * len(units)
        code += unit_code
        values = points.column("value").to_numpy(zero_copy_only=False)
        order = np.argsort(code, kind="stable")
        starts = np.flatnonzero(np.diff(code[order], prepend=-1))
        pieces = list(zip(starts, [*starts[1:], len(order)], strict=True))
        for start, end in sorted(pieces, key=lambda piece: order[piece[0]]):
            which, how = divmod(int(code[order[start]]), len(units))
            key = names[which], units[how]
            known = self._metrics.setdefault(key, MetricTally(*key))
            known.add(values[order[start:end]])

    def metrics(self) -> list[MetricTally]:
        """One for each metric and unit, in order of appearance."""
        return list(self._metrics.values())


def _words(points: pa.RecordBatch, name: str) -> "pa.DictionaryArray[Any, Any]":
    return cast("pa.DictionaryArray[Any, Any]", points.column(name))
