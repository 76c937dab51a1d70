"""A learning rate that leaves any schedule: zero, negative, suddenly higher, rising again."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, Groups, place, run
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.field import NOTHING, TAIL
from runwatch.kernels.learning_rate import (
    FIELDS,
    JUMP,
    SCHEDULE,
    SETTLED,
    climbs,
    follow,
)
from runwatch.kernels.tracks import Tracks
from runwatch.records import Batch

_KEPT = 4
ZEROS = 10  # steps in a row at exactly 0, after it was above


class Detector:
    """Learning rates no schedule explains (`lr_schedule`).

    Sees: a rate that is negative or not finite (medium); exactly 0 on ten steps in a row, right
    after a rate that was not yet small (medium); and, from the twentieth record on, a rate three
    times that of the record before, within one segment: in the decay low, above three times the
    highest rate until then medium. A rate that had decayed and rises for ten records or more, until
    it falls again (low). And a run that was started again with a rate three times that of
    the same step before (low).

    Matters: a resumed run whose scheduler was not restored trains at the wrong rate for days.

    Misses: a rate that decays smoothly and at a wrong pace, or a warm-up that does not end, as only
    the run's configuration says what was meant. Warm-up, step decay, a decay that ends at 0 or is
    rounded to it, and cosine restarts (three jumps or more) are innocent.

    Tune: JUMP in kernels/learning_rate.py is the factor between two records, ZEROS how many
    records may be exactly 0.
    """

    name = "learning_rate"

    def __init__(self) -> None:
        self._tracks = Tracks(FIELDS)
        self._resumed: dict[str, list[dict[str, Any]]] = {}  # rates that a restart raised

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        groups = columns.groups.get("lr")
        if groups is None:
            return
        for _, slot, key, segment, row in run(follow, self._tracks, groups):
            if (resumed := _resumed(self._tracks[slot], groups, row)) is not None:
                self._resumed[key] = [*self._resumed.get(key, ()), resumed][-_KEPT:]
            self._tracks[slot] = self._tracks.fresh(segment=segment)

    def findings(self) -> list[Finding]:
        """What no schedule explains, told once for all parameter groups."""
        found = [_raised(key, one) for key, many in self._resumed.items() for one in many]
        for key, track in self._tracks.marked("bad"):
            at = place(key, track.bad_line, track.bad_step, track.bad_time)
            found.append(_told(at, Severity.MEDIUM, f"is {track.bad_value:g}", at["line"]))
        for key, track in self._tracks.marked("zeros"):
            if track.zeros >= ZEROS:
                at = place(key, track.zero_line, track.zero_step, track.zero_time)
                message = f"is exactly 0 on {track.zeros} steps in a row"
                found.append(_told(at, Severity.MEDIUM, message, track.zero_last_line))
        for key, track in self._tracks.marked("jumps"):
            if track.jumps < SCHEDULE:
                found += [_jumped(key, track, i) for i in range(track.jumps)]
        for key, track in self._tracks.marked("climb"):
            if climbs(track):
                found.append(_climbing(key, track))
        return fold(found)

    def check(self) -> Check:
        """Ran when a learning rate was reported."""
        ran = len(self._tracks) > 0
        return Check(self.name, ran, "" if ran else "no learning rate in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks.state(), "resumed": self._resumed}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])
        self._resumed = state["resumed"]


def _resumed(track: Any, groups: Groups, row: int) -> dict[str, Any] | None:
    """The first rate of a restarted run, where it is far above that of the same step before."""
    line, time, step, _, value = (a[row].item() for a in groups.arrays)
    n = min(track.tail_n, TAIL)
    known = [(track.tail_at[i], track.tail_value[i]) for i in range(n) if track.tail_value[i] > 0.0]
    if track.seen <= SETTLED or step == NOTHING or not known or step < min(known)[0]:
        return None
    _, before = max(pair for pair in known if pair[0] <= step)
    if not value > JUMP * before:
        return None
    return {"line": line, "time": time, "step": step, "value": value, "before": before}


def _raised(key: str, one: dict[str, Any]) -> Finding:
    at = place(key, one["line"], one["step"], one["time"])
    message = f"is {one['value']:.3g} after a restart, where it was {one['before']:.3g} before"
    return _told(at, Severity.LOW, message, at["line"])


def _jumped(key: str, track: Any, i: int) -> Finding:
    at = place(key, track.jump_line[i], track.jump_step[i], track.jump_time[i])
    message = f"jumped from {track.jump_before[i]:.3g} to {track.jump_value[i]:.3g}"
    if track.jump_above[i] <= JUMP:
        return _told(at, Severity.LOW, message, at["line"])
    message += f", {track.jump_above[i]:.0f} times the highest rate until then"
    return _told(at, Severity.MEDIUM, message, at["line"])


def _climbing(key: str, track: Any) -> Finding:
    at = place(key, track.turn_line, track.turn_step, track.turn_time)
    message = (
        f"had decayed to {track.trough:.3g} and rises since, to {track.risen:.3g} in "
        f"{track.climb} records: a decay does not, a cyclic schedule does"
    )
    return _told(at, Severity.LOW, message, track.turn_last_line)


def _told(at: dict[str, Any], severity: Severity, message: str, last_line: int) -> Finding:
    return finding(
        "lr_schedule",
        severity,
        at,
        f"{at['metric']} {message}",
        state=State.OPEN,
        last_line=last_line,
        role=Role.SYMPTOM,
        confidence="medium",
    )
