"""Batches as a parser would give them, written by hand or drawn at random."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from runwatch.chunk import Stream
from runwatch.detect import Columns
from runwatch.records import LINES, POINTS, Batch
from tests.frames import frame

DETECTORS = (
    "nonfinite",
    "vanished",
    "spike",
    "divergence",
    "runaway",
    "gradient",
    "loss_scale",
    "throughput",
    "stall",
    "plateau",
    "overfit",
    "learning_rate",
    "straggler",
    "ranks",
    "agreement",
)
NAN = float("nan")
INF = float("inf")


@dataclass(frozen=True)
class Record:
    """One line of a log: `values` are (metric, quantity, value)."""

    line: int
    values: tuple[tuple[str, str | None, float], ...] = ()
    step: int | None = None
    epoch: float | None = None
    rank: int | None = None
    segment: int = 0
    seconds: float | None = None
    note: str | None = None


def record(line: int, /, note: str | None = None, **given: Any) -> Record:
    """A record with its measurements as `loss=2.0`; the quantity is the metric's name unless the
    value is a pair (quantity, value)."""
    where = {
        name: given.pop(name)
        for name in ("step", "epoch", "rank", "segment", "seconds")
        if name in given
    }
    values = tuple(
        (metric, *value) if isinstance(value, tuple) else (metric, metric, float(value))
        for metric, value in given.items()
    )
    return Record(line, values, note=note, **where)


def losses(values: list[float], start: int = 1, **more: Any) -> list[Record]:
    """A record for each loss, at consecutive lines and steps."""
    return [record(start + i, step=start + i, loss=value, **more) for i, value in enumerate(values)]


def batch(records: list[Record], stream: str = "log") -> Batch:
    """All these records as one batch."""
    rows = [(r, metric, quantity, value) for r in records for metric, quantity, value in r.values]
    columns: dict[str, list[Any]] = {
        "line": [r.line for r, *_ in rows],
        "time": [_time(r) for r, *_ in rows],
        "rank": [r.rank for r, *_ in rows],
        "step": [r.step for r, *_ in rows],
        "epoch": [r.epoch for r, *_ in rows],
        "metric": [metric for _, metric, _, _ in rows],
        "value": [value for *_, value in rows],
        "unit": [None for _ in rows],
        "quantity": [quantity for _, _, quantity, _ in rows],
        "segment": [r.segment for r, *_ in rows],
    }
    notes = [r for r in records if r.note is not None]
    lines: dict[str, list[Any]] = {
        "line": [r.line for r in notes],
        "time": [_time(r) for r in notes],
        "rank": [r.rank for r in notes],
        "step": [r.step for r in notes],
        "segment": [r.segment for r in notes],
        "level": [None for _ in notes],
        "block": ["text" for _ in notes],
        "text": [r.note for r in notes],
        "raw": [r.note for r in notes],
    }
    numbers = [r.line for r in records] or [0]
    return Batch(
        Stream(stream),
        frame(POINTS, columns),
        frame(LINES, lines),
        min(numbers),
        max(numbers),
    )


def _time(r: Record) -> datetime | None:
    return None if r.seconds is None else datetime.fromtimestamp(1_700_000_000 + r.seconds, UTC)


def detector(name: str) -> Any:
    """A fresh detector of that name."""
    return import_module(f"runwatch.detect.{name}").Detector()


def feed(watching: Any, records: list[Record]) -> None:
    """Hand these records to a detector as one batch."""
    whole = batch(records)
    watching.feed(whole, Columns(whole))


def found(name: str, *batches: Batch) -> list[Any]:
    """What the detector of that name says after these batches."""
    watching = detector(name)
    for each in batches:
        watching.feed(each, Columns(each))
    return list(watching.findings())


def summary(name: str, records: list[Record]) -> list[tuple[str, str, str, int]]:
    """Kind, severity, state and line of what a detector finds in these records."""
    return [(f.kind, f.severity.value, f.state.value, f.line) for f in found(name, batch(records))]


def pieces(records: list[Record], cuts: set[int]) -> Iterator[Batch]:
    """The records as several batches, cut before these indices."""
    edges = sorted({0, len(records), *(c for c in cuts if c < len(records))})
    for begin, end in itertools.pairwise(edges):
        yield batch(records[begin:end])


def at_rank(records: list[Record], rank: int) -> list[Record]:
    """The same records, told by a rank."""
    return [replace(r, rank=rank) for r in records]
