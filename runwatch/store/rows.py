"""Batches turned into the rows that are stored, before the file is opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from runwatch.redact import redact
from runwatch.slotted import frozen

if TYPE_CHECKING:
    from runwatch.column import Column, Frame
    from runwatch.records import Batch

# stream, rank, metric, unit, quantity: what all the points of a series share
Series: TypeAlias = tuple[str, int | None, str, str | None, str | None]

TEXT_LIMIT = 10_000  # characters kept of one line


@frozen
class Rows:
    """`points` name their series by its place in `series`; Counters are by stream name."""

    series: Sequence[Series]
    points: Frame | None
    lines: Frame | None
    ranks: Mapping[str, int | None]
    point_counts: Mapping[str, int]
    tail_counts: Mapping[str, int]
    last_lines: Mapping[str, int]


def rows(batches: Iterable[Batch]) -> Rows:
    """What the batches hold, rows that will come again marked as tail.

    No secret is kept, whoever flushes. Lines that the analysis has cleaned are not read again.
    """
    from runwatch.column import joined

    numbers: dict[Series, int] = {}
    points, lines = [], []
    ranks: dict[str, int | None] = {}
    point_counts, tail_counts = Counter[str](), Counter[str]()
    last_lines: dict[str, int] = {}
    for batch in (batch.redacted() for batch in batches):
        stream, size = batch.stream.name, len(batch.points)
        ranks[stream] = batch.stream.rank
        if batch.last_line >= batch.first_line:
            last_lines[stream] = batch.last_line
        if size:
            (tail_counts if batch.given_up else point_counts)[stream] += size
            points.append(_points(batch, numbers))
            last_lines.setdefault(stream, 0)
        if len(batch.lines):
            lines.append(_lines(batch))
            last_lines.setdefault(stream, 0)
    return Rows(
        series=list(numbers),
        points=joined(points) if points else None,
        lines=joined(lines) if lines else None,
        ranks=ranks,
        point_counts=point_counts,
        tail_counts=tail_counts,
        last_lines=last_lines,
    )


def _points(batch: Batch, numbers: dict[Series, int]) -> Frame:
    from runwatch.column import Column, Frame

    kept = ("line", "time", "step", "epoch", "value", "segment")
    columns = {name: batch.points.column(name) for name in kept}
    tail = Column.repeated("flag", batch.given_up, len(batch.points))
    return Frame({"series": _series(batch, numbers), **columns, "tail": tail})


def _series(batch: Batch, numbers: dict[Series, int]) -> Column:
    """The number of each point's series; new ones are added to `numbers`.

    The four columns are packed into one integer, as digits to the bases of their sizes, because
    hashing one integer a point is several times faster than joining on four texts.
    """
    import numpy as np

    from runwatch.column import Column, distinct

    ranks = batch.points.column("rank").numbers(-1)
    present = distinct(ranks)
    packed = np.searchsorted(present, ranks).astype(np.int64)
    texts: list[list[Any]] = [[None if rank < 0 else rank for rank in present.tolist()]]
    for name in ("metric", "unit", "quantity"):
        column = batch.points.column(name)
        texts.append([None, *column.words])  # 0 stands for null
        packed = packed * len(texts[-1]) + column.numbers(-1) + 1
    found = distinct(packed)
    local = np.array(
        [
            numbers.setdefault(_key(batch.stream.name, texts, number), len(numbers))
            for number in found.tolist()
        ],
        np.int32,
    )
    return Column("int32", local[np.searchsorted(found, packed)])


def _key(stream: str, texts: Sequence[Sequence[Any]], packed: int) -> Series:
    values = []
    for column in reversed(texts):
        packed, digit = divmod(packed, len(column))
        values.append(column[digit])
    quantity, unit, metric, rank = values
    return stream, rank, redact(metric), unit and redact(unit), quantity


def _lines(batch: Batch) -> Frame:
    from runwatch.column import Column, Frame

    lines = batch.lines
    kept = ("line", "time", "rank", "step", "segment")
    columns = {
        "stream": Column.repeated("text", batch.stream.name, len(lines)),
        **{name: lines.column(name) for name in kept},
        "level": Column.of("text", lines.column("level").tolist()),
        "text": Column("text", [kept_text(text) for text in lines.column("text").values]),
        "tail": Column.repeated("flag", batch.given_up, len(lines)),
    }
    return Frame(columns)


def kept_text(text: str) -> str:
    """What is stored of a line: not more of it than a person would read."""
    if len(text) > TEXT_LIMIT:
        return f"{text[:TEXT_LIMIT]}… ({len(text) - TEXT_LIMIT} more characters)"
    return text
