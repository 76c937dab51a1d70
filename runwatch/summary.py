"""The summary of a run: what was measured, how it went and ended, what was looked at."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from runwatch.curve import Curve
from runwatch.finding import Finding
from runwatch.judgement import Check, TerminalState, Verdict
from runwatch.slotted import frozen


@frozen
class Steps:
    """The first and last step that the log names, and the announced total."""

    first: int | None = None
    last: int | None = None
    total: int | None = None


@frozen
class Coverage:
    """How much was read and what came of it.

    `metric_lines` gave measurements. `not_understood` lines hold numbers that may be measurements
    but were not taken; `examples` shows some. `skipped` counts lines cut short for their length;
    `files_skipped` has the name, reason and number of what was not read at all.
    """

    lines: int = 0
    bytes: int = 0
    points: int = 0
    metric_lines: int = 0
    skipped: int = 0
    not_understood: int = 0
    examples: tuple[str, ...] = ()
    files_skipped: tuple[Mapping[str, Any], ...] = ()


@frozen
class Summary:
    """One run, judged. `curves` are for whoever judges further; they are not printed."""

    run: str
    target: str
    streams: int
    steps: Steps
    segments: int
    terminal_state: TerminalState
    verdict: Verdict
    coverage: Coverage
    findings: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()
    final_metrics: Mapping[str, float] = field(default_factory=dict)
    best_checkpoint: str | None = None
    actions: tuple[Mapping[str, Any], ...] = ()
    curves: tuple[Curve, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The shape that `scan --json` prints: plain JSON values."""
        root = self.verdict.root_cause
        coverage = self.coverage
        return {
            "run": self.run,
            "target": self.target,
            "streams": self.streams,
            "lines": coverage.lines,
            "bytes": coverage.bytes,
            "steps": {
                "first": self.steps.first, "last": self.steps.last, "total": self.steps.total
            },
            "segments": self.segments,
            "terminal_state": self.terminal_state,
            "judgement": self.verdict.judgement,
            "decision": self.verdict.decision,
            "confidence": self.verdict.confidence,
            "reason": self.verdict.reason,
            "final_metrics": dict(self.final_metrics),
            "best_checkpoint": self.best_checkpoint,
            **({"actions": [dict(action) for action in self.actions]} if self.actions else {}),
            "root_cause": None if root is None else {
                "kind": root.kind, "line": root.line, "stream": root.stream, "rank": root.rank,
                "confidence": root.confidence,
            },
            "findings": [finding.as_dict() for finding in self.findings],
            "next_steps": list(self.verdict.next_steps),
            "checks": [{"name": c.name, "ran": c.ran, "why": c.why} for c in self.checks],
            "coverage": {
                "lines": coverage.lines,
                "bytes": coverage.bytes,
                "points": coverage.points,
                "metric_lines": coverage.metric_lines,
                "skipped": coverage.skipped,
                "not_understood": coverage.not_understood,
                "examples": list(coverage.examples),
                "files_skipped": [dict(entry) for entry in coverage.files_skipped],
            },
        }  # fmt: skip
