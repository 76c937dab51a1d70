"""A watched run as a live view: one block for each target, redrawn in place."""

import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live as Rich
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from runwatch.cli.report.cloud import course
from runwatch.cli.report.lines import (
    Lines,
    process,
    progress,
    ranks,
    recent,
    resources,
    sparkline,
)
from runwatch.cli.report.table import brief
from runwatch.cli.report.text import clean
from runwatch.cli.report.units import span
from runwatch.event import Acted, Acting, Began, Ended, Event, Found, Noted, Progressed, Turned
from runwatch.finding import Finding, State
from runwatch.judgement import rule

if TYPE_CHECKING:
    from runwatch.monitor import Watched

_STYLE = {"critical": "bold red", "high": "red", "medium": "yellow", "low": "dim"}
_FINDINGS, _WORDS, _RANKS = 6, 3, 8
_EVERY = 0.25  # seconds between two drawings


@dataclass
class Block:
    """What is shown of one target."""

    began: Began | None = None
    report: Progressed | None = None
    findings: dict[str, Finding] = field(default_factory=dict)
    ended: Ended | None = None
    words: deque[str] = field(default_factory=lambda: deque(maxlen=_WORDS))


class Live:
    """Shows events; the last words of each target are printed below for good."""

    def __init__(self, out: TextIO, lines: Lines) -> None:
        self._lines = lines
        self._blocks: dict[str, Block] = {}
        self._paused = False
        self._watched: Sequence[Watched] = ()
        self._restore: Any = None
        self._ended: list[Ended] = []
        self._console = Console(file=out)
        self._rich = Rich(
            get_renderable=self._drawn, console=self._console, auto_refresh=False, transient=True,
        )  # fmt: skip

    def start(self) -> None:
        """Begin to draw."""
        self._rich.start()

    def stop(self) -> None:
        """Leave the terminal as it was, and print the last words."""
        self._rich.stop()
        if self._restore is not None:
            import termios

            with suppress(termios.error):  # the terminal is gone
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._restore)
        for event in self._ended:
            self._lines.show(event)

    def run(self, loop: Any, stop: Any, watched: Sequence["Watched"]) -> None:
        """Draw now and then in the loop; q ends, p pauses the view."""
        self._watched = watched
        loop.call_later(_EVERY, self._again, loop)
        if not sys.stdin.isatty():
            return
        import termios
        import tty

        self._restore = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)

        def pressed() -> None:
            try:
                key = os.read(sys.stdin.fileno(), 1)
            except OSError:
                key = b""
            if not key:  # the terminal is gone
                loop.remove_reader(sys.stdin)
            elif key in (b"q", b"Q"):
                stop.ask("a person left")
            elif key in (b"p", b"P"):
                self._paused = not self._paused
                self._rich.refresh()

        loop.add_reader(sys.stdin, pressed)

    def _again(self, loop: Any) -> None:
        if not self._paused:
            for one in self._watched:
                block = self._blocks.get(str(one.target))
                if block is not None and block.report is not None and not one.watch.over:
                    block.report = one.watch.peek()
            self._rich.refresh()
        loop.call_later(_EVERY, self._again, loop)

    def show(self, event: Event) -> None:
        """Take one event into the picture."""
        block = self._blocks.setdefault(event.target, Block())
        when = f"{event.at.astimezone():%H:%M:%S}"
        if isinstance(event, Began):
            block.began = event
        elif isinstance(event, Progressed):
            block.report = event
        elif isinstance(event, Found):
            block.findings[event.finding.id] = event.finding
            if event.change == "withdrawn":
                del block.findings[event.finding.id]
        elif isinstance(event, Ended):
            self._ended.append(event)
            block.ended = event
        else:
            block.words.append(f"{when} {_word(event)}")

    def _drawn(self) -> RenderableType:
        blocks: list[RenderableType] = [self._block(n, b) for n, b in self._blocks.items()]
        hint = "paused — p goes on, q ends" if self._paused else "q ends, p pauses"
        return Group(*blocks, Text(hint, style="dim"))

    def _block(self, name: str, block: Block) -> Panel:
        rows: list[RenderableType] = []
        if block.began is not None and block.began.process is not None:
            rows.append(Text(process(block.began.process), style="dim"))
        if block.report is not None:
            rows += _report(block.report, over=block.ended is not None)
        rows += [Text(clean(word), style="cyan") for word in block.words]
        now = {one.id: one for one in block.report.standing} if block.report else {}
        told = [now.get(key, one) for key, one in block.findings.items()]  # its words may be newer
        standing = [one for one in told if one.state is not State.RECOVERED]
        rows += _findings(standing)
        state = block.report.state if block.report else "…"
        bad = any(f.severity == "critical" for f in standing)
        if block.ended is not None:
            decision = block.ended.summary["decision"]
            state = f"{block.ended.summary['terminal_state']}, {decision}"
            bad = decision == "NO-GO"
            rows.append(Text(f"stopped watching: {clean(block.ended.why)}"))
        return Panel(
            Group(*rows), title=Text(f"{clean(name)}  {state}"), title_align="left",
            border_style="red" if bad else "green",
        )  # fmt: skip


def _report(report: Progressed, *, over: bool = False) -> Iterator[RenderableType]:
    if report.cloud is None:
        yield Text(progress(report), style="bold")
    else:
        yield from (Text(line) for line in course(report.cloud, report.at, recent(report)))
    if not over:
        yield Text(resources(report).strip())
    if report.losses:
        yield Text(f"loss {sparkline(report.losses, 60)} {brief(report.losses[-1])}", style="green")
    if len(report.ranks) > 1:
        yield _ranks(report)
        yield from (Text(text, style="yellow") for text in ranks(report))


def _ranks(report: Progressed) -> Table:
    """The streams that are furthest behind, then the longest silent."""
    table = Table(box=None, pad_edge=False)
    for heading in ("stream", "rank", "step", "silent"):
        table.add_column(heading, justify="left" if heading == "stream" else "right")
    behind = sorted(report.ranks, key=lambda r: (r[2] is None, r[2] or 0, -r[3]))
    for name, rank, step, silent in behind[:_RANKS]:
        shown = ["" if v is None else str(v) for v in (rank, step)]
        table.add_row(Text(clean(name)), *shown, span(silent))
    return table


def _findings(standing: list[Finding]) -> Iterator[RenderableType]:
    ordered = sorted(standing, key=lambda f: -f.severity.weight)
    for one in ordered[:_FINDINGS]:
        where = f" (step {one.step})" if one.step is not None else ""
        told = f"● {rule(one.kind).title}{where}: {clean(one.message)}"
        yield Text(told, style=_STYLE[one.severity])
    if len(ordered) > _FINDINGS:
        yield Text(f"  and {len(ordered) - _FINDINGS} more", style="dim")


def _word(event: Event) -> str:
    if isinstance(event, Turned):
        return f"{event.before} → {event.state}" + (f": {event.why}" if event.why else "")
    if isinstance(event, Acting):
        verb = "awaiting your approval:" if event.remedy.asks else "about to"
        return f"{verb} {event.remedy.kind} ({event.remedy.why})"
    if isinstance(event, Acted):
        return f"{event.action.kind}: {event.action.outcome}"
    return event.text if isinstance(event, Noted) else ""
