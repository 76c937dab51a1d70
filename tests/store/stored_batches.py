"""Small batches as the parser would make them, for the tests of the store."""

from collections.abc import Sequence
from typing import Any

from runwatch.chunk import Cursor, Stream
from runwatch.records import LINES, POINTS, Batch
from tests.frames import frame

METRICS = ("loss", "lr")


def batch(
    first: int,
    last: int,
    stream: str = "train.log",
    rank: int | None = 0,
    noted: Sequence[tuple[int, str]] = (),
) -> Batch:
    """Two points a line, whose values follow from the line, and the noted lines."""
    lines = [line for line in range(first, last + 1) for _ in METRICS]
    points: dict[str, list[Any]] = {
        "line": lines,
        "time": [1_700_000_000_000_000 + line for line in lines],
        "rank": [rank] * len(lines),
        "step": [10 * line for line in lines],
        "epoch": [None] * len(lines),
        "metric": list(METRICS) * (last - first + 1),
        "value": [line + index / 4 for line in range(first, last + 1) for index in (0, 1)],
        "unit": [None, "k"] * (last - first + 1),
        "quantity": list(METRICS) * (last - first + 1),
        "segment": [0] * len(lines),
    }
    note: dict[str, list[Any]] = {
        "line": [line for line, _ in noted],
        "time": [None for _ in noted],
        "rank": [rank for _ in noted],
        "step": [line for line, _ in noted],
        "segment": [0 for _ in noted],
        "level": ["error" for _ in noted],
        "block": ["text" for _ in noted],
        "text": [text for _, text in noted],
        "raw": [text for _, text in noted],
    }
    return Batch(
        Stream(stream, rank),
        frame(POINTS, points),
        frame(LINES, note),
        first,
        last,
    )


def cursor(lines: int, identity: str = "dev:ino:head") -> Cursor:
    """Up to the end of that line; every line has a hundred bytes."""
    return Cursor(identity, offset=100 * lines, lines=lines)
