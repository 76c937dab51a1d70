"""What DuckDB and the disk say against it, as StoreErrors in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runwatch.errors import StoreError

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


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """What DuckDB and the system raise, as StoreErrors that name the file.

    KeyboardInterrupt stays what it is: DuckDB takes it for itself and says so in other words.
    """
    from runwatch.store.engine import duckdb

    try:
        yield
    except (duckdb.Error, OSError, RuntimeError) as error:
        if interrupted(error):
            raise KeyboardInterrupt from error
        if isinstance(error, RuntimeError):
            raise
        said = str(error).lower()
        for words, what, hint in TROUBLES:
            if any(word in said for word in words):
                raise StoreError(f"{path}: the history {what}", hint=hint) from error
        first = str(error).partition("\n")[0]
        raise StoreError(
            f"{path}: the history failed: {first}",
            hint="try again, or go on without it with --no-store",
        ) from error


def interrupted(error: Exception) -> bool:
    """Whether it is DuckDB's word for a KeyboardInterrupt."""
    return str(error) in ("Query interrupted", "INTERRUPT Error: Interrupted!")
