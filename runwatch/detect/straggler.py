"""Ranks that are slower than the others, where the log can tell at all."""

from typing import Any

from runwatch.detect.fold import finding
from runwatch.detect.series import Columns, place, run
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.rolling import middle
from runwatch.kernels.straggler import FIELDS, KEPT, follow
from runwatch.kernels.tracks import Tracks, unkeyed
from runwatch.records import Batch

FEW_RANKS = 4
FEW_STEPS = 10
SLOW = 1.33  # times the median rank: a score of 0.75 in NVIDIA's resiliency extension


class Detector:
    """Stragglers (`straggler`).

    Sees: a rank whose median compute time, or time waiting for data, over its last hundred steps
    is a third above that of the median rank, with four ranks and ten steps at least (medium).

    Matters: one slow rank slows all of them, as every step waits for the last.

    Misses: everything where only wall time per step is logged by rank. Collectives equalise it, so
    the answer is "not attributable", given in the list of checks. Ranks of different pipeline
    stages have different work and should not be compared.

    Tune: SLOW is how many times the median rank a rank must take.
    """

    name = "straggler"

    def __init__(self) -> None:
        self._tracks = Tracks(FIELDS)
        self._walled: set[int] = set()  # ranks whose time per step is told

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        if "step_time" in columns.groups:
            ranks = {rank for _, rank in columns.groups["step_time"].names}
            self._walled |= {rank for rank in ranks if rank is not None}
        for quantity in ("compute_time", "data_time"):
            groups = columns.groups.get(quantity)
            if groups is None:
                continue
            for _, slot, _, segment, _ in run(follow, self._tracks, groups):
                self._tracks[slot] = self._tracks.fresh(segment=segment)

    def findings(self) -> list[Finding]:
        """The slow ranks, by the measure that shows them."""
        found = []
        for ranks in self._measures().values():
            levels = {
                rank: middle(track.values, min(track.seen, KEPT))
                for rank, (_, track) in ranks.items()
            }
            typical = middle(list(levels.values()), len(levels))
            slow = [rank for rank, level in levels.items() if level > SLOW * typical > 0.0]
            if 4 * len(slow) <= len(ranks):
                found += [_told(*ranks[rank], levels[rank], typical) for rank in slow]
        return found

    def check(self) -> Check:
        """Ran when compute or wait time of enough ranks was reported."""
        if self._measures():
            return Check(self.name, True)
        if len(self._walled) > 1:
            why = "not attributable: only wall time per step is logged by rank, which collectives"
            return Check(self.name, False, f"{why} equalise")
        return Check(self.name, False, f"no compute or wait time of {FEW_RANKS} ranks in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks.state(), "walled": sorted(self._walled)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])
        self._walled = set(state["walled"])

    def _measures(self) -> dict[str, dict[int, tuple[str, Any]]]:
        """For each metric its ranks, where there are enough, each with its latest series.

        A rank that speaks in several streams, or was started again, is still one rank.
        """
        measures: dict[str, dict[int, tuple[str, Any]]] = {}
        for key, track in self._tracks.marked("seen"):
            _, metric, rank = unkeyed(key)
            if track.seen < FEW_STEPS or rank is None:
                continue
            ranks = measures.setdefault(metric, {})
            if rank not in ranks or _progress(ranks[rank][1]) < _progress(track):
                ranks[rank] = key, track
        return {metric: ranks for metric, ranks in measures.items() if len(ranks) >= FEW_RANKS}


def _progress(track: Any) -> tuple[int, int, int]:
    return track.segment, track.last_step, track.seen


def _told(key: str, track: Any, level: float, typical: float) -> Finding:
    at = place(key, track.line, track.step, track.time)
    return finding(
        "straggler",
        Severity.MEDIUM,
        at,
        f"rank {at['rank']} takes {level / typical:.2f} times as long as the median rank "
        f"({at['metric']} {level:.4g} against {typical:.4g})",
        state=State.OPEN,
        last_line=track.last_line,
        role=Role.SYMPTOM,
        confidence="medium",
    )
