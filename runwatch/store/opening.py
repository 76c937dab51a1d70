"""Open the history file for a moment: created if need be, waited for if another holds it.

DuckDB lets one process write, or many read. A lock is met by trying again after a random pause,
so that many writers do not march in step. What DuckDB or the disk says against it becomes a
StoreError here.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from random import random
from typing import TYPE_CHECKING, Any

import runwatch
from runwatch.errors import StoreError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VERSION = 1

UTC = "SET TimeZone = 'UTC'"

# The oldest format that every DuckDB we can be installed with reads, so that hosts can share.
FORMAT = {"storage_compatibility_version": "v2.0.0"}

# Connections of one process to the same file share one instance, its settings and its view of what
# is committed, so threads take turns.
ONE_AT_A_TIME = threading.Lock()

# What DuckDB says when the file is in use: by another process (POSIX, Windows), or by another
# thread of this one that opened it the other way.
BUSY = ("could not set lock", "used by another process", "different configuration")

# (what DuckDB or the system says, what we say, what to do about it)
TROUBLES = (
    (
        ("not a valid duckdb database", "is a directory"),
        "is not a DuckDB database",
        "move it away, or name another file with --db",
    ),
    (
        ("no space left", "file too large", "quota exceeded", "could not write all bytes"),
        "could not be written: the disk is full",
        "free some space, or keep the history elsewhere with --db FILE or RUNWATCH_HOME",
    ),
    (
        (
            "permission denied",
            "read-only file system",
            "not a directory",
            "operation not permitted",
            "file exists",
        ),
        "cannot be opened here",
        "name a file in a folder of yours with --db FILE, or set RUNWATCH_HOME",
    ),
    (
        ("version number", "storage version", "newer version of duckdb"),
        "was written by a newer DuckDB than this one",
        "upgrade duckdb, or name another file with --db",
    ),
    (
        ("wal does not match",),
        "does not belong to the .wal file beside it",
        "remove the .wal file: the history that it belongs to is gone",
    ),
    (
        ("no locks available", "operation not supported"),
        "lies where files cannot be locked",
        "keep the history on a local disk, with --db FILE or RUNWATCH_HOME",
    ),
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a file that another process holds, in seconds of `clock`."""

    seconds: float = 30.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random

    def pauses(self) -> Iterator[None]:
        """One item per try: the first at once, then after pauses of up to 0.1 s, until it ends."""
        end, pause = self.clock() + self.seconds, 0.005
        yield
        while (now := self.clock()) < end:
            self.sleep(min(pause * (0.5 + self.random()), end - now))
            pause = min(pause * 1.5, 0.1)
            yield


def is_there(path: Path) -> bool:
    """Whether there is a history; a folder that may not be looked into is a StoreError."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        with translated(path):
            raise
    return True


@contextmanager
def to_write(path: Path, patience: Patience) -> Iterator[DuckDBPyConnection]:
    """One transaction on the history, created if it is not there: all of it is kept or nothing."""
    with ONE_AT_A_TIME, translated(path):
        if not is_there(path):
            _create(path)
        with _connected(path, patience, read_only=False) as connection:
            connection.begin()
            yield connection
            connection.commit()


@contextmanager
def to_read(path: Path, patience: Patience) -> Iterator[DuckDBPyConnection]:
    """The history as it stands, strictly read-only and shut off from other files.

    Where there is none yet, an empty one in memory, so that every query has its views.
    """
    import duckdb

    with ONE_AT_A_TIME, translated(path):
        if is_there(path):
            with _connected(path, patience, read_only=True) as connection:
                _shut(connection)
                yield connection
        else:
            with duckdb.connect(":memory:") as connection:
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
def translated(path: Path) -> Iterator[None]:
    """What DuckDB and the system raise, as StoreErrors that name the file."""
    import duckdb

    try:
        yield
    except (duckdb.Error, OSError) as error:
        said = str(error).lower()
        for words, what, hint in TROUBLES:
            if any(word in said for word in words):
                raise StoreError(f"{path}: the history {what}", hint=hint) from error
        first = str(error).partition("\n")[0]
        raise StoreError(
            f"{path}: the history failed: {first}",
            hint="try again, or go on without it with --no-store",
        ) from error


@contextmanager
def _connected(path: Path, patience: Patience, *, read_only: bool) -> Iterator[DuckDBPyConnection]:
    connection = _connect(path, patience, read_only=read_only)
    try:
        connection.execute(UTC)
        _check_version(connection, path)
        yield connection
    finally:
        connection.close()


def _connect(path: Path, patience: Patience, *, read_only: bool) -> DuckDBPyConnection:
    import duckdb

    said = ""
    for _ in patience.pauses():
        try:
            return duckdb.connect(str(path), read_only=read_only)
        except (duckdb.IOException, duckdb.ConnectionException) as error:
            said = str(error)
            if not any(word in said.lower() for word in BUSY):
                raise
    holder = said.partition("(PID ")[2].partition(")")[0]
    raise StoreError(
        f"{path}: the history is in use by another process"
        f"{f' (PID {holder})' if holder else ''}, for {patience.seconds:g} s already",
        hint="wait for it to end, or name another file with --db",
    )


def _check_version(connection: DuckDBPyConnection, path: Path) -> None:
    import duckdb

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
    import duckdb

    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    try:
        with duckdb.connect(str(new), config=dict(FORMAT)) as connection:
            _lay_out(connection)
            connection.execute("CHECKPOINT")  # closing does it too, but says nothing if it fails
        _publish(new, path)
    finally:
        for left in (new, new.with_name(f"{new.name}.wal")):
            left.unlink(missing_ok=True)


def _publish(new: Path, path: Path) -> None:
    try:
        os.link(new, path)
    except FileExistsError:
        return  # another process was first: its history is as good as ours
    except OSError:  # no hard links on this file system
        if not path.exists():
            new.rename(path)


def _lay_out(connection: DuckDBPyConnection) -> None:
    connection.execute(resources.files("runwatch.store").joinpath("schema.sql").read_text("utf-8"))
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
