"""Findings in numbers, and one of them where several series tell the same story."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from runwatch.finding import NO_RANK, Finding, Role, Severity, State
from runwatch.judgement import rule


def finding(
    kind: str,
    severity: Severity,
    place: dict[str, Any],
    message: str,
    *,
    state: State = State.OPEN,
    last_line: int | None = None,
    role: Role = Role.ROOT,
    confidence: str = "high",
    tail: list[list[float]] | None = None,
    rules: Sequence[str] = (),
) -> Finding:
    """A finding at a place that `series.place` gave, and the named rules that hold beside it."""
    time = place.get("time")
    stamp = None
    if time is not None:
        stamp = datetime.fromtimestamp(time / 1_000_000, UTC).isoformat()
    return Finding(
        kind=kind,
        severity=severity,
        stream=place["stream"],
        line=place["line"],
        message=message,
        role=role,
        state=state,
        last_line=last_line,
        step=place["step"],
        rank=place["rank"],
        rank_note=NO_RANK if place["rank"] is None else "",
        time=stamp,
        advice=rule(kind).advice,
        confidence=confidence,
        rules=tuple(rules),
        series=tuple((a, b) for a, b in tail or ()),
    )


def fold(found: list[Finding]) -> list[Finding]:
    """One finding where several metrics, ranks or streams tell the same story.

    Two findings are the same story when kind and state agree and their steps meet, or, where a
    step is not known, their lines of one stream do. The earliest stays and names how many agree.
    """
    kept: list[tuple[Finding, list[Finding]]] = []
    for item in sorted(found, key=_when):
        for first, others in kept:
            if _meets(first, item, [first, *others][-1]):
                others.append(item)
                break
        else:
            kept.append((item, []))
    return [_joined(first, others) for first, others in kept]


def _when(item: Finding) -> tuple[float, str, int, float, int, str]:
    """Total for what may tell one story, so that the order in which series began tells nothing."""
    first = item.line if item.step is None else item.step
    rank = -1 if item.rank is None else item.rank
    return first, item.stream, item.line, -item.severity.weight, rank, item.message


def _meets(first: Finding, item: Finding, latest: Finding) -> bool:
    if (first.kind, first.state) != (item.kind, item.state):
        return False
    if first.stream == item.stream:
        return item.line <= max(first.last_line or first.line, latest.line) + 2
    if first.step is None or item.step is None:
        return first.line == item.line
    return abs(first.step - item.step) <= 5


def _joined(first: Finding, others: list[Finding]) -> Finding:
    if not others:
        return first
    worst = max([first, *others], key=lambda item: item.severity.weight)
    ranks = sorted({item.rank for item in [first, *others] if item.rank is not None})
    streams = len({item.stream for item in [first, *others]})
    told = first.message
    if len(ranks) > 1:
        told += f" (first on rank {first.rank}; {len(ranks)} ranks in all)"
    elif streams > 1:
        told += f" (the same in {streams} streams)"
    lines = [i.last_line or i.line for i in [first, *others] if i.stream == first.stream]
    return replace(first, severity=worst.severity, message=told, last_line=max(lines))
