"""What can be asked of the history. The connection is read-only and shut off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runwatch.chunk import Cursor
from runwatch.errors import QueryError
from runwatch.store import actions
from runwatch.store.opening import first_row
from runwatch.store.past import Past
from runwatch.store.trouble import interrupted

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

VIEWS = ("runs", "streams", "points", "lines", "findings", "judgements", "checks", "actions")
HINT = f"views: {', '.join(VIEWS)}; `describe points` shows the columns of one"
CANDIDATES = 5  # that an ambiguous prefix names


def answer(
    connection: DuckDBPyConnection, sql: str, parameters: Sequence[Any] | Mapping[str, Any]
) -> pa.Table:
    """The result of the query, of its last statement where it has several."""
    import duckdb

    try:
        if not connection.extract_statements(sql):
            raise QueryError("the query says nothing", hint=HINT)
        table = _asked(connection, sql, parameters)
    except (duckdb.IOException, duckdb.FatalException, duckdb.InternalException):
        raise  # the file is broken, not the question
    except duckdb.OutOfMemoryException as error:
        raise QueryError(
            f"the query needs more memory than there is: {_first(error)}",
            hint="aggregate, or add a WHERE or LIMIT",
        ) from error
    except (duckdb.Error, RuntimeError) as error:
        if interrupted(error):
            raise
        raise QueryError(str(error).strip(), hint=HINT) from error
    return table


def _asked(
    connection: DuckDBPyConnection, sql: str, parameters: Sequence[Any] | Mapping[str, Any]
) -> pa.Table:
    """In a thread of its own: DuckDB hears Ctrl-C only between tasks, and one may last minutes."""
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow as pa

    def asked() -> pa.Table:
        found = connection.sql(sql, params=parameters or None)
        table: pa.Table = pa.table({}) if found is None else found.to_arrow_table()
        return table

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asked)
        try:
            return future.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


def past(connection: DuckDBPyConnection, run: str) -> tuple[Past, int] | None:
    """What the run's last flush left, and its revision."""
    row = first_row(
        connection,
        """SELECT target, state, summary, complete, revision, epoch(last_seen)
        FROM stored_rows.runs WHERE run = ?""",
        [run],
    )
    if not row:
        return None
    target, state, summary, complete, revision, at = row
    streams = connection.execute(
        """SELECT stream, identity, position, lines FROM stored_rows.streams
        WHERE run = ? AND identity IS NOT NULL""",
        [run],
    ).fetchall()
    return Past(
        target=target,
        cursors={
            name: Cursor(identity, position, lines, at)
            for name, identity, position, lines in streams
        },
        state=json.loads(state),
        summary=json.loads(summary) if summary else None,
        complete=complete,
    ), revision


def newest(connection: DuckDBPyConnection, limit: int) -> list[dict[str, Any]]:
    """Rows of the view `runs`, the last seen first."""
    import duckdb  # noqa: F401 its package gives the tables

    found = connection.sql(
        "SELECT * FROM runs ORDER BY last_seen DESC, run LIMIT ?", params=[limit]
    )
    rows: list[dict[str, Any]] = found.to_arrow_table().to_pylist(maps_as_pydicts="strict")
    return rows


def summary(connection: DuckDBPyConnection, name: str) -> dict[str, Any]:
    """The summary of the run with this id, of the only one that it begins, or of the last."""
    run, text, target = _one(connection, name)
    if not text:
        raise QueryError(
            f"run {run} has no summary: its scan was cut short",
            hint=f"read it to its end with `runwatch scan {target}`",
        )
    loaded: dict[str, Any] = json.loads(text)
    done = actions.of(connection, run)
    return {**loaded, "actions": done} if done else loaded


def _one(connection: DuckDBPyConnection, name: str) -> tuple[str, str | None, str]:
    wanted = "true" if name == "last" else "starts_with(run, $name)"
    found = connection.execute(
        f"""SELECT run, summary, target FROM stored_rows.runs WHERE {wanted}
        ORDER BY $name = run DESC, last_seen DESC, run""",  # noqa: S608 one of the two texts above
        {"name": name},
    ).fetchall()
    if not found:
        what = "no history yet" if name == "last" else f"no run {name!r} in the history"
        raise QueryError(what, hint="`runwatch runs` lists what there is")
    run: tuple[str, str | None, str] = found[0]
    if name not in ("last", run[0]) and len(found) > 1:
        some = ", ".join(row[0] for row in found[:CANDIDATES])
        more = f" and {len(found) - CANDIDATES} more" if len(found) > CANDIDATES else ""
        raise QueryError(
            f"{len(found)} runs begin with {name!r}: {some}{more}", hint="give more of the id"
        )
    return run


def _first(error: Exception) -> str:
    return str(error).partition("\n")[0]
