"""Rows handed to DuckDB many at a time: thousands of them one by one would cost it seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from runwatch.column import Frame

FEW = 2_000  # rows that are handed over as lists sooner than Arrow is loaded
_TYPES = {
    "int32": "INTEGER", "int64": "BIGINT", "float64": "DOUBLE", "time": "TIMESTAMPTZ",
    "text": "VARCHAR", "flag": "BOOLEAN",
}  # fmt: skip


@contextmanager
def incoming(connection: DuckDBPyConnection, frame: Frame) -> Iterator[tuple[str, list[Any]]]:
    """What to select the rows of a frame from, in their order, and its parameters. The frame has
    no column of words."""
    if len(frame) <= FEW and "pyarrow" not in sys.modules:
        yield as_lists(frame)
        return
    import duckdb  # noqa: F401 its package reads Arrow, the engine alone does not

    from runwatch.arrow import record_batch

    connection.register("incoming", record_batch(frame))
    try:
        yield "incoming", []
    finally:
        connection.unregister("incoming")


def as_lists(frame: Frame) -> tuple[str, list[Any]]:
    """What to select the rows of a frame from where Arrow is not loaded, and its parameters."""
    columns = {name: frame.column(name) for name in frame}
    return listed({name: (_TYPES[c.kind], c.tolist()) for name, c in columns.items()})


def listed(columns: Mapping[str, tuple[str, Sequence[Any]]]) -> tuple[str, list[Any]]:
    """What to select these rows from, and its parameters. A column is its type in SQL and its
    values: None for null, of TIMESTAMPTZ microseconds, of texts what is no text as a question
    mark."""
    named = ", ".join(f"{_unnested(kind)} AS {name}" for name, (kind, _) in columns.items())
    return f"(SELECT {named})", [_plain(values) for _, values in columns.values()]


def _unnested(kind: str) -> str:
    if kind == "TIMESTAMPTZ":
        return "make_timestamptz(unnest(?::BIGINT[]))"
    return f"unnest(?::{kind}[])"


def _plain(values: Any) -> Any:
    if isinstance(values, str):
        return values.encode("utf-8", "replace").decode()
    if isinstance(values, list | tuple):
        return [_plain(value) for value in values]
    return values
