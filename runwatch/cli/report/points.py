"""Points as CSV, JSON lines, Parquet or an Arrow stream, batch by batch in flat memory.

Every value comes back to the last bit: CSV holds the shortest text that reads as the same
number, with `nan`, `inf` and `-inf`; JSON lines hold strings for those three (see `document`).
"""

from collections.abc import Callable
from io import IOBase
from typing import Any, BinaryIO, Protocol, cast

import pyarrow as pa

from runwatch.arrow import TYPES, array
from runwatch.records import Batch

_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("stream", pa.string(), nullable=False),
    pa.field("line", pa.int64(), nullable=False),
    pa.field("time", TYPES["time"]),
    pa.field("rank", pa.int32()),
    pa.field("step", pa.int64()),
    pa.field("epoch", pa.float64()),
    pa.field("metric", pa.string(), nullable=False),
    pa.field("value", pa.float64(), nullable=False),
    pa.field("unit", pa.string()),
]
SCHEMA: pa.Schema = pa.schema(_FIELDS)


class Writer(Protocol):
    """Takes record batches of SCHEMA; `close` completes the format, not the file."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write one batch."""

    def close(self) -> None:
        """Write what comes at the end."""


def rows(batch: Batch, stream: str) -> pa.RecordBatch:
    """The points of a batch as SCHEMA, under the stream's name."""
    columns: list[Any] = [pa.repeat(pa.scalar(stream, pa.string()), len(batch.points))]
    for field in _FIELDS[1:]:
        column = array(batch.points.column(field.name))
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


class _Csv:
    def __init__(self, out: BinaryIO) -> None:
        from pyarrow import csv

        out.write(",".join(SCHEMA.names).encode() + b"\n")
        # "needed" quotes text always and numbers never, so an empty unit differs from none.
        options = csv.WriteOptions(include_header=False, quoting_style="needed")
        self._csv = csv.CSVWriter(out, SCHEMA, write_options=options)

    def write(self, batch: pa.RecordBatch) -> None:
        self._csv.write(batch)

    def close(self) -> None:
        self._csv.close()


class _JsonLines:
    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, batch: pa.RecordBatch) -> None:
        import orjson

        from runwatch.cli.report.document import inert, number

        option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
        for row in batch.to_pylist():
            row["value"], row["epoch"] = number(row["value"]), number(row["epoch"])
            self._out.write(inert(orjson.dumps(row, option=option)))

    def close(self) -> None:
        """JSON lines have no end."""


class _Parquet:
    ROWS = 1 << 18  # a row group; smaller ones cost space and reading speed

    def __init__(self, out: BinaryIO) -> None:
        from pyarrow import parquet

        self._parquet = parquet.ParquetWriter(out, SCHEMA, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._count += batch.num_rows
        if self._count >= self.ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._parquet.close()

    def _flush(self) -> None:
        if self._waiting:
            self._parquet.write_table(pa.Table.from_batches(self._waiting).combine_chunks())
        self._waiting, self._count = [], 0


def _arrow(out: BinaryIO) -> Writer:
    return cast("Writer", pa.ipc.new_stream(cast("IOBase", out), SCHEMA))


WRITERS: dict[str, Callable[[BinaryIO], Writer]] = {
    "csv": _Csv,
    "jsonl": _JsonLines,
    "parquet": _Parquet,
    "arrow": _arrow,
}
