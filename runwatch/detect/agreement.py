"""Ranks that disagree about what all of them used to say alike."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from runwatch.detect.compared import PROVEN, Compared, Place
from runwatch.detect.culprit import listed
from runwatch.detect.fold import finding
from runwatch.detect.series import Columns
from runwatch.detect.steps import Told, step_of
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.field import NOTHING
from runwatch.kernels.native import address
from runwatch.kernels.run import compiles
from runwatch.pattern import compiled
from runwatch.records import Batch
from runwatch.slotted import frozen

WATCHED = ("lr", "grad_norm", "loss", "loss_scale")
LASTING = 5  # compared steps in a row, to the last one, at which they disagree
HEARD = 0.75  # of the ranks that must have told a step before it is compared
VARIED = 10  # different values on which they agreed: all print the same 0.0 of what is switched off
KEPT = 32  # metrics
_ATTEMPT = compiled(r"(?:^|/)(?:attempt|restart|retry|try)[-_]?(\d{1,4})(?=[/._-])", re.IGNORECASE)


class Detector:
    """Ranks that disagree (`rank_disagrees`).

    Sees: a learning rate, gradient norm, loss or loss scale that ranks report each for themselves
    and that was the same on all of them on thirty compared steps or more, and then is another on
    one rank or on fewer than half, on five compared steps in a row up to the last one (high, open).
    Of a long run every second, fourth … step is compared.

    Matters: what is reduced over all ranks is the same on all; where it no longer is, a rank has
    lost its place in the schedule or the data, or its weights are others, and what is trained from
    there is of no use.

    Misses: what was never the same (a loss that is not reduced), what differs for a few steps only,
    and logs in which ranks do not speak. Of two ranks, or two halves, nobody can tell which is
    wrong. Printed numbers may differ in the last digit. A restart counts anew, and so does an
    attempt that writes files of its own.

    Tune: PROVEN in detect/compared.py, SAME in kernels/agreement.py, LASTING here.
    """

    name = "agreement"

    def __init__(self) -> None:
        self._metrics: dict[str, Compared] = {}
        self._attempt = -1  # the latest that has streams of its own

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream; what attempts before the latest say is past."""
        attempt = _attempt(batch.stream.name)
        if attempt < self._attempt:
            return
        if attempt > self._attempt:
            self._attempt, self._metrics = attempt, {}
        steps: dict[int, Told] = {}  # of what stands in the same records once
        for quantity in WATCHED:
            groups = columns.groups.get(quantity)
            if groups is None or groups.names[0][1] is None:
                continue
            at = address(groups.arrays.step)
            if at not in steps:
                steps[at] = Told(groups, columns.room, compiled=compiles(len(columns)))
            told = steps[at]
            metrics: dict[str, list[int]] = {}
            for i, (metric, rank) in enumerate(groups.names):
                if rank is not None:
                    metrics.setdefault(metric, []).append(i)
            for metric, chosen in metrics.items():
                name = f"{quantity}\0{metric}"
                if name not in self._metrics and len(self._metrics) < KEPT:
                    self._metrics[name] = Compared()
                if name in self._metrics:
                    self._metrics[name].feed(batch.stream.name, groups, chosen, told)

    def findings(self) -> list[Finding]:
        """Ranks that left the others, each set of them told once, by what it left first."""
        found: dict[str, tuple[int, Finding]] = {}
        for name, compared in self._metrics.items():
            quantity, metric = name.split("\0")
            told = _judged(quantity, metric, compared)
            if told is not None:
                key, ranks, item = told
                if ranks not in found or key < found[ranks][0]:
                    found[ranks] = key, item
        return [item for _, item in found.values()]

    def check(self) -> Check:
        """Ran where several ranks agreed for long enough."""
        if any(_agreed(each, len(each.keys)) >= PROVEN for each in self._metrics.values()):
            return Check(self.name, True)
        return Check(self.name, False, f"nothing that several ranks report alike on {PROVEN} steps")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        metrics = {name: each.state() for name, each in self._metrics.items()}
        return {"metrics": metrics, "attempt": self._attempt}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._metrics = {name: Compared.restored(each) for name, each in state["metrics"].items()}
        self._attempt = state["attempt"]


def _attempt(stream: str) -> int:
    """Which attempt of its run a stream is of by its name, -1 where it says nothing."""
    found = _ATTEMPT.search(stream)
    return int(found[1]) if found else -1


def _agreed(of: Compared, end: int) -> int:
    """At how many of the first `end` steps all said exactly the same."""
    alone = np.array([key not in of.apart for key in of.keys[:end].tolist()], bool)
    return int(np.count_nonzero((of.count[:end] > 1) & ~of.loose[:end] & alone))


def _heard(of: Compared) -> list[int]:
    """The steps that ranks enough have told."""
    told = of.count + 0
    for key, groups in of.apart.items():
        told[np.searchsorted(of.keys, key)] += sum(len(group.ranks) for group in groups)
    return np.flatnonzero((told > 1) & (told >= HEARD * len(of.last))).tolist()


def _judged(quantity: str, metric: str, of: Compared) -> tuple[int, str, Finding] | None:
    """Where a disagreement that lasts began: its key, whose it is, and the finding."""
    heard = _heard(of)
    end = len(heard)
    while end and int(of.keys[heard[end - 1]]) in of.apart:
        end -= 1
    sides = [_Sides.at(of, i) for i in heard[end:]]
    if len(sides) < LASTING or not _proven(quantity, of, heard[:end]):
        return None
    odd = set.intersection(*(side.odd for side in sides))
    if not odd and not all(side.divided for side in sides):
        return None
    item = _told(metric, sides[0], odd, end)
    return (
        sides[0].key,
        str(sorted(odd)),
        replace(item, last_line=max(item.line, sides[-1].place[1])),
    )


def _proven(quantity: str, of: Compared, before: list[int]) -> bool:
    """Whether the ranks said the same before, and something that changes."""
    if not before:
        return False
    agreed, values = _agreed(of, before[-1] + 1), of.value[: before[-1] + 1]
    least = VARIED if quantity != "lr" else 1
    varied = len({*values[values != 0.0].tolist()}) >= least
    return agreed >= PROVEN and agreed >= 0.9 * len(before) and varied


@frozen
class _Sides:
    """What one step says: the ranks that are not of the majority, what they and the others said,
    and where they did; `divided` where two sides are equally large."""

    key: int
    odd: set[int]
    said: float
    others: float
    place: Place
    divided: bool

    @classmethod
    def at(cls, of: Compared, i: int) -> "_Sides":
        """The step at this place of `keys`."""
        key, rank = int(of.keys[i]), int(of.rank[i])
        groups = sorted(of.apart[key], key=lambda group: -len(group.ranks))
        most, first = groups[0], int(of.count[i])
        total = first + sum(len(group.ranks) for group in groups)
        value, place = float(of.value[i]), (of.streams[rank], int(of.line[i]), int(of.time[i]))
        if 2 * first > total:
            odd = {rank for group in groups for rank in group.ranks}
            return cls(key, odd, most.value, value, most.place, False)
        if 2 * len(most.ranks) > total:
            return cls(key, of.last.keys() - most.ranks, value, most.value, place, False)
        divided = len(groups) == 1
        return cls(key, set(), most.value, value, most.place, divided)


def _told(metric: str, side: _Sides, odd: set[int], agreed: int) -> Finding:
    stream, line, time = side.place
    one = min(odd) if len(odd) == 1 else None
    at = {
        "stream": stream, "line": line, "step": step_of(side.key), "rank": one, "metric": metric,
        "time": None if time == NOTHING else time,
    }  # fmt: skip
    who = f"rank {one} left" if one is not None else f"ranks {listed(odd)} left"
    if not odd:
        who = "half of the ranks left"
    item = finding(
        "rank_disagrees",
        Severity.HIGH,
        at,
        f"{metric} of {who} the others at step {at['step']} ({side.said:.6g} against "
        f"{side.others:.6g}), after {agreed} compared steps on which all said the same",
        state=State.OPEN,
        role=Role.ROOT,
        confidence="medium",
    )
    if one is not None:
        return item
    why = f"ranks {listed(odd)} differ alike" if odd else "as many ranks say one as the other"
    return replace(item, rank_note=f"undetermined: {why}")
