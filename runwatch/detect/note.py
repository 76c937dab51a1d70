"""A line of note, and where its stream stood when it came."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

_SEEN_CHARACTERS = 3000


@dataclass(slots=True)
class Note:
    """One row of LINES. `at` and `clock` are filled in by who reads the stream."""

    line: int
    time: int | None  # microseconds
    rank: int | None
    step: int | None
    segment: int
    text: str
    raw: str
    at: int = 0  # advances of the stream so far
    clock: int = 0  # the latest time that the stream has shown


def notes(lines: pa.RecordBatch) -> Iterator[Note]:
    """The rows of a batch in LINES, huge ones cut to their two ends."""
    columns = [lines.column("line").to_pylist(), lines.column("time").view(pa.int64()).to_pylist()]
    columns += [lines.column(name).to_pylist() for name in ("rank", "step", "segment")]
    texts = [[_clipped(str(t)) for t in lines.column(n).to_pylist()] for n in ("text", "raw")]
    for values in zip(*columns, *texts, strict=True):
        yield Note(*values)


def _clipped(text: str) -> str:
    """Both ends of a line that redraws made huge: its news stand last, its prefix first."""
    if len(text) <= _SEEN_CHARACTERS:
        return text
    return text[: _SEEN_CHARACTERS // 2] + " " + text[-_SEEN_CHARACTERS // 2 :]
