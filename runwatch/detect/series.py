"""A batch's points as series: for each metric and rank the rows that measure it, as arrays.

Detectors ask for the quantities they judge and get `Rows`, cut at segment boundaries. Running
averages (`<metric>.avg`) are left out: they repeat a past that the current values have told
already, and one overflow keeps them at inf for good.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from runwatch.records import Batch

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NOTHING = np.iinfo(np.int64).min  # a null step, time or rank


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a batch as arrays; nulls are NOTHING, or NaN for the epoch."""

    line: Ints
    time: Ints
    rank: Ints
    step: Ints
    epoch: Floats
    value: Floats
    segment: Ints
    metric: Ints
    quantity: Ints  # index into `quantities`, -1 for null
    metrics: list[str]
    quantities: list[str]
    known: dict[str, "list[Rows]"]  # the series by quantity, as far as they were asked for


@dataclass(frozen=True, slots=True)
class Rows:
    """What one metric of one rank measured within one segment, in line order."""

    stream: str
    metric: str
    rank: int | None
    quantity: str
    segment: int
    line: Ints
    time: Ints
    step: Ints
    epoch: Floats
    value: Floats

    def __len__(self) -> int:
        return len(self.line)

    @property
    def key(self) -> str:
        """Names the series within a run; plain text, so that it can be a key in JSON."""
        return f"{self.stream}\0{self.metric}\0{'' if self.rank is None else self.rank}"

    def place(self, i: int) -> dict[str, Any]:
        """Where row `i` stands, as plain JSON values."""
        return {
            "stream": self.stream,
            "metric": self.metric,
            "rank": self.rank,
            "line": int(self.line[i]),
            "step": None if self.step[i] == NOTHING else int(self.step[i]),
            "time": None if self.time[i] == NOTHING else int(self.time[i]),
        }

    def tail(self, end: int, before: list[list[float]], size: int = 10) -> list[list[float]]:
        """The last (step, value) pairs up to row `end`, continuing those of earlier batches.

        Where steps are not known the line stands in for the step.
        """
        begin = max(0, end - size)
        at = np.where(self.step == NOTHING, self.line, self.step)[begin:end].tolist()
        pairs = [
            [float(a), v]
            for a, v in zip(at, self.value[begin:end].tolist(), strict=True)
            if v - v == 0.0
        ]
        return (before + pairs)[-size:]

    def finite(self) -> "Rows":
        """The rows whose value is a number."""
        return self.only(np.isfinite(self.value))

    def only(self, keep: npt.NDArray[np.bool_]) -> "Rows":
        """The rows where `keep` is true."""
        if keep.all():
            return self
        return Rows(
            self.stream,
            self.metric,
            self.rank,
            self.quantity,
            self.segment,
            self.line[keep],
            self.time[keep],
            self.step[keep],
            self.epoch[keep],
            self.value[keep],
        )


def series(batch: Batch, *quantities: str) -> Iterator[Rows]:
    """The series of these quantities in the batch, one quantity after the other."""
    table = columns(batch.points)
    for quantity in quantities:
        known = table.known.get(quantity)
        if known is None:
            known = table.known[quantity] = list(_rows(batch, table, quantity))
        yield from known


def _rows(batch: Batch, table: Columns, quantity: str) -> Iterator[Rows]:
    """The series of one quantity, in the order in which they first appear."""
    if quantity not in table.quantities:
        return
    picked = np.flatnonzero(table.quantity == table.quantities.index(quantity))
    if not len(picked):
        return
    for rows in _groups(table, picked):
        metric = table.metrics[int(table.metric[rows[0]])]
        if metric.endswith(".avg"):
            continue
        cuts = np.flatnonzero(np.diff(table.segment[rows])) + 1
        for part in np.split(rows, cuts) if len(cuts) else [rows]:
            rank = int(table.rank[part[0]])
            yield Rows(
                batch.stream.name,
                metric,
                batch.stream.rank if rank == NOTHING else rank,
                quantity,
                int(table.segment[part[0]]),
                table.line[part],
                table.time[part],
                table.step[part],
                table.epoch[part],
                table.value[part],
            )


def _groups(table: Columns, picked: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    """The picked rows by metric and rank."""
    metric, rank = table.metric[picked], table.rank[picked]
    if (metric == metric[0]).all() and (rank == rank[0]).all():
        return [picked]
    codes = metric * (1 << 32) + np.where(rank == NOTHING, (1 << 32) - 1, rank)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    parts = np.split(picked[order], np.cumsum(np.bincount(inverse))[:-1])
    return [parts[i] for i in np.argsort(first, kind="stable")]


def distinct(rows: Rows, last: list[float | None] | None) -> tuple[Rows, list[float | None]]:
    """The rows without repetitions of a step, and what to pass as `last` for the next ones.

    Several loggers print the same step; steps count, not lines. Where the log tells no step every
    row counts, and a value that turns non-finite within a step is no repetition.
    """
    finite = np.isfinite(rows.value)
    step = np.concatenate(([NOTHING], rows.step[:-1]))
    epoch = np.concatenate(([np.nan], rows.epoch[:-1]))
    before = np.concatenate(([True], finite[:-1]))
    if last is not None and last[0] is not None:
        step[0], before[0] = int(last[0]), bool(last[2])
        epoch[0] = np.nan if last[1] is None else last[1]
    same = (rows.step != NOTHING) & (rows.step == step) & (finite == before)
    same &= (rows.epoch == epoch) | (np.isnan(rows.epoch) & np.isnan(epoch))
    end: list[float | None] = [
        None if rows.step[-1] == NOTHING else int(rows.step[-1]),
        None if np.isnan(rows.epoch[-1]) else float(rows.epoch[-1]),
        float(finite[-1]),
    ]
    return rows.only(~same), end


_latest: tuple[pa.RecordBatch, Columns] | None = None


def columns(points: pa.RecordBatch) -> Columns:
    """The batch's columns as arrays. All detectors ask for the same batch in turn, so the last
    answer is kept."""
    global _latest
    if _latest is not None and _latest[0] is points:
        return _latest[1]
    metric: Any = points.column("metric")
    quantity: Any = points.column("quantity")
    table = Columns(
        _ints(points.column("line")),
        _ints(points.column("time").view(pa.int64())),
        _ints(points.column("rank")),
        _ints(points.column("step")),
        points.column("epoch").fill_null(float("nan")).to_numpy(zero_copy_only=False),
        points.column("value").to_numpy(zero_copy_only=False),
        _ints(points.column("segment")),
        _ints(metric.indices),
        _ints(quantity.indices.fill_null(-1)),
        metric.dictionary.to_pylist(),
        quantity.dictionary.to_pylist(),
        {},
    )
    _latest = points, table
    return table


def _ints(column: Any) -> Ints:
    if column.null_count:
        column = column.cast(pa.int64()).fill_null(NOTHING)
    numbers: Ints = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers
