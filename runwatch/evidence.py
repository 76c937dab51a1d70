"""The lines that findings of the numbers rest on, fit to be shown."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from runwatch.finding import Finding
from runwatch.parse.clean import plain
from runwatch.redact import redact

_SHOWN = 1_000  # characters of a cited line; sources give some more

Cite = Callable[[Mapping[str, set[int]]], Mapping[tuple[str, int], str]]
"""Gives wanted lines as they came, by (stream, line number)."""


def evident(found: list[Finding], cite: Cite | None) -> list[Finding]:
    """The findings, those of the numbers with the line that they rest on, fit to be shown."""
    wanted: dict[str, set[int]] = {}
    for finding in found:
        if not finding.evidence:
            wanted.setdefault(finding.stream, set()).add(finding.line)
    if cite is None or not wanted:
        return found
    lines = cite(wanted)
    return [
        finding
        if finding.evidence or (finding.stream, finding.line) not in lines
        else replace(finding, evidence=(shown(lines[finding.stream, finding.line]),))
        for finding in found
    ]


def shown(line: str) -> str:
    """The beginning of a line, without secrets: one that is cut short lies behind what is shown."""
    return redact(plain(line))[:_SHOWN]
