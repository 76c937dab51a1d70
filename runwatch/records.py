"""The Arrow schemas that flow from the parser to the detectors and the store.

`POINTS` has a row per number that the log reports as a measurement, `LINES` a row per line of
note: whatever a failure signature might be in, and what stands around it. Both belong to one
stream; `Batch` says which.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from runwatch.chunk import Stream
from runwatch.column import array
from runwatch.redact import redact

WORD: pa.DataType = pa.dictionary(pa.int32(), pa.string())
TIME: pa.DataType = pa.timestamp("us", tz="UTC")

POINTS: pa.Schema = pa.schema(
    [
        pa.field("line", pa.int64(), nullable=False),
        pa.field("time", TIME),
        pa.field("rank", pa.int32()),
        pa.field("step", pa.int64()),
        pa.field("epoch", pa.float64()),
        pa.field("metric", WORD, nullable=False),  # as it stands in the log
        pa.field("value", pa.float64(), nullable=False),
        pa.field("unit", WORD),  # as it stands in the log
        pa.field("quantity", WORD),  # what is measured, in our words: loss, lr, grad_norm…
        pa.field("segment", pa.int32(), nullable=False),  # restarts and appended runs, from 0
    ]
)

LINES = pa.schema(
    [
        pa.field("line", pa.int64(), nullable=False),
        pa.field("time", TIME),
        pa.field("rank", pa.int32()),
        pa.field("step", pa.int64()),  # the last step of the same rank before this line
        pa.field("segment", pa.int32(), nullable=False),
        pa.field("level", WORD),  # debug, info, warning, error, critical, where the line says one
        pa.field("block", WORD, nullable=False),  # text, traceback, code
        pa.field("text", pa.string(), nullable=False),  # without prefixes and colours
        pa.field("raw", pa.string(), nullable=False),  # the whole line, without colours
    ]
)


@dataclass(frozen=True, slots=True)
class Batch:
    """What one chunk of one stream said: `points` in POINTS, `lines` in LINES, in line order.

    `first_line`/`last_line` bound the lines read (last < first where none was completed).
    `progress` has the last step of each rank and its line, bars and bare counters included;
    `total_steps` and `total_epochs` are what the log announced so far about its own length.
    `given_up` marks what the end of the input gave: half a line, an open table, which come again
    when more is written. `clean` says that its texts were seen by `redacted`.
    """

    stream: Stream
    points: pa.RecordBatch
    lines: pa.RecordBatch
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
        if self.clean or not lines.num_rows:
            return self
        for name in ("text", "raw"):
            column: Any = lines.column(name)
            texts = [redact(text) for text in column.to_pylist()]
            at = lines.schema.get_field_index(name)
            lines = lines.set_column(at, LINES.field(name), array(texts, pa.string()))
        return replace(self, lines=lines, clean=True)
