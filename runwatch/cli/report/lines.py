"""A watched run as plain lines: what has happened, with the time before it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import singledispatchmethod
from typing import TextIO

from runwatch.cli.report.cloud import course, heading
from runwatch.cli.report.summary import SEVERITY
from runwatch.cli.report.table import brief
from runwatch.cli.report.text import clean, paint, shorten, wrap
from runwatch.cli.report.units import percent, seconds, span, value
from runwatch.cli.words.environment import width
from runwatch.event import Acted, Acting, Began, Ended, Event, Found, Noted, Progressed, Turned
from runwatch.finding import State
from runwatch.ingest.process import Process
from runwatch.judgement import rule
from runwatch.plain import counted
from runwatch.vitals import Gpu

_NAMED = ("loss", "lr", "grad_norm", "eval_loss", "accuracy", "reward")
_ENDED = ("SUCCEEDED", "EARLY_STOPPED", "FAILED", "CANCELLED", "TIMEOUT")
_SLOWEST = 3  # ranks that a fuller report names
_SILENT = 60.0  # seconds after which a rank is called silent


class Lines:
    """Prints events as they come. With several targets, each line says whose it is; `accounts` are
    the `user@host` of targets on other hosts, which their words alone do not always tell."""

    def __init__(
        self, out: TextIO, *, several: bool = False, accounts: Mapping[str, str] | None = None
    ) -> None:  # fmt: skip
        self._out = out
        self._several, self._accounts = several, accounts or {}
        self._at = datetime.min

    def show(self, event: Event) -> None:
        """Print one event."""
        self._at = event.at
        for line in self._lines(event):
            print(line, file=self._out)
        self._out.flush()

    def _stamp(self, event: Event) -> str:
        """`[HH:MM:SS] `, behind the host of a remote target."""
        host = clean(self._accounts.get(event.target, ""))
        named = host or (clean(event.target) if self._several else "")
        who = f"[{named}] " if named else ""
        return f"{self._ink(who, 'cyan')}[{event.at.astimezone():%H:%M:%S}] "

    def _ink(self, text: str, colour: str) -> str:
        return paint(text, colour, self._out)

    @singledispatchmethod
    def _lines(self, event: Event) -> Iterator[str]:
        yield f"{self._stamp(event)}{event}"

    @_lines.register
    def _(self, event: Began) -> Iterator[str]:
        stamp = self._stamp(event)
        told = process(event.process) if event.process else event.process_note
        if told:
            yield f"{stamp}{told[0].upper()}{told[1:]}"
        streams = counted(event.streams, "stream")
        if not event.streams:
            yield f"{stamp}Nothing to read yet"
            return
        yield f"{stamp}Log readable: {streams}" + (f", {event.resumed}" if event.resumed else "")
        if event.form:
            room = width() - 14
            yield f"{stamp}Format: {event.form} ({shorten(clean(event.evidence), room)})"

    @_lines.register
    def _(self, event: Progressed) -> Iterator[str]:
        if event.first and (event.cloud is None or event.step is not None):
            yield self._stamp(event) + status(event)
        if event.cloud is None:
            yield self._stamp(event) + progress(event)
        else:
            yield self._stamp(event) + heading(event.cloud)
            yield from (f"  {line}" for line in course(event.cloud, event.at, recent(event)))
        if told := resources(event):
            yield told
        if event.full:
            yield from self._fuller(event)

    def _fuller(self, event: Progressed) -> Iterator[str]:
        notable = [r for r in event.reasons if r != "loss moved"]
        why = f" ({', '.join(notable)})" if notable else ""
        yield self._ink(f"Summary{why}: {event.state}, {counted(event.lines, 'line')} read", "bold")
        if event.losses:
            yield f"  loss {sparkline(event.losses)} {brief(event.losses[-1])}"
        if event.checkpoint:
            yield f"  last checkpoint: {clean(event.checkpoint)}"
        for text in ranks(event):
            yield f"  {text}"
        for finding in event.standing[:6]:
            yield (
                f"  {self._ink(finding.severity, SEVERITY[finding.severity])} {finding.kind}: "
                + (clean(finding.message))
            )
        if not event.standing:
            yield "  nothing found stands"

    @_lines.register
    def _(self, event: Found) -> Iterator[str]:
        one, stamp = event.finding, self._stamp(event)
        title = rule(one.kind).title
        if event.change == "withdrawn":
            yield f"{stamp}No longer found: {one.kind} ({title.lower()})"
            return
        if event.change == "changed":
            yield f"{stamp}Now {one.state}, {one.severity}: {one.kind} ({clean(one.message)})"
            return
        step = f"Step {one.step} — " if one.step is not None else ""
        colour = SEVERITY[one.severity]
        over = " (recovered)" if one.state is State.RECOVERED else ""
        head = self._ink(f"ANOMALY: {title}{over}", colour)
        yield f"{stamp}{step}{head} [{one.severity} {one.kind}]"
        room = width()
        yield f"  {wrap(clean(one.message), room, '  ')} ({clean(one.stream)}:{one.line})"
        for text in (one.evidence + one.rules)[:2]:
            yield f"  │ {shorten(clean(text), room - 4)}"
        if event.checkpoint:
            yield f"  Last checkpoint: {clean(event.checkpoint)}."
        if event.reset:
            yield f"  Interval reset to {seconds(event.reset)}."
        if rule(one.kind).steps and one.state is not State.RECOVERED:
            steps = "; ".join(rule(one.kind).steps)
            yield f"  {wrap(f'Recommended: {steps}.', room, '  ')}"

    @_lines.register
    def _(self, event: Turned) -> Iterator[str]:
        why = f": {clean(event.why)}" if event.why else ""
        yield f"{self._stamp(event)}State: {event.before} → {event.state}{why}"

    @_lines.register
    def _(self, event: Acting) -> Iterator[str]:
        one = event.remedy
        if one.asks:
            yield f"{self._stamp(event)}Awaiting your approval: {one.kind} ({clean(one.why)})"
        else:
            tried = f", try {one.tried + 1} of 3" if one.kind != "cancel" else ""
            yield f"{self._stamp(event)}About to {one.kind} ({clean(one.why)}{tried})"
        if one.command:
            yield f"  $ {clean(one.told)}"

    @_lines.register
    def _(self, event: Acted) -> Iterator[str]:
        yield f"{self._stamp(event)}{event.action.kind}: {clean(event.action.outcome)}"

    @_lines.register
    def _(self, event: Noted) -> Iterator[str]:
        yield f"{self._stamp(event)}{clean(event.text)}"

    @_lines.register
    def _(self, event: Ended) -> Iterator[str]:
        from runwatch.cli.report.summary import report

        yield f"{self._stamp(event)}Stopped watching: {clean(event.why)}"
        yield ""
        yield report(dict(event.summary), self._out).rstrip("\n")


def status(event: Progressed) -> str:
    """The baseline in one line: `[Step X/Y] loss=Z, lr=A, gpu_util=B%`."""
    total = f"/{event.total}" if event.total else ""
    step = f"[Step {event.step}{total}]" if event.step is not None else "[no step yet]"
    named = [f"{q}={value(q, event.metrics[q][1])}" for q in _NAMED if q in event.metrics]
    if event.gpu is not None and event.gpu.utilisation is not None:
        named.append(f"gpu_util={event.gpu.utilisation:.0f}%")
    return f"{step} {', '.join(named) or 'no metric yet'}"


def progress(event: Progressed) -> str:
    """`Step 1200/10000 (12%) | loss=0.342 | lr=1e-4 | grad_norm=0.8 | 142 samples/s`."""
    if event.step is None:
        parts = [f"{event.state}, no step yet, {counted(event.lines, 'line')}"]
    else:
        parts = [f"Step {event.step}" + (f"/{event.total}" if event.total else "")]
        if event.total:
            parts[0] += f" ({percent(event.step / event.total)})"
    parts += [f"{q}={value(q, event.metrics[q][1])}" for q in _NAMED if q in event.metrics]
    if event.rate:
        parts.append(clean(event.rate))
    if event.step is not None and event.state != "RUNNING":
        parts.append(event.state)
    return " | ".join(parts)


def recent(event: Progressed) -> str:
    """What the log of a platform's job tells last, nothing where it tells nothing yet."""
    told = replace(event, state="RUNNING")  # that of the job is told beside it
    return progress(told) if event.step is not None or event.metrics else ""


def resources(event: Progressed) -> str:
    """`GPU: 94% util, 18.2/24 GB VRAM | ETA: ~1h 23m | next poll in 45s`."""
    parts = [f"GPU: {gpu(event.gpu)}"] if event.gpu else []
    if event.eta is not None:
        parts.append(f"ETA: ~{span(event.eta)}")
    if event.state in _ENDED or not event.next_in:
        return "  " + " | ".join(parts) if parts else ""
    pace = f"next poll in {seconds(event.next_in)}"
    if event.next_in > event.before:
        pace += f" ← backed off {seconds(event.before)}→{seconds(event.next_in)}"
    elif event.next_in < event.before:
        pace += f" ← interval reset ({', '.join(event.reasons)})"
    return "  " + " | ".join([*parts, pace])


def gpu(one: Gpu) -> str:
    """Utilisation and memory of the GPUs of a run."""
    parts = [] if one.utilisation is None else [f"{one.utilisation:.0f}% util"]
    if one.total:
        parts.append(f"{brief_gb(one.used)}/{brief_gb(one.total)} GB VRAM")
    many = f" ({one.count} GPUs)" if one.count > 1 else ""
    return ", ".join(parts) + many


def brief_gb(size: float) -> str:
    """Bytes as gigabytes: 18.2, 62."""
    return f"{size / (1 << 30):.3g}"


def process(one: Process) -> str:
    """The process behind a run, in words."""
    if not one.pid:  # a job elsewhere
        return f"{clean(one.name)} is {one.state}"
    workers = f", {counted(one.workers, 'worker')}" if one.workers else ""
    state = "" if one.state == "running" else f", {one.state}"
    return f"Process found: PID {one.pid} ({clean(one.name)}{workers}{state})"


def sparkline(values: "tuple[float, ...]", wide: int = 40) -> str:
    """The last values as a row of blocks; what is no number is an x."""
    marks = "▁▂▃▄▅▆▇█"
    shown = values[-wide:]
    finite = [v for v in shown if v - v == 0]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    scale = (len(marks) - 1) / (high - low) if high > low else 0.0
    return "".join(marks[round((v - low) * scale)] if v - v == 0 else "x" for v in shown)


def ranks(event: Progressed) -> Iterator[str]:
    """The slowest ranks and the silent ones, where there are several streams."""
    if len(event.ranks) < 2:
        return
    known = [(r[2], _rank(r)) for r in event.ranks if r[2] is not None]
    furthest = max((step for step, _ in known), default=0)
    behind = sorted(one for one in known if one[0] < furthest - 1)  # one step behind is chance
    if behind:
        named = ", ".join(f"{who} at step {step}" for step, who in behind[:_SLOWEST])
        yield f"slowest of {len(event.ranks)} streams, the first at {furthest}: {named}"
    silent = sorted((r for r in event.ranks if r[3] > _SILENT), key=lambda r: -r[3])
    if silent:
        named = ", ".join(f"{_rank(r)} for {span(r[3])}" for r in silent[:_SLOWEST])
        yield f"silent: {named}"


def _rank(one: tuple[str, int | None, int | None, float]) -> str:
    return clean(one[0]) if one[1] is None else f"rank {one[1]}"


Show = Callable[[Event], None]
