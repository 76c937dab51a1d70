"""Store: the history file, opened for a moment at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from random import random as any_random
from typing import TYPE_CHECKING, Any

from runwatch.chunk import Cursor
from runwatch.redact import redact, redacted
from runwatch.store import actions, asking, checks, writing
from runwatch.store.instance import prepare
from runwatch.store.opening import Patience, is_there, to_look, to_read, to_write
from runwatch.store.past import Past
from runwatch.store.rows import rows
from runwatch.store.summaries import write_summary

if TYPE_CHECKING:
    import pyarrow as pa

    from runwatch.records import Batch


class Store:
    """The history in `path`; making a Store opens nothing, every call opens and closes.

    Any call may wait up to `patience` seconds (of `steady`) while another process holds the file.
    StoreError: it still does, or the file cannot be opened, read or written, or is not ours. A
    Store remembers what it read and wrote of each run, so that it never adds to rows that another
    process has replaced meanwhile.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = any_random,
        *,
        patience: float = 30.0,
        steady: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path = Path(path)
        self._clock = clock
        self._patience = Patience(patience, steady, sleep, random)
        self._revisions: dict[str, int] = {}

    def prepare(self) -> None:
        """Make ready on another core to open the history, which takes longer than a small scan."""
        prepare(self.path)

    def past(self, run: str) -> Past | None:
        """Where to go on and with what state; None where nothing is stored of the run."""
        if not is_there(self.path):  # and nothing need be imported
            return None
        with to_look(self.path, self._patience) as connection:
            found = asking.past(connection, run)
        self._revisions[run] = found[1] if found else 0
        return found[0] if found else None

    def flush(
        self,
        run: str,
        target: str,
        batches: Iterable[Batch] = (),
        cursors: Mapping[str, Cursor] | None = None,
        state: Mapping[str, Any] | None = None,
        summary: Mapping[str, Any] | None = None,
        *,
        did: Sequence[Mapping[str, Any]] = (),
        fresh: bool = False,
    ) -> None:
        """Keep all of it in one transaction, or nothing.

        `fresh` takes away whatever was stored of the run before; otherwise rows are added, after
        `past` or an earlier flush of this Store, and a StoreError says so if another process
        wrote the run in between. `cursors`, by stream name, say up to where these batches reach;
        rows of a batch that was `given_up` go when their stream is read on. Flush before a stream
        starts over with another identity. Streams that are not in `cursors` keep theirs. Every
        row of the batches' `lines` is stored: pass those worth it. `state` is plain JSON, NaN
        included; None leaves it as it was. `did` are actions, as a summary tells them.
        """
        cursors = cursors or {}
        now = self._clock()
        piece = writing.Flush(run, redact(target), rows(batches), cursors, redacted(state), now)
        with to_write(self.path, self._patience) as connection:
            known = writing.revision(connection, run)
            if fresh:
                writing.forget(connection, run)
            else:
                writing.check_revision(connection, run, self._revisions.get(run, 0))
            writing.write(connection, piece, known)
            actions.put(connection, run, [redacted(dict(one)) for one in did])
            if summary is not None:
                write_summary(connection, run, redacted(dict(summary)), now)
        self._revisions[run] = known + 1

    def save(self, summary: Mapping[str, Any]) -> None:
        """Keep the summary of a run (as in `scan --json`) whose rows were flushed before."""
        self.flush(summary["run"], summary["target"], summary=summary)

    def query(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> pa.Table:
        """The answer, read-only and without access to any other file; times are in UTC.

        QueryError: the SQL cannot be answered. Writers wait while it runs.
        """
        with to_read(self.path, self._patience) as connection:
            return asking.answer(connection, sql, parameters)

    def runs(self, limit: int = 20) -> list[dict[str, Any]]:
        """Rows of the view `runs`, the last seen first; none where there is no history yet."""
        if not is_there(self.path):
            return []
        with to_read(self.path, self._patience) as connection:
            return asking.newest(connection, limit)

    def run(self, name: str = "last") -> dict[str, Any]:
        """The summary as it was saved, of the run with this id or beginning, or of the last one,
        with all that was done about it.

        QueryError: there is none, several begin so, or the run has no summary yet.
        """
        with to_read(self.path, self._patience) as connection:
            return asking.summary(connection, name)

    def check(self, run: str) -> dict[str, Any] | None:
        """The last check of the run as it was kept, and when the run itself was written last
        (`last_seen`); None where it was never checked and never read."""
        if not is_there(self.path):
            return None
        with to_look(self.path, self._patience) as connection:
            return checks.last(connection, run)

    def keep_check(self, told: Mapping[str, Any]) -> None:
        """Keep a check, in place of one of the same run and time."""
        with to_write(self.path, self._patience) as connection:
            checks.put(connection, redacted(dict(told)))
