"""A line of note, and where its stream stood when it came."""

from collections.abc import Iterator

from runwatch.column import Frame
from runwatch.slotted import mutable

_SEEN_CHARACTERS = 3000


@mutable
class Note:
    """One row of LINES. `at`, `clock` and `far` are filled in by who reads the stream."""

    line: int
    time: int | None  # microseconds
    rank: int | None
    step: int | None
    segment: int
    text: str
    raw: str
    at: int = 0  # advances of the stream so far
    clock: int = 0  # the latest time that the stream has shown
    far: int = -1  # the furthest place of the stream


def notes(lines: Frame) -> Iterator[Note]:
    """The rows of a batch in LINES, huge ones cut to their two ends."""
    if not len(lines):
        return
    told = ("line", "time", "rank", "step", "segment")
    columns = [lines.column(name).tolist() for name in told]
    texts = [[_clipped(text) for text in lines.column(name).values] for name in ("text", "raw")]
    for values in zip(*columns, *texts, strict=True):
        yield Note(*values)


def _clipped(text: str) -> str:
    """Both ends of a line that redraws made huge: its news stand last, its prefix first."""
    if len(text) <= _SEEN_CHARACTERS:
        return text
    return text[: _SEEN_CHARACTERS // 2] + " " + text[-_SEEN_CHARACTERS // 2 :]
