"""A line that matters, and the incident that lines of the same fault make up.

A fault often speaks a thousand times: every rank, every retry, every frame. Hits of one signature
in one stream are one incident as long as the stream makes no progress between them; of each
signature the first and the latest incidents of a stream are kept and the others counted, so
memory is bounded whatever the log.
"""

from dataclasses import asdict, field
from typing import Any

from runwatch.detect.progress import ENOUGH
from runwatch.slotted import mutable

KEPT_FIRST, KEPT_LAST, KEPT_RANKS, KEPT_LINES, KEPT_CHARACTERS = 6, 6, 4096, 4, 600
KEPT_ATTEMPTS = 64


@mutable
class Hit:
    """One line that matters. `at` counts the advances of its stream; `clock` is the latest
    time (microseconds) that its stream had shown by then, 0 where it shows none; `far` the furthest
    place it had come to, and `attempt` how often it had been started again."""

    stream: str
    line: int
    signature: str
    kind: str
    role: str
    text: str
    at: int = 0
    clock: int = 0
    rank: int | None = None
    step: int | None = None
    time: int | None = None
    segment: int = 0
    told: dict[str, str] = field(default_factory=dict)
    note: str = ""
    sure: str = "high"
    far: int = -1
    attempt: int = 0


@mutable
class Incident:
    """Hits of one fault without progress between them; the first is the one to cite."""

    first: Hit
    last_line: int
    last_at: int
    count: int = 1
    ranks: list[int] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    overcome: bool = False
    chained: bool = False
    last_far: int = -1
    attempts: list[int] = field(default_factory=list)  # the last in which it came

    def add(self, hit: Hit) -> None:
        """One more line of the same fault."""
        self.count += 1
        self.last_line, self.last_at, self.last_far = hit.line, hit.at, hit.far
        if hit.attempt not in self.attempts:
            self.attempts = [*self.attempts, hit.attempt][-KEPT_ATTEMPTS:]
        if self.first.rank is None and hit.told.get("pid", "") == self.first.told.get("pid"):
            self.first.rank = hit.rank
        if hit.rank is not None and hit.rank not in self.ranks and len(self.ranks) < KEPT_RANKS:
            self.ranks.append(hit.rank)
        if len(self.evidence) < KEPT_LINES and hit.text not in self.evidence:
            self.evidence.append(hit.text)

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return asdict(self)

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Incident":
        """What `state` gave, as it was."""
        return cls(**{**state, "first": Hit(**state["first"])})


def begun(hit: Hit) -> Incident:
    """A new incident with its first line."""
    ranks = [] if hit.rank is None else [hit.rank]
    begun = Incident(hit, hit.line, hit.at, 1, ranks, [hit.text])
    begun.last_far, begun.attempts = hit.far, [hit.attempt]
    return begun


@mutable
class Incidents:
    """All incidents of one stream, per signature and kind, the middle ones only counted."""

    kept: dict[str, list[Incident]] = field(default_factory=dict)
    dropped: int = 0
    latest: str = ""

    def add(self, hit: Hit) -> Incident:
        """Put the hit where it belongs and return the incident it is part of."""
        key = f"{hit.signature}\0{hit.kind}"
        kept = self.kept.setdefault(key, [])
        if hit.role not in ("ending", "follow-on"):
            self.latest = key
        if kept and not kept[-1].overcome and hit.at - kept[-1].last_at < ENOUGH:
            kept[-1].add(hit)
            return kept[-1]
        kept.append(begun(hit))
        if len(kept) > KEPT_FIRST + KEPT_LAST:
            del kept[KEPT_FIRST]
            self.dropped += 1
        return kept[-1]

    def __iter__(self) -> Any:
        for kept in self.kept.values():
            yield from kept

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        kept = {key: [one.state() for one in many] for key, many in self.kept.items()}
        return {"kept": kept, "dropped": self.dropped, "latest": self.latest}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Incidents":
        """What `state` gave, as it was."""
        kept = {
            key: [Incident.restored(one) for one in many] for key, many in state["kept"].items()
        }
        return cls(kept, state["dropped"], state["latest"])
