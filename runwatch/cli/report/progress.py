"""A bar on stderr for what takes longer than a second, on a terminal only."""

import os
import stat
import sys
from threading import Timer
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from runwatch.plain import counted

if TYPE_CHECKING:
    from rich.progress import Progress as Rich

    from runwatch.scanning import Headway

PATIENCE = 1.0  # seconds of silence that nobody minds


class Bar:
    """Called with each Headway; draws share, rate and time left once PATIENCE has passed. Where a
    pipe has given nothing until then, it says what it waits for."""

    def __init__(self, path: str) -> None:
        from runwatch.cli.report.text import clean, shorten

        self._label = shorten(clean(path), 30)
        self._timer = Timer(PATIENCE, self._wait) if _may_wait(path) else None
        self._since = monotonic()
        self._rich: Rich | None = None
        self._wanted = sys.stderr.isatty()
        self.bytes = 0  # read so far, as stored

    def __enter__(self) -> Self:
        if self._wanted and self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def _wait(self) -> None:
        what = "standard input" if self._label == "-" else f"{self._label}, a pipe,"
        print(f"waiting: {what} has given nothing yet (Ctrl-C ends)", file=sys.stderr)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._rich is not None:
            self._rich.stop()

    def __call__(self, headway: "Headway") -> None:
        """Show how far it is; `bytes_total` 0 is an unknown end."""
        self.bytes = headway.bytes_done
        if self._timer is not None:
            self._timer.cancel()
        if not self._wanted or monotonic() - self._since < PATIENCE:
            return
        if self._rich is None:
            self._rich = _bar()
            self._rich.add_task(self._label, lines="")
            self._rich.start()
        self._rich.update(
            self._rich.task_ids[0],
            completed=headway.bytes_done,
            total=headway.bytes_total or None,
            lines=counted(headway.lines, "line"),
        )


def _may_wait(path: str) -> bool:
    """Whether it is a pipe or a terminal, whose writer may take its time."""
    try:
        mode = (os.fstat(0) if path == "-" else os.stat(path)).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _bar() -> "Rich":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[lines]}", markup=False),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=5,
    )
