"""What a detector saw: one fault or anomaly, where it stands in the log, and what to do."""

from dataclasses import asdict, field
from enum import StrEnum
from typing import Any

from runwatch.digest import blake2b
from runwatch.slotted import frozen

NO_RANK = "undetermined: the lines name no rank"


class Severity(StrEnum):
    """How much it matters, from a note to a dead run."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def weight(self) -> int:
        """0 for low to 3 for critical, to order and compare by."""
        return list(Severity).index(self)


class Role(StrEnum):
    """What part it plays in the story: the cause, its echo, its proof, or just a symptom."""

    ROOT = "root"
    FOLLOW_ON = "follow-on"
    CONFIRMATION = "confirmation"
    SYMPTOM = "symptom"


class State(StrEnum):
    """How it went on: ended the run, was overcome, the run went on regardless, or not known yet."""

    TERMINAL = "terminal"
    RECOVERED = "recovered"
    PROGRESSED = "progressed"
    OPEN = "open"


@frozen
class Finding:
    """One fault or anomaly. Lines are 1-based and count `\\n` only, as an editor does.

    `rank` is None where the log cannot tell; `rank_note` then says why ("undetermined: …").
    `evidence` holds the decisive lines as they stand in the log, without colour codes; `rules` are
    the named rules that hold (`rule grad-norm=1000: …`).
    `series` is the tail of the numbers it judged, as (step, value).
    """

    kind: str
    severity: Severity
    stream: str
    line: int
    message: str
    role: Role = Role.ROOT
    state: State = State.OPEN
    last_line: int | None = None
    step: int | None = None
    rank: int | None = None
    rank_note: str = ""
    time: str | None = None
    evidence: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    advice: str = ""
    confidence: str = "high"
    series: tuple[tuple[float, float], ...] = field(default=())

    @property
    def id(self) -> str:
        """The same for the same fault at the same place, however often the log is read."""
        key = f"{self.kind}\0{self.stream}\0{self.line}"
        return blake2b(key.encode(), digest_size=6).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The shape that `scan --json` prints: the rules stand behind the lines of the evidence."""
        row = {"id": self.id, **asdict(self)}
        row["last_line"] = self.line if self.last_line is None else self.last_line
        row["evidence"] = [*self.evidence, *self.rules]
        row["rules"] = list(self.rules)
        if not self.rules:
            del row["rules"]
        row["series"] = [list(pair) for pair in self.series]
        if self.rank is not None or not self.rank_note:
            del row["rank_note"]
        return row
