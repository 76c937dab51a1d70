"""A watched run as JSON, one object a line: progress, finding, state, summary."""

from dataclasses import asdict
from functools import singledispatch
from typing import Any, BinaryIO

from runwatch.cli.report.document import document
from runwatch.event import Acted, Acting, Began, Ended, Event, Found, Noted, Progressed, Turned


class Objects:
    """Writes events as they come."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        """Write one event."""
        kind, told = told_of(event)
        head = {"event": kind, "target": event.target, "at": event.at.isoformat()}
        self._out.write(document({**head, **told}, indent=False))
        self._out.flush()


@singledispatch
def told_of(event: Any) -> tuple[str, dict[str, Any]]:
    """The word of an event and its fields."""
    raise TypeError(type(event))


@told_of.register
def _(event: Began) -> tuple[str, dict[str, Any]]:
    told = {
        "state": "watching", "run": event.run, "streams": event.streams,
        "process": asdict(event.process) if event.process else None,
        "format": event.form or None, "evidence": event.evidence or None,
        "resumed": event.resumed or None,
    }  # fmt: skip
    return "state", told


@told_of.register
def _(event: Progressed) -> tuple[str, dict[str, Any]]:
    told = {
        "state": event.state, "step": event.step, "total_steps": event.total,
        "metrics": dict(event.metrics.values()),
        "rate": event.rate or None, "eta_seconds": event.eta,
        "gpu": asdict(event.gpu) if event.gpu else None,
        "job": asdict(event.cloud) if event.cloud else None, "lines": event.lines,
        "next_in": event.next_in, "reset_by": list(event.reasons), "full": event.full,
        "ranks": [
            {"stream": name, "rank": rank, "step": step, "silent_seconds": round(silent, 1)}
            for name, rank, step, silent in event.ranks
        ] if event.full or event.first else [],
    }  # fmt: skip
    return "progress", told


@told_of.register
def _(event: Found) -> tuple[str, dict[str, Any]]:
    return "finding", {"change": event.change, **event.finding.as_dict()}


@told_of.register
def _(event: Turned) -> tuple[str, dict[str, Any]]:
    return "state", {"state": event.state, "before": event.before, "why": event.why}


@told_of.register
def _(event: Acting) -> tuple[str, dict[str, Any]]:
    one = event.remedy
    state = "needs approval" if one.asks else "acting"
    return "state", {"state": state, "action": one.kind, "why": one.why, "command": one.told}


@told_of.register
def _(event: Acted) -> tuple[str, dict[str, Any]]:
    one = event.action
    return "state", {"state": "acted", "action": one.kind, "why": one.why,
                     "command": one.command, "outcome": one.outcome}  # fmt: skip


@told_of.register
def _(event: Noted) -> tuple[str, dict[str, Any]]:
    return "state", {"state": "note", "why": event.text}


@told_of.register
def _(event: Ended) -> tuple[str, dict[str, Any]]:
    return "summary", {"why": event.why, **event.summary}
