"""What was found and told so far: what is new, what has changed, what is gone."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from runwatch.finding import Finding, Role, State
from runwatch.judgement import Ending
from runwatch.slotted import frozen

STEADY = 0.03  # seconds that a finding must stand to be told: half a traceback is no news


@frozen
class Course:
    """A run as its log tells it: how it ended and since when that stands, when a line came last,
    and which line that was; `stride` are the steps between two reports, 0 where that is not known.
    Seconds of a steady clock."""

    ending: Ending
    since: float
    heard: float
    stream: str = ""
    line: int = 0
    stride: int = 0


@dataclass
class Standing:
    """Findings by their ids. `told` stand now; `seen` is everything that was ever told."""

    told: dict[str, Finding] = field(default_factory=dict)
    seen: dict[str, Finding] = field(default_factory=dict)
    fresh: dict[str, float] = field(default_factory=dict)  # not told yet, and since when

    def update(
        self, found: Iterable[Finding], now: float, *, at_once: bool = False
    ) -> list[tuple[str, Finding]]:
        """What is to be told, each with "new", "changed" or "withdrawn"."""
        standing = {one.id: one for one in found}
        changes = []
        for key, one in standing.items():
            before = self.told.get(key)
            since = self.fresh.setdefault(key, now) if before is None else now
            if before is None and not at_once and now - since < STEADY:
                continue
            self.add(one)
            if before is None or _differ(before, one):
                changes.append(("new" if before is None else "changed", one))
        self.fresh = {key: since for key, since in self.fresh.items() if key in standing}
        gone = [key for key in self.told if key not in standing]
        return changes + [("withdrawn", self.told.pop(key)) for key in gone]

    def add(self, one: Finding) -> None:
        """This one counts as told."""
        self.fresh.pop(one.id, None)
        self.told[one.id] = self.seen[one.id] = one

    def ripe(self, now: float) -> bool:
        """Whether one that was held back can be told now."""
        return any(now - since >= STEADY for since in self.fresh.values())

    @property
    def due(self) -> list[float]:
        """When those that are held back can be told."""
        return [since + STEADY for since in self.fresh.values()]

    def of(self, kind: str) -> Finding | None:
        """The one of this kind that lasts."""
        found = (one for one in self.told.values() if one.kind == kind)
        return next((one for one in found if one.state is State.OPEN), None)

    @property
    def open(self) -> tuple[Finding, ...]:
        """Those that nothing has overcome."""
        return tuple(one for one in self.told.values() if one.state is not State.RECOVERED)


def _differ(before: Finding, now: Finding) -> bool:
    """Another severity or state, or no longer (or newly) the cause."""
    roots = (before.role is Role.ROOT, now.role is Role.ROOT)
    return (before.severity, before.state, roots[0]) != (now.severity, now.state, roots[1])
