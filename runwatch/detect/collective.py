"""Names the rank that a collective waits for: the one behind or silent, never one that complains.

Every rank whose watchdog speaks was waiting. If all of them wait at the same number of the same
group's sequence, the culprit is a rank that said nothing; it can be named only when the number of
ranks is known and exactly one is missing. If one of them is behind the others, it is suspected.
"""

from dataclasses import field
from typing import Any

from runwatch.slotted import mutable

_KEPT = 8192


@mutable
class Waiting:
    """Who waited at which number. Keys are ranks."""

    at: dict[int, int] = field(default_factory=dict)
    completed: dict[int, int] = field(default_factory=dict)
    spoke: list[int] = field(default_factory=list)
    since: int = 0  # advances of the stream when the first of them spoke

    def feed(self, rank: int | None, told: dict[str, str]) -> None:
        """One watchdog's line."""
        if rank is None or len(self.spoke) >= _KEPT:
            return
        if rank not in self.spoke:
            self.spoke.append(rank)
        if "seq" in told:
            self.at.setdefault(rank, int(told["seq"]))
        if "completed" in told:
            self.completed.setdefault(rank, int(told["completed"]))

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        pairs = {"at": list(self.at.items()), "completed": list(self.completed.items())}
        return {**pairs, "spoke": list(self.spoke), "since": self.since}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Waiting":
        """What `state` gave, as it was."""
        return cls(
            dict(state["at"]), dict(state["completed"]), list(state["spoke"]), state["since"]
        )


def suspect(waiting: Waiting, world: int | None) -> tuple[int | None, str]:
    """The rank that the others waited for, or None and why it cannot be told."""
    if not waiting.spoke:
        return None, "undetermined: no rank is named by the watchdog"
    for numbers in (waiting.at, waiting.completed):
        if len(set(numbers.values())) > 1:
            lowest = min(numbers.values())
            behind = [rank for rank, number in numbers.items() if number == lowest]
            if len(behind) == 1:
                return behind[0], ""
            return None, f"undetermined: ranks {_listed(behind)} are behind the others"
    spoke = set(waiting.spoke)
    if world is not None and world > len(spoke):
        silent = [rank for rank in range(world) if rank not in spoke]
        if len(silent) == 1:
            return silent[0], ""
        return None, f"undetermined: the culprit is one of the silent ranks {_listed(silent)}"
    gaps = [rank for rank in range(max(spoke)) if rank not in spoke]
    if len(gaps) == 1 and world is None and _usual(max(spoke) + 1):
        return gaps[0], ""
    if gaps:
        return None, f"undetermined: all ranks that spoke wait; ranks {_listed(gaps)} said nothing"
    return None, "undetermined: all ranks that spoke wait at the same collective"


def _usual(ranks: int) -> bool:
    """A number of ranks that runs commonly have: then the one gap is no accident of the log."""
    return ranks > 2 and (ranks & (ranks - 1) == 0 or ranks % 8 == 0)


def _listed(ranks: list[int]) -> str:
    ranks = sorted(ranks)
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return ", ".join(map(str, ranks[:8])) + more
