"""Checks of runs, as `runwatch check` keeps them: a row each, and what the next one needs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runwatch.store.opening import first_row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ADDED = ("decided_by", "action", "details")  # columns that the first histories do not have


def last(connection: DuckDBPyConnection, run: str) -> dict[str, Any] | None:
    """The newest check of the run: its details, and `last_seen` of the run; None without both."""
    seen = first_row(connection, "SELECT last_seen FROM stored_rows.runs WHERE run = ?", [run])
    row = None
    if _complete(connection):
        row = first_row(
            connection,
            """SELECT details FROM stored_rows.checks WHERE run = ? AND details IS NOT NULL
            ORDER BY time DESC, rowid DESC LIMIT 1""",
            [run],
        )
    if seen is None and row is None:
        return None
    details: dict[str, Any] = json.loads(row[0]) if row else {}
    return {**details, "last_seen": seen[0] if seen else None}


def put(connection: DuckDBPyConnection, told: Mapping[str, Any]) -> None:
    """Write a check; one of the same run and time is replaced."""
    if not _complete(connection):
        _complete_now(connection)
    key = [told["run"], told["at"]]
    connection.execute(
        "DELETE FROM stored_rows.checks WHERE run = ? AND time = ?::TIMESTAMPTZ", key
    )
    connection.execute(
        """INSERT INTO stored_rows.checks BY NAME
        SELECT ?::TIMESTAMPTZ AS time, ? AS run, ? AS target, ? AS judgement, ? AS reason,
            ? AS interval_s, ?::TIMESTAMPTZ AS next_due, ? AS decided_by, ? AS action, ? AS details
        """,
        [
            told["at"], told["run"], told["target"], told["judgement"], told["reason"],
            told["interval_seconds"], told["next_due"], told["decided_by"], told["action"],
            json.dumps(_strict(told), allow_nan=False),
        ],
    )  # fmt: skip


def _strict(value: Any) -> Any:
    """JSON that DuckDB reads too: it knows no NaN, so that is a text, as in all our JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(inner) for inner in value]
    return value


def _complete(connection: DuckDBPyConnection) -> bool:
    row = first_row(
        connection,
        """SELECT count(*) FROM duckdb_columns()
        WHERE schema_name = 'stored_rows' AND table_name = 'checks' AND column_name = 'details'""",
    )
    return bool(row and row[0])


def _complete_now(connection: DuckDBPyConnection) -> None:
    """Give a history of before the columns that it lacks; nobody had written checks then."""
    for name in ADDED:
        connection.execute(f"ALTER TABLE stored_rows.checks ADD COLUMN {name} VARCHAR")
    connection.execute("CREATE OR REPLACE VIEW checks AS SELECT * FROM stored_rows.checks")
