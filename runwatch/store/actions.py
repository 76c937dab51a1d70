"""What was done about runs, a row each: the table behind the view `actions`.

They stay when a run is read anew: that a training was started again is true of the training, not
of one reading of its log. The first histories lack the view: it is empty until they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_KEPT = ("kind", "why", "command", "step", "finding", "outcome")
_TYPES = {
    "run": "VARCHAR", "time": "TIMESTAMPTZ", **dict.fromkeys(_KEPT, "VARCHAR"), "step": "BIGINT",
}  # fmt: skip
_EPOCH = datetime.fromtimestamp(0, UTC)


def lay_out(connection: DuckDBPyConnection) -> None:
    """Table and view, where they are missing."""
    if not _are_there(connection):
        columns = ", ".join(f"{name} {kind}" for name, kind in _TYPES.items())
        connection.execute(f"CREATE TABLE stored_rows.actions ({columns})")
        connection.execute("CREATE VIEW actions AS SELECT * FROM stored_rows.actions")


def stand_in(connection: DuckDBPyConnection) -> None:
    """An empty view for a history that lacks it and is only read."""
    if not _are_there(connection):
        columns = ", ".join(f"NULL::{kind} AS {name}" for name, kind in _TYPES.items())
        connection.execute(f"CREATE TEMP VIEW actions AS SELECT {columns} LIMIT 0")


def put(connection: DuckDBPyConnection, run: str, told: Sequence[Mapping[str, Any]]) -> None:
    """Write actions of a run, each in place of one of the same kind and time: what came of it may
    be known later only. What is there as it is told is left alone."""
    if not told:
        return
    lay_out(connection)
    kept = of(connection, run)
    for one in told:
        if one in kept:
            continue
        connection.execute(
            "DELETE FROM stored_rows.actions WHERE run = ? AND time = ?::TIMESTAMPTZ AND kind = ?",
            [run, one["at"], one["kind"]],
        )
        connection.execute(
            "INSERT INTO stored_rows.actions VALUES (?, ?::TIMESTAMPTZ, ?, ?, ?, ?, ?, ?)",
            [run, one["at"], *(one[name] for name in _KEPT)],
        )


def of(connection: DuckDBPyConnection, run: str) -> list[dict[str, Any]]:
    """The actions of a run in the order of their times, as a summary tells them."""
    found = connection.execute(
        f"SELECT epoch_us(time), {', '.join(_KEPT)} FROM actions WHERE run = ? ORDER BY time",  # noqa: S608 names of ours
        [run],
    ).fetchall()
    times = [(_EPOCH + timedelta(microseconds=row[0])).isoformat() for row in found]
    return [
        {**dict(zip(_KEPT, row[1:], strict=True)), "at": at}
        for at, row in zip(times, found, strict=True)
    ]


def _are_there(connection: DuckDBPyConnection) -> bool:
    found = connection.execute("SELECT 1 FROM duckdb_views() WHERE view_name = 'actions'")
    return bool(found.fetchall())
