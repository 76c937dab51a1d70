"""A learning rate that leaves any schedule: zero, negative, or suddenly much higher."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, place, run
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.learning_rate import FIELDS, SCHEDULE, follow
from runwatch.kernels.tracks import Tracks
from runwatch.records import Batch

ZEROS = 10  # steps in a row at exactly 0, after it was above


class Detector:
    """Learning rates no schedule explains (`lr_schedule`).

    Sees: a rate that is negative or not finite (medium); exactly 0 on ten steps in a row, right
    after a rate that was not yet small (medium); and, from the twentieth record on, a rate three
    times that of the record before, in the decay and within one segment (low).

    Matters: a resumed run whose scheduler was not restored trains at the wrong rate for days.

    Misses: a wrong rate that changes smoothly. Warm-up, step decay, a decay that ends at 0 or is
    rounded to it, and cosine restarts (three jumps or more) are innocent.

    Tune: JUMP in kernels/learning_rate.py is the factor between two records, ZEROS how many
    records may be exactly 0.
    """

    name = "learning_rate"

    def __init__(self) -> None:
        self._tracks = Tracks(FIELDS)

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        groups = columns.groups.get("lr")
        if groups is None:
            return
        for _, slot, _, segment, _ in run(follow, self._tracks, groups):
            self._tracks[slot] = self._tracks.fresh(segment=segment)

    def findings(self) -> list[Finding]:
        """What no schedule explains, told once for all parameter groups."""
        found = []
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
        return fold(found)

    def check(self) -> Check:
        """Ran when a learning rate was reported."""
        ran = len(self._tracks) > 0
        return Check(self.name, ran, "" if ran else "no learning rate in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])


def _jumped(key: str, track: Any, i: int) -> Finding:
    at = place(key, track.jump_line[i], track.jump_step[i], track.jump_time[i])
    message = f"jumped from {track.jump_before[i]:.3g} to {track.jump_value[i]:.3g}"
    return _told(at, Severity.LOW, message, at["line"])


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
