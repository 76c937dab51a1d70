"""Count, first, last, extremes and mean of every metric, without keeping a point."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from runwatch.arrays import Floats
from runwatch.slotted import frozen

# Columns of a row.
COUNT, NAN, FIRST, LAST, LEAST, MOST, TOTAL = range(7)


@frozen
class MetricTally:
    """One metric in one unit. `count` includes the NaN; extremes and mean leave them out."""

    metric: str
    unit: str | None
    count: int
    nan: int
    first: float
    last: float
    min: float | None
    max: float | None
    mean: float | None

    def as_dict(self) -> dict[str, Any]:
        """The row that `parse --summary` prints."""
        return asdict(self)


class Tally:
    """Knows every (metric, unit) in order of appearance, each a row of `rows`.

    A metric that is printed in two units (`98 ms`, `1.2 s`) has two rows: values are not scaled.
    The total is a plain running sum in order of arrival, so that neither the path that a line took
    nor where the input was cut changes its last bit.
    """

    def __init__(self) -> None:
        self.rows: Floats = _empty(64)
        self._index: dict[tuple[str, str], int] = {}

    def row(self, metric: str, unit: str) -> int:
        """The number of a metric's row."""
        index = self._index.get((metric, unit))
        if index is None:
            index = self._index[metric, unit] = len(self._index)
            if index == len(self.rows):
                self.rows = np.concatenate([self.rows, _empty(len(self.rows))])
        return index

    def add(self, metric: str, unit: str, value: float) -> None:
        """Take the next value."""
        index = self.row(metric, unit)  # which may move the rows
        row = self.rows[index]
        if not row[COUNT]:
            row[FIRST] = value
        row[COUNT] += 1
        row[LAST] = value
        if math.isnan(value):
            row[NAN] += 1
        else:
            row[LEAST], row[MOST] = min(row[LEAST], value), max(row[MOST], value)
            with np.errstate(invalid="ignore", over="ignore"):
                row[TOTAL] += value

    def metrics(self) -> list[MetricTally]:
        """One for each metric and unit, in order of appearance."""
        found = []
        for (metric, unit), index in self._index.items():
            row = self.rows[index].tolist()
            valid = row[COUNT] - row[NAN]
            spread = (row[LEAST], row[MOST], row[TOTAL] / valid) if valid else (None, None, None)
            counts = int(row[COUNT]), int(row[NAN])
            found.append(MetricTally(metric, unit or None, *counts, row[FIRST], row[LAST], *spread))
        return [tally for tally in found if tally.count]


def _empty(rows: int) -> Floats:
    new = np.zeros((rows, TOTAL + 1))
    new[:, LEAST], new[:, MOST] = np.inf, -np.inf
    return new
