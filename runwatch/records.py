"""The columns that flow from the parser to the detectors and the store.

`POINTS` has a row per number that the log reports as a measurement, `LINES` a row per line of
note: whatever a failure signature might be in, and what stands around it. Both belong to one
stream; `Batch` says which.
"""

from dataclasses import field, replace

from runwatch.chunk import Stream
from runwatch.column import Column, Frame, Kind
from runwatch.redact import redact
from runwatch.slotted import frozen

POINTS: dict[str, Kind] = {
    "line": "int64",
    "time": "time",  # or null
    "rank": "int32",  # or null
    "step": "int64",  # or null
    "epoch": "float64",  # or null
    "metric": "word",  # as it stands in the log
    "value": "float64",
    "unit": "word",  # as it stands in the log, or null
    "quantity": "word",  # what is measured, in our words: loss, lr, grad_norm…, or null
    "segment": "int32",  # restarts and appended runs, from 0
}

LINES: dict[str, Kind] = {
    "line": "int64",
    "time": "time",  # or null
    "rank": "int32",  # or null
    "step": "int64",  # the last step of the same rank before this line, or null
    "segment": "int32",
    "level": "word",  # debug, info, warning, error, critical, where the line says one, or null
    "block": "word",  # text, traceback, code
    "text": "text",  # without prefixes and colours
    "raw": "text",  # the whole line, without colours
}


@frozen
class Batch:
    """What one chunk of one stream said: `points` in POINTS, `lines` in LINES, in line order.

    `first_line`/`last_line` bound the lines read (last < first where none was completed).
    `progress` has the last step of each rank and its line, bars and bare counters included;
    `total_steps` and `total_epochs` are what the log announced so far about its own length.
    `given_up` marks what the end of the input gave: half a line, an open table, which come again
    when more is written. `clean` says that its texts were seen by `redacted`.
    """

    stream: Stream
    points: Frame
    lines: Frame
    first_line: int
    last_line: int
    progress: dict[int | None, tuple[int, int]] = field(default_factory=dict)
    total_steps: int | None = None
    total_epochs: int | None = None
    given_up: bool = False
    clean: bool = False

    def redacted(self) -> "Batch":
        """The batch with lines of note that hold no secrets; a clean one is given back as it is."""
        lines = self.lines
        if self.clean or not len(lines):
            return self
        cleaned = {
            name: Column("text", [redact(text) for text in lines.column(name).values])
            for name in ("text", "raw")
        }
        return replace(self, lines=lines.with_columns(**cleaned), clean=True)
