"""Tables: aligned for people, CSV, JSON and Parquet for programs."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from runwatch.cli.report.text import clean, shorten
from runwatch.plain import counted

if TYPE_CHECKING:
    import pyarrow as pa

CELL = 60  # characters of a cell that people want to see


def aligned(names: Sequence[str], rows: Sequence[Sequence[Any]], *, cell: int = CELL) -> str:
    """Columns under their names, numbers to the right; an empty cell is no value."""
    names = [clean(name) for name in names]
    table = [[_cell(value, cell) for value in row] for row in rows]
    right = [_numeric([row[i] for row in rows]) for i in range(len(names))]
    widths = [max(len(row[i]) for row in [names, *table]) for i in range(len(names))]

    def line(cells: Sequence[str]) -> str:
        parts = (
            text.rjust(wide) if to_right else text.ljust(wide)
            for text, wide, to_right in zip(cells, widths, right, strict=True)
        )
        return "  ".join(parts).rstrip()

    rule = "  ".join("─" * wide for wide in widths)
    return "\n".join([line(names), rule, *(line(row) for row in table)]) + "\n"


def brief(value: float) -> str:
    """A number for people: six significant digits, plain where plain is short."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6g}"


def apart(names: Sequence[str]) -> list[str]:
    """The names, each of them once: `loss`, `loss_1`, as DuckDB names the columns of its JSON."""
    used: set[str] = set()
    told = []
    for name in names:
        free, number = name, 0
        while free.lower() in used:
            number += 1
            free = f"{name}_{number}"
        used.add(free.lower())
        told.append(free)
    return told


def _cell(value: Any, room: int) -> str:
    from datetime import datetime

    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return brief(value)
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return shorten(clean(str(value)), room)


def _numeric(column: Sequence[Any]) -> bool:
    from decimal import Decimal

    kinds = (int, float, Decimal)
    present = [value for value in column if value is not None]
    return bool(present) and all(
        isinstance(value, kinds) and not isinstance(value, bool) for value in present
    )


def _people(table: "pa.Table", out: BinaryIO) -> None:
    if not table.num_columns:
        return  # a statement that answers nothing, such as SET
    rows = list(zip(*map(_values, table.columns), strict=True))
    text = aligned(table.column_names, rows)
    count = counted(len(rows), "row")
    out.write(f"{text}({count})\n".encode())


def _values(column: "pa.ChunkedArray[Any]") -> list[Any]:
    """As Python has them; a map becomes a dictionary."""
    values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    return values


def _csv(table: "pa.Table", out: BinaryIO) -> None:
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, quoting_style="needed")
    out.write(",".join(map(_quoted, table.column_names)).encode() + b"\n")
    if table.num_rows:
        csv.write_csv(_flat(table), out, options)


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"' if any(mark in name for mark in ',"\r\n') else name


def _flat(table: "pa.Table") -> "pa.Table":
    """Lists, structs and other types that CSV does not know, as JSON or plain text."""
    import pyarrow as pa

    from runwatch.cli.report.document import document

    for i, field in enumerate(table.schema):
        column = table.column(i)
        if pa.types.is_nested(field.type):
            cells = [
                None if cell is None else document(cell, indent=False).decode().rstrip()
                for cell in _values(column)
            ]
            table = table.set_column(i, field.name, pa.array(cells, pa.string()))
        elif pa.types.is_decimal(field.type) or pa.types.is_interval(field.type):
            cells = [None if cell is None else str(cell) for cell in column.to_pylist()]
            table = table.set_column(i, field.name, pa.array(cells, pa.string()))
    return table


def _json(table: "pa.Table", out: BinaryIO) -> None:
    from runwatch.cli.report.document import document

    columns = [_values(column) for column in table.columns]
    names = apart(table.column_names)
    rows = zip(*columns, strict=True)
    out.write(document([dict(zip(names, row, strict=True)) for row in rows]))


def _parquet(table: "pa.Table", out: BinaryIO) -> None:
    from pyarrow import parquet

    # Arrow writes columns of one name, but does not read them.
    named = table.rename_columns(apart(table.column_names))
    parquet.write_table(named, out, compression="zstd")


FORMATS: dict[str, Callable[["pa.Table", BinaryIO], None]] = {
    "table": _people,
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
}
