"""A loss that runs away among its first records, before anything is known of its noise."""

from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, Groups, place
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.field import NOTHING
from runwatch.kernels.rolling import LEAST
from runwatch.kernels.run import compiles
from runwatch.kernels.runaway import ABSURD, FELL, KEPT, NEARLY, SEEN, SURE, calm
from runwatch.plain import counted
from runwatch.records import Batch

AWAY = 1000.0  # times all that it was before: no loss of a healthy run
DOUBLED = 2.0  # times all that it was before: where it began to run
LEFT = 5.0  # usual changes from record to record, that it must have learned
JUMPED = 10.0  # usual changes, by which it must have jumped
DOUBTFUL = 0.25  # of the jump, and half of what it learned: enough to wait, not to stop
STAYS = 5  # records that it must have stayed up
FALLS = 0.15  # of the jump, by which it must have come down to be learning something new
FEW = 3  # records that tell where it stands by now


class Detector:
    """A loss that runs away in a log of few records (`diverged`).

    Sees: among the first sixty records of a run a loss that stands at a thousand times all that it
    was before and above 100,000 (high); where it jumps among the first dozen, one that had been
    falling and then stands above where the run began for five records, and later one that loses
    four fifths of all that it had learned at once and for five records (high; for three, by less,
    or where it comes down from there as on a new task, it is `loss_spike_unresolved`, medium). Low
    and recovered once it is back below where it began, or half way back.

    Matters: many logs have a line for every hundred steps or every epoch. Their dozen records say
    plainly that all is lost, long before the noise is known that `spike` measures against.

    Misses: rises among the first dozen that stay below the level of the first records, and those of
    later records, which `spike` and `divergence` judge.

    Tune: AWAY, and ABSURD in kernels/runaway.py, say what no healthy loss reaches; a loss that is a
    sum over many tokens or pixels may need a larger ABSURD.
    """

    name = "runaway"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}
        self._over: dict[str, list[dict[str, Any]]] = {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        groups = columns.groups.get("loss")
        if groups is None:
            return
        behind: list[int] | None = None
        for i, (key, segment) in enumerate(zip(groups.keys, groups.segments.tolist(), strict=True)):
            track = self._tracks.get(key)
            if track is None or track["segment"] != segment:
                self._close(key, track, State.PROGRESSED)
                track = self._tracks[key] = _begun(segment)
                behind = _behind(groups) if behind is None else behind
                if behind[i] >= 0:
                    track.update(count=KEPT, step=int(groups.arrays.step[behind[i]]))
            if track["count"] < KEPT or track["at"] is not None:
                self._follow(key, track, groups, i)

    def findings(self) -> list[Finding]:
        """Where a loss ran away, and whether it came back."""
        found = [_told(run, State(run["state"])) for many in self._over.values() for run in many]
        found += [_told(t, State.OPEN) for t in self._tracks.values() if t["at"] is not None]
        return fold(found)

    def check(self) -> Check:
        """Ran when a few losses were reported."""
        few = max((track["count"] for track in self._tracks.values()), default=0)
        ran = few >= SEEN + SURE
        return Check(self.name, ran, "" if ran else f"a loss in {counted(few, 'record')} only")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks, "over": self._over}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks, self._over = state["tracks"], state["over"]

    def _follow(self, key: str, track: dict[str, Any], groups: Groups, i: int) -> None:
        """Take the rows of the i-th series, as many as are still looked at."""
        rows = groups.arrays
        for row in range(int(groups.begins[i]), int(groups.begins[i + 1])):
            value, step = float(rows.value[row]), int(rows.step[row])
            if value - value != 0.0 or (step != NOTHING and step == track["step"]):
                continue
            track["step"] = step
            line = int(rows.line[row])
            if track["at"] is not None:
                self._back(key, track, value, line)
            if track["count"] < KEPT:
                track["count"] += 1
                track["values"].append(value)
                track["places"].append([line, step, int(rows.time[row])])
                _judge(key, track, line)
            else:
                track["values"], track["places"] = [], []
                if track["at"] is None:
                    return

    def _back(self, key: str, track: dict[str, Any], value: float, line: int) -> None:
        """One more record of a loss that ran away: it may be back."""
        track["line"], track["now"] = line, value
        if value < track["before"]:
            self._close(key, track, State.RECOVERED)
            track["at"], track["count"] = None, KEPT

    def _close(self, key: str, track: dict[str, Any] | None, state: State) -> None:
        if track is not None and track["at"] is not None:
            told = {name: track[name] for name in ("at", "line", "before", "now", "sure")}
            self._over[key] = [*self._over.get(key, ()), {**told, "state": state.value}][-10:]


def _behind(groups: Groups) -> list[int]:
    """The row of each series at which its first records are over and surely were calm, -1 where
    that is not known; of what is compiled only."""
    if not compiles(len(groups.arrays.value)):
        return [-1] * len(groups)
    at = np.empty(len(groups), np.int64)
    calm(groups.arrays.step, groups.arrays.value, groups.begins, at)
    return at.tolist()


def _begun(segment: int) -> dict[str, Any]:
    return {
        "segment": segment, "step": None, "count": 0, "values": [], "places": [],
        "at": None, "line": 0, "before": 0.0, "now": 0.0, "sure": False,
    }  # fmt: skip


def _judge(key: str, track: dict[str, Any], line: int) -> None:
    """Whether the last records stand where no healthy loss would."""
    values = track["values"]
    begin = _exploded(values)
    sure = begin is not None
    if begin is None:
        begin, sure = _lost(values)
    if begin is None:
        begin, sure = _collapsed(values)
    if begin is None:
        return
    if track["at"] is None:
        track["at"] = place(key, *track["places"][begin])
        track["before"] = _before(values, begin)
    track["line"], track["now"], track["sure"] = line, values[-1], sure


def _before(values: list[float], begin: int) -> float:
    """What it was at most before it rose; of one that did not rise above that, half way down."""
    most, low = max(abs(value) for value in values[:begin]), median(values[begin - FEW : begin])
    return most if min(values[begin:]) > most else 0.5 * (low + min(values[begin:]))


def _exploded(values: list[float]) -> int | None:
    """Where a loss began to run that stands far above all that it was before."""
    if len(values) < SURE + 1:
        return None
    low = min(values[-SURE:])
    if low <= ABSURD:
        return None
    for begin in range(1, len(values) - SURE + 1):
        before = max(abs(value) for value in values[:begin])
        ran = min(values[begin:]) > DOUBLED * before
        if ran and low > max(ABSURD, AWAY * before):
            return begin
    return None


def _lost(values: list[float]) -> tuple[int | None, bool]:
    """Where a loss jumped that had fallen before and stands above all that it was, and whether
    it has stayed there."""
    if values[-1] <= max(values[:FELL]):
        return None, False
    for begin in range(FELL, min(LEAST, len(values) - SEEN) + 1):
        before, after = values[:begin], values[begin:]
        if min(after) <= max(before) or before[0] < max(before):
            continue
        usual = median(abs(b - a) for a, b in pairwise(before))
        learned, jump = before[0] - min(before), after[0] - before[-1]
        if learned > LEFT * usual and jump > JUMPED * usual:
            return begin, len(after) >= STAYS and not _falls(after, jump)
        doubtful = learned > 0.5 * LEFT * usual and jump > DOUBTFUL * JUMPED * usual
        if doubtful and len(after) >= STAYS:
            return begin, False
    return None, False


def _collapsed(values: list[float]) -> tuple[int | None, bool]:
    """Where a loss lost nearly all that it had learned at once, and whether it stays there."""
    for many in (STAYS, SEEN):
        begin = len(values) - many
        if begin <= LEAST:
            continue
        before, after = values[:begin], values[begin:]
        low = median(before[-FEW:])
        learned, jump = median(before[:FEW]) - low, min(after) - low
        usual = median(abs(b - a) for a, b in pairwise(before[-LEAST:]))
        if learned > JUMPED * usual and jump > max(NEARLY * learned, JUMPED * usual):
            return begin, many == STAYS and not _falls(after, jump)
    return None, False


def _falls(after: list[float], jump: float) -> bool:
    """Whether a loss comes down from where it jumped to."""
    return median(after[-FEW:]) < median(after[:FEW]) - FALLS * jump


def _told(run: dict[str, Any], state: State) -> Finding:
    kind, severity = "loss_spike_unresolved", Severity.MEDIUM
    if state is State.RECOVERED:
        kind, severity = "loss_spike_recovered", Severity.LOW
    elif run["sure"]:
        kind, severity = "diverged", Severity.HIGH
    if state is State.PROGRESSED:
        severity = Severity.MEDIUM
    at = run["at"]
    return finding(
        kind,
        severity,
        at,
        f"{at['metric']} rose and has lost what it had learned: from below {run['before']:.4g} "
        f"to {run['now']:.4g}",
        state=state,
        last_line=run["line"],
        confidence="medium",
    )
