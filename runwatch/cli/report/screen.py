"""Where events of watched runs are shown: a live view on a terminal, lines or JSON elsewhere."""

import errno
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runwatch.event import Event
    from runwatch.monitor import Watched

_LEFT = (errno.EPIPE, errno.EIO)  # a pipe without a reader, a terminal that was closed


class Screen:
    """`json` shows objects; `tee` keeps standard output free; `plain` shows lines on a terminal,
    too; `several` that lines have to name their run, `accounts` where targets are."""

    def __init__(
        self, *, json: bool, tee: bool, plain: bool, several: bool, accounts: "Mapping[str, str]"
    ) -> None:  # fmt: skip
        out = sys.stderr if tee else sys.stdout
        self._live: Any = None
        self._held: list[str] = []
        if json:
            from runwatch.cli.report.events import Objects

            self._shown: Any = Objects(sys.stdout.buffer)
            return
        from runwatch.cli.report.lines import Lines

        self._shown = Lines(out, several=several, accounts=accounts)
        if out.isatty() and not plain:
            from runwatch.cli.report.live import Live

            self._shown = self._live = Live(out, self._shown)

    def __enter__(self) -> "Screen":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *about: object) -> None:
        if self._live is not None:
            live, self._live = self._live, None
            try:
                live.stop()
            except OSError as error:
                if error.errno not in _LEFT:
                    raise
        self.warn([])

    def show(self, event: "Event") -> bool:
        """Show one event, an error on stderr; False where nobody reads any more (`| head`, or the
        terminal is gone)."""
        from runwatch.cli import complain, drop_stdout
        from runwatch.event import Failed, Noted
        from runwatch.redact import redact

        if isinstance(event, Failed):
            if self._live is None:
                complain(event.error, event.target)
                return True
            event = Noted(event.target, event.at, redact(f"error: {event.error}"))
        try:
            self._shown.show(event)
        except OSError as error:
            if error.errno not in _LEFT:
                raise
            drop_stdout()
            return False
        return True

    def warn(self, troubles: list[str]) -> None:
        """Tell what went wrong beside the runs; a live view tells it when it has ended."""
        self._held += troubles
        if self._live is None:
            for trouble in self._held:
                print(f"warning: {trouble}", file=sys.stderr)
            self._held.clear()

    def run(self, loop: Any, stop: Any, watched: "list[Watched]") -> None:
        """Let a live view draw itself, and its keys work, while the loop runs."""
        if self._live is not None:
            self._live.run(loop, stop, watched)
