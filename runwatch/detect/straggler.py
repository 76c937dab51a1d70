"""Ranks that are slower than the others, where the log can tell at all."""

from typing import Any

from runwatch.detect.fold import finding
from runwatch.detect.series import Rows, distinct, series
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.records import Batch

FEW_RANKS = 4
FEW_STEPS = 10
KEPT = 100  # values per rank whose median is compared
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
        self._tracks: dict[str, dict[str, Any]] = {}
        self._walled: dict[str, bool] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        for rows in series(batch, "compute_time", "data_time", "step_time"):
            if rows.rank is None:
                continue
            if rows.quantity == "step_time":
                self._walled[str(rows.rank)] = True
                continue
            _follow(self._tracks, rows)

    def findings(self) -> list[Finding]:
        """The slow ranks, by the measure that shows them."""
        found = []
        for ranks in self._measures().values():
            levels = {key: _median(track["values"]) for key, track in ranks.items()}
            typical = _median(list(levels.values()))
            slow = [key for key, level in levels.items() if level > SLOW * typical > 0.0]
            if 4 * len(slow) <= len(ranks):
                found += [_told(ranks[key], levels[key], typical) for key in slow]
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
        return {"tracks": self._tracks, "walled": self._walled}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks, self._walled = state["tracks"], state["walled"]

    def _measures(self) -> dict[str, dict[str, dict[str, Any]]]:
        """For each metric the series of its ranks, where there are enough of both."""
        measures: dict[str, dict[str, dict[str, Any]]] = {}
        for key, track in self._tracks.items():
            if len(track["values"]) >= FEW_STEPS:
                measures.setdefault(track["at"]["metric"], {})[key] = track
        return {metric: ranks for metric, ranks in measures.items() if len(ranks) >= FEW_RANKS}


def _follow(tracks: dict[str, dict[str, Any]], rows: Rows) -> None:
    track = tracks.get(rows.key)
    if track is None or track["segment"] != rows.segment:
        tracks[rows.key] = track = {
            "segment": rows.segment,
            "at": rows.place(0),
            "last": None,
            "values": [],
            "line": 0,
        }
    rows, track["last"] = distinct(rows, track["last"])
    fresh = [value for value in rows.value[-KEPT:].tolist() if value - value == 0.0]
    track["values"] = (track["values"] + fresh)[-KEPT:]
    if len(rows):
        track["line"] = int(rows.line[-1])


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _told(track: dict[str, Any], level: float, typical: float) -> Finding:
    at = track["at"]
    return finding(
        "straggler",
        Severity.MEDIUM,
        at,
        f"rank {at['rank']} takes {level / typical:.2f} times as long as the median rank "
        f"({at['metric']} {level:.4g} against {typical:.4g})",
        state=State.OPEN,
        last_line=track["line"],
        role=Role.SYMPTOM,
        confidence="medium",
    )
