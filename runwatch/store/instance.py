"""One instance of DuckDB a process, to which a history is attached for a moment at a time.

To make an instance takes 25 ms, and the first one 60; to attach a file and to let go of it takes 5.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from runwatch.slotted import frozen

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

THREADS = 4  # at most: what is written and looked up is little, and the cores belong to the run
_making = threading.Lock()
_attached: list[DuckDBPyConnection] = []  # one at most: those who open a history take turns


class Opening(Protocol):
    """Gives a connection that works in a file, which is there. Raises DuckDB's errors."""

    def __call__(self, path: Path, *, read_only: bool) -> DuckDBPyConnection:
        """For reading only, or also for writing."""
        ...


@frozen
class Way:
    """`close` ends a connection of `open` and lets go of its file; what is not committed is
    undone."""

    open: Opening
    close: Callable[[DuckDBPyConnection | None], None]


def prepare(path: Path) -> None:
    """Make the instance on another core, for a history that will soon be opened."""

    def make() -> None:
        with suppress(Exception):  # whoever opens the history meets it again, and can tell of it
            _instance_for(path.resolve())

    thread = threading.Thread(target=make, name="duckdb", daemon=True)
    thread.start()
    atexit.register(thread.join)  # Python may not end while DuckDB is being made


def _attach(path: Path, *, read_only: bool) -> DuckDBPyConnection:
    _detach()  # what an interrupt left attached
    connection = _instance_for(path).cursor()
    _attached.append(connection)
    quoted = str(path).replace("'", "''")
    how = "TYPE duckdb, READ_ONLY" if read_only else "TYPE duckdb"
    try:
        connection.execute(f"ATTACH '{quoted}' AS history ({how})")
        connection.execute("USE history")
    except BaseException:
        _detach()
        raise
    return connection


def _detach(_: DuckDBPyConnection | None = None) -> None:
    """Let go of whatever is attached, also where an interrupt came before it was known."""
    while _attached:
        _let_go(_attached[-1])
        _attached.pop()


def _let_go(connection: DuckDBPyConnection) -> None:
    from runwatch.store.engine import duckdb

    try:
        with suppress(duckdb.Error):  # nothing was begun
            connection.rollback()
        connection.execute("USE memory")
        connection.execute("DETACH DATABASE IF EXISTS history")
    except duckdb.Error:  # as `close` says nothing: what is committed lies in the .wal
        _close()  # an instance that is out of order holds the file until it goes
    except BaseException:
        _close()
        raise
    finally:
        connection.close()


def _connect(path: Path, *, read_only: bool) -> DuckDBPyConnection:
    from runwatch.store.engine import duckdb

    return duckdb.connect(str(path), read_only=read_only)


ATTACHED = Way(_attach, _detach)
ALONE = Way(_connect, lambda connection: connection.close() if connection else None)


def _instance_for(path: Path) -> DuckDBPyConnection:
    with _making:
        return _instance(path)


@lru_cache(maxsize=1)
def _instance(path: Path) -> DuckDBPyConnection:
    """What does not fit into memory goes where DuckDB puts it for this file."""
    from runwatch.store.engine import duckdb

    settings: dict[str, Any] = {
        "threads": str(min(THREADS, os.cpu_count() or 1)), "async_threads": "1",
        "temp_directory": f"{path}.tmp",
    }  # fmt: skip
    return duckdb.connect(":memory:", config=settings)


def _close() -> None:
    with _making:
        _instance.cache_clear()


if hasattr(os, "register_at_fork"):  # a child has none of the threads that an instance waits for
    os.register_at_fork(before=_close)
