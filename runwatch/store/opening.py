"""Open the history file for a moment: created if need be, waited for if another holds it.

DuckDB lets one process write, or many read. A lock is met by trying again after a random pause,
so that many writers do not march in step.
"""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import random
from typing import TYPE_CHECKING, Any

import runwatch
from runwatch import shipped
from runwatch.errors import StoreError
from runwatch.slotted import frozen
from runwatch.store import actions
from runwatch.store.instance import ALONE, ATTACHED, Way
from runwatch.store.trouble import translated
from runwatch.store.turn import headers, turn

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VERSION = 1

ABANDONED = 60.0  # seconds after which nobody makes a history any more; it takes a twentieth of one

UTC = "SET TimeZone = 'UTC'"

# The oldest format that every DuckDB we can be installed with reads, so that hosts can share.
FORMAT = {"storage_compatibility_version": "v2.0.0"}

# Connections of one process to the same file share one instance, its settings and its view of what
# is committed, so threads take turns.
ONE_AT_A_TIME = threading.Lock()

# What DuckDB says when the file is in use: by another process (POSIX, Windows), or by another
# thread of this one that opened it the other way.
BUSY = (
    "could not set lock",
    "used by another process",
    "different configuration",
    "unique file handle conflict",
)


@frozen
class Patience:
    """How long to wait for a file that another process holds, in seconds of `clock`."""

    seconds: float = 30.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random

    def tries(self) -> Iterator[bool]:
        """A True for each further try, after a pause of up to 0.05 s, until patience ends."""
        end, pause = self.clock() + self.seconds, 0.005
        while (now := self.clock()) < end:
            self.sleep(min(pause * (0.5 + self.random()), end - now))
            pause = min(pause * 1.5, 0.05)
            yield True


def is_there(path: Path) -> bool:
    """Whether there is a history; an empty file is none yet. StoreError: nobody can tell."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        with translated(path):
            raise
    return found.st_size > 0 or not stat.S_ISREG(found.st_mode)


@contextmanager
def to_write(path: Path, patience: Patience) -> Iterator[DuckDBPyConnection]:
    """One transaction on the history, created if it is not there: all of it is kept or nothing."""
    with ONE_AT_A_TIME, translated(path):
        place, tries = path.resolve(), patience.tries()
        place.parent.mkdir(parents=True, exist_ok=True)
        with turn(place, tries, alone=True):
            if not is_there(place):
                _create(place)
            with _connected(place, patience, tries, read_only=False) as connection:
                connection.begin()
                yield connection
                connection.commit()


@contextmanager
def to_look(path: Path, patience: Patience, how: Way = ATTACHED) -> Iterator[DuckDBPyConnection]:
    """A history that is there, strictly read-only, for questions of ours to its tables."""
    with ONE_AT_A_TIME, translated(path):
        place, tries = path.resolve(), patience.tries()
        with (
            turn(place, tries, alone=False),
            _connected(place, patience, tries, read_only=True, how=how) as connection,
        ):
            yield connection


@contextmanager
def to_read(path: Path, patience: Patience) -> Iterator[DuckDBPyConnection]:
    """The history as it stands, strictly read-only, with all its views, shut off from other files.

    Where there is none yet, an empty one in memory, so that every query has its views.
    """
    from runwatch.store.engine import duckdb

    if is_there(path):
        with to_look(path, patience, ALONE) as connection:
            actions.stand_in(connection)
            _shut(connection)
            yield connection
    else:
        with translated(path), duckdb.connect(":memory:") as connection:
            connection.execute(UTC)
            _lay_out(connection)
            connection.execute("BEGIN TRANSACTION READ ONLY")
            _shut(connection)
            yield connection


def first_row(
    connection: DuckDBPyConnection, sql: str, parameters: Sequence[Any] = ()
) -> tuple[Any, ...] | None:
    """The first row of the answer, which is read to its end: DuckDB takes no new work before."""
    found: list[tuple[Any, ...]] = connection.execute(sql, parameters).fetchall()
    return found[0] if found else None


@contextmanager
def _connected(
    path: Path, patience: Patience, tries: Iterator[bool], *, read_only: bool, how: Way = ATTACHED
) -> Iterator[DuckDBPyConnection]:
    with headers(path) as now:
        connection = None
        try:
            connection, holder = _connect(path, tries, now, read_only=read_only, how=how)
            if connection is None:
                raise StoreError(
                    f"{path}: the history is in use by another process"
                    f"{f' (PID {holder})' if holder else ''}, for {patience.seconds:g} s already",
                    hint="wait for it to end, or name another file with --db",
                )
            connection.execute(UTC)
            _check_version(connection, path)
            yield connection
        finally:
            how.close(connection)


def _connect(
    path: Path,
    tries: Iterator[bool],
    headers_now: Callable[[], bytes],
    *,
    read_only: bool,
    how: Way,
) -> tuple[DuckDBPyConnection | None, str]:
    """A connection that knows the file as it is; or, when all tries are used up, who has it."""
    from runwatch.store.engine import duckdb

    holder = ""
    while True:
        before = headers_now()
        try:
            connection = how.open(path, read_only=read_only)
        except duckdb.Error as error:
            said = str(error)
            if any(word in said.lower() for word in BUSY):
                holder = said.partition("(PID ")[2].partition(")")[0]
            elif headers_now() == before:
                raise
        else:
            if headers_now() == before:
                return connection, ""
            how.close(connection)  # what DuckDB knows of the file is from before it had the lock
        if not next(tries, False):
            return None, holder


def _check_version(connection: DuckDBPyConnection, path: Path) -> None:
    from runwatch.store.engine import duckdb

    try:
        row = first_row(connection, "SELECT version, written_by FROM stored_rows.version")
    except duckdb.CatalogException as error:
        raise StoreError(
            f"{path}: a DuckDB database, but no history of runwatch",
            hint="name another file with --db; nothing was changed in this one",
        ) from error
    version, writer = row or (None, "?")
    if version != VERSION:
        raise StoreError(
            f"{path}: history of version {version}, written by runwatch {writer}; "
            f"this is runwatch {runwatch.__version__}, which knows version {VERSION}",
            hint="upgrade runwatch, or name another file with --db",
        )


def _create(path: Path) -> None:
    """Made under another name and then linked: nobody ever sees half a history.

    DuckDB refuses an empty file, so a creator that was killed too early, or two that met, would
    leave a name that is of no use to anybody.
    """
    from runwatch.store.engine import duckdb

    _sweep(path)
    new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        with duckdb.connect(str(new), config=dict(FORMAT)) as connection:
            _lay_out(connection)
            connection.execute("CHECKPOINT")  # closing does it too, but says nothing if it fails
        _publish(new, path)
    finally:
        for left in (new, new.with_name(f"{new.name}.wal")):
            left.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove what creators that were killed have left."""
    for left in path.parent.iterdir():
        begun = left.name.startswith(f"{path.name}.")
        if begun and left.name.endswith((".new", ".new.wal")):
            with suppress(OSError):  # another may be faster
                if time.time() - left.stat().st_mtime > ABANDONED:
                    left.unlink()


def _publish(new: Path, path: Path) -> None:
    try:
        os.link(new, path)
    except FileExistsError:  # another process was first: its history is as good as ours
        if not is_there(path):
            shutil.copymode(path, new)  # an empty file, made to be filled
            new.replace(path)
    except OSError:  # no hard links on this file system
        if not is_there(path):
            new.rename(path)


def _lay_out(connection: DuckDBPyConnection) -> None:
    connection.execute(shipped.text("store/schema.sql"))
    actions.lay_out(connection)
    connection.execute(
        "INSERT INTO stored_rows.version VALUES (?, ?, now())", [VERSION, runwatch.__version__]
    )


def _shut(connection: DuckDBPyConnection) -> None:
    for setting in (
        "SET python_enable_replacements = false",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.execute(setting)
