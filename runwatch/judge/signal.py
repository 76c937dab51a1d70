"""Signals and the opinions on them."""

from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from functools import cache
from importlib import import_module
from typing import Any, Self

from runwatch import shipped
from runwatch.curve import Curve
from runwatch.finding import Finding, Severity
from runwatch.judge.picture import Picture
from runwatch.judgement import Ending, Judgement, TerminalState, fold
from runwatch.slotted import frozen


class Opinion(StrEnum):
    """What a signal says of the run."""

    FINE = "fine"
    UNSURE = "unsure"
    BAD = "bad"
    UNKNOWN = "unknown"  # nothing was there to be looked at, or not enough


@frozen
class Signal:
    """One thing that was looked at. `line` (0 where none) of `stream` is what it rests on,
    `finding` the id of the finding that says so, if one does."""

    name: str
    opinion: Opinion
    words: str
    stream: str = ""
    line: int = 0
    finding: str = ""

    @classmethod
    def of(cls, name: str, opinion: Opinion, words: str, curve: Curve) -> Self:
        """What the last value of a curve tells."""
        line = 0 if curve.last is None else curve.last.line
        return cls(name, opinion, words, curve.stream, line)

    @property
    def title(self) -> str:
        """Its name for people."""
        return str(known().get(self.name, {}).get("title", self.name.capitalize()))

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "opinion": str(self.opinion)}


_OPINIONS = {
    Judgement.STOP: Opinion.BAD,
    Judgement.WAIT: Opinion.UNSURE,
    Judgement.CONTINUE: Opinion.FINE,
}


def signals(picture: Picture) -> tuple[Signal, ...]:
    """Everything that a check looks at, in the order of `signals.toml`, then the baselines.

    What a detector found outranks what is told from a curve, unless the curve says worse, or the
    finding is a mere hint and the curve says that all is fine.
    """
    from runwatch.judge.against import against

    seen = [_signal(name, row["kinds"], picture) for name, row in known().items()]
    return (*seen, *against(picture))


def _signal(name: str, kinds: Iterable[str], picture: Picture) -> Signal:
    own: Signal = import_module(f"runwatch.judge.{name}").look(picture)
    hints = own.opinion is not Opinion.FINE
    found = [
        finding
        for finding in picture.findings
        if finding.kind in kinds and (hints or finding.severity is not Severity.LOW)
    ]
    told = of_findings(name, found)
    order = (Opinion.UNKNOWN, Opinion.FINE, Opinion.UNSURE, Opinion.BAD)
    if told is None or order.index(own.opinion) > order.index(told.opinion):
        return own
    return told


def of_findings(name: str, found: list[Finding]) -> Signal | None:
    """What the findings of a signal ask for together; None where there are none."""
    if not found:
        return None
    verdict = fold(found, Ending(TerminalState.RUNNING, ""))
    root = verdict.root_cause or found[-1]
    return Signal(name, _OPINIONS[verdict.judgement], root.message, root.stream, root.line, root.id)


@cache
def known() -> dict[str, dict[str, Any]]:
    """The table of signals."""
    return shipped.table("judge/signals.toml")
