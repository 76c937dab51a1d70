"""One check of a run: what was looked at, the answer, and when to look again.

Pure values. How the run was read is in `checking`, what each signal says in `judge`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from runwatch.finding import Finding
from runwatch.judge import Opinion, Signal
from runwatch.judgement import Judgement
from runwatch.slotted import frozen

RUNGS = (600.0, 1200.0, 1800.0, 3600.0)  # seconds between checks: 10, 20, 30, 60 minutes
SLACK = 60.0  # seconds before its time at which a check is due: timers do not fire on the second


@frozen
class Answer:
    """What to do. `decided_by` is rules, reviewer, or source where nothing could be read; then the
    judgement is None. `concern` is what the rules are unsure about, for a reviewer."""

    judgement: Judgement | None
    reason: str
    decided_by: str = "rules"
    concern: str = ""


@frozen
class Last:
    """What is remembered of the check before: its answer, its time, how often to look, and what
    was known, so that an anomaly shows as new. `noted` and `acted` identify the stop that was told
    and what was done about it; `kept` is when all was written."""

    at: datetime
    judgement: Judgement | None
    reason: str
    interval: float
    due: datetime
    lines: int = 0
    known: frozenset[str] = frozenset()
    noted: str = ""
    acted: str = ""
    over: bool = False
    kept: datetime | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any] | None) -> "Last | None":
        """From what the store kept of a check; None where there was none."""
        if not row or "kept" not in row:
            return None
        judgement = row["judgement"]
        return cls(
            datetime.fromisoformat(row["at"]), Judgement(judgement) if judgement else None,
            row["reason"], row["interval_seconds"], datetime.fromisoformat(row["next_due"]),
            row["lines"], frozenset(row["known"]), row["noted"], row["acted"], row["ended"],
            datetime.fromisoformat(row["kept"]),
        )  # fmt: skip

    def is_due(self, now: datetime) -> bool:
        """Whether it is time for the next one."""
        return now >= self.due - timedelta(seconds=min(SLACK, 0.1 * self.interval))


@frozen
class Checkup:
    """A check as it is told and kept. `stop` identifies a STOP by what it rests on, "" for others;
    `noted` and `acted` are those that were told and acted on, up to now."""

    run: str
    target: str
    where: str  # the run's address: a URL, or its path
    at: datetime
    answer: Answer
    interval: float
    signals: tuple[Signal, ...] = ()
    step: int | None = None
    total: int | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    lines: int = 0
    over: bool = False
    known: tuple[str, ...] = ()
    evidence: tuple[tuple[str, int, str], ...] = ()  # stream, line, text
    notes: tuple[str, ...] = ()
    review: Mapping[str, Any] | None = None
    action: str = ""
    stop: str = ""
    noted: str = ""
    acted: str = ""

    @property
    def due(self) -> datetime:
        """When the next one is."""
        return self.at + timedelta(seconds=self.interval)

    def as_dict(self) -> dict[str, Any]:
        """The shape that `check --json` prints."""
        answer = self.answer
        return {
            "run": self.run,
            "target": self.target,
            "where": self.where,
            "at": self.at.isoformat(),
            "judgement": answer.judgement,
            "reason": answer.reason,
            "decided_by": answer.decided_by,
            "concern": answer.concern or None,
            "steps": {"last": self.step, "total": self.total},
            "metrics": dict(self.metrics),
            "signals": [signal.as_dict() for signal in self.signals],
            "evidence": [
                {"stream": stream, "line": line, "text": text}
                for stream, line, text in self.evidence
            ],
            "review": None if self.review is None else dict(self.review),
            "action": self.action or None,
            "notes": list(self.notes),
            "ended": self.over,
            "interval_seconds": self.interval,
            "next_due": self.due.isoformat(),
        }


def known_of(signals: Sequence[Signal], findings: Sequence[Finding]) -> tuple[str, ...]:
    """What a later check compares with to tell an anomaly that is new."""
    doubts = (s.name for s in signals if s.opinion in (Opinion.UNSURE, Opinion.BAD))
    return (*doubts, *(finding.id for finding in findings))


def interval(
    last: Last | None, judgement: Judgement | None, *, anomaly: bool,
    rungs: Sequence[float] = RUNGS,
) -> float:  # fmt: skip
    """Seconds until the next check.

    One rung up after each CONTINUE, the first rung after an anomaly or a STOP; WAIT and a source
    out of reach keep what there is.
    """
    if last is None or anomaly or judgement is Judgement.STOP:
        return rungs[0]
    if judgement is Judgement.CONTINUE:
        return next((rung for rung in rungs if rung > last.interval), rungs[-1])
    return min(max(last.interval, rungs[0]), rungs[-1])


def answer(
    signals: Sequence[Signal], *, stop: str = "", over: str = "", quiet: str = "",
    empty: bool = False,
) -> Answer:  # fmt: skip
    """The signals folded into one answer.

    `stop` is why the log itself asks for a stop, `over` that the run has ended as it should,
    `quiet` that nothing was written since the check before.
    """
    bad = [s for s in signals if s.opinion is Opinion.BAD]
    unsure = [s for s in signals if s.opinion is Opinion.UNSURE]
    if stop or bad:
        told = [*([stop] if stop else []), *(_told(s) for s in bad if s.words != stop)]
        return Answer(Judgement.STOP, "; ".join(told))
    if over:
        doubts = "; ".join(_told(s) for s in unsure)
        return Answer(Judgement.CONTINUE, f"{over}; {doubts}" if doubts else over)
    if empty:
        return Answer(Judgement.WAIT, "nothing was measured yet")
    if quiet:
        return Answer(Judgement.WAIT, quiet)
    if unsure:
        concern = "; ".join(_told(s) for s in unsure)
        return Answer(Judgement.WAIT, concern, concern=concern)
    course = next((s for s in signals if s.name == "loss"), None)
    if course is None or course.opinion is Opinion.UNKNOWN:
        why = course.words if course else "no training loss was reported"
        course = next(iter(_fine(signals)), None)
        if course is None:
            return Answer(Judgement.WAIT, f"not enough to judge: {why}")
    words = dict.fromkeys(s.words for s in (course, *_fine(signals)))
    return Answer(Judgement.CONTINUE, "; ".join(words))


def _fine(signals: Sequence[Signal]) -> list[Signal]:
    """Evaluations and comparisons that speak for the run."""
    own = [s for s in signals if s.name == "evaluation" or " " in s.name]
    return [s for s in own if s.opinion is Opinion.FINE]


def _told(signal: Signal) -> str:
    return f"{signal.title}: {signal.words}"


def stop_of(
    answered: Answer, signals: Sequence[Signal], *, segment: int, root: Finding | None
) -> str:
    """What a STOP rests on, in a form that stays the same while it stands: the findings, and where
    there is none the names of the signals. A run that was started again is another."""
    if answered.judgement is not Judgement.STOP:
        return ""
    bad = [s for s in signals if s.opinion is Opinion.BAD]
    doubts = [] if bad or root else [s for s in signals if s.opinion is Opinion.UNSURE]
    named = sorted(s.finding or s.name for s in (*bad, *doubts))
    return " ".join([str(segment), *named, *([root.id] if root and not bad else [])])
