"""A loss that no longer falls, or does not move at all."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, place, run
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.plateau import BLOCK, FIELDS, WINDOW, follow
from runwatch.kernels.tracks import Tracks
from runwatch.records import Batch

FROZEN = 10  # steps at exactly the same value
DIGITS = 4  # significant digits that such a value must have to be no rounding
UNMOVED = 1000  # steps after which a loss that stands where it began deserves a word
EARLY = 0.1  # share of the announced steps before which nothing is said


class Detector:
    """Plateaus (`plateau`): a reason to wait and look, never to stop.

    Sees: exactly the same loss, with four digits or more, on ten steps in a row (medium): a model
    that does not learn at all, as ln 2 = 0.6931 for two classes. And a Theil-Sen slope over the
    last 500 steps, or the last twentieth of the run, that changed by less than the noise of the
    blocks it is measured on and by less than 0.2 % of what was learned (low). And a loss that in a
    thousand steps or more never left the level of its first steps (low): nothing was learned.

    Matters: the rest of the run may be money for nothing.

    Misses: the first tenth of the announced steps, and slow progress below the noise. A run whose
    learning rate has decayed ends flat, and should.

    Tune: WINDOW and FLAT in kernels/plateau.py; rules that compare with the best value raise
    on nearly every healthy step, since the best of a noisy series is always old.
    """

    name = "plateau"

    def __init__(self) -> None:
        self._tracks = Tracks(FIELDS)
        self._totals: dict[str, int] = {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        if batch.total_steps:
            self._totals[batch.stream.name] = batch.total_steps
        groups = columns.groups.get("loss")
        if groups is None:
            return
        for _, slot, _, segment, _ in run(follow, self._tracks, groups):
            self._tracks[slot] = self._tracks.fresh(segment=segment)

    def findings(self) -> list[Finding]:
        """What does not move now."""
        found = []
        for key, track in self._tracks.marked("still_count"):
            if track.still_count >= FROZEN and _exact(track.still):
                at = place(key, track.still_line, track.still_step, track.still_time)
                message = f"exactly {track.still:g} on {track.still_count} steps in a row"
                found.append(_told(at, track.still_last_line, Severity.MEDIUM, message))
            elif track.unmoved_steps >= UNMOVED and _unmoved(track):
                at = place(key, track.unmoved_line, track.unmoved_step, track.unmoved_time)
                message = (
                    f"where it began: in {track.unmoved_steps} steps it has not moved by more "
                    f"than its noise of {track.unmoved_noise:.2g}"
                )
                if not self._short(at, track.unmoved_steps):
                    found.append(_told(at, track.still_last_line, Severity.LOW, message))
            elif track.flat:
                at = place(key, track.flat_line, track.flat_step, track.flat_time)
                message = (
                    f"flat over {track.flat_steps} steps: it changed by {-track.flat_fall:.1g}, "
                    f"less than its noise of {track.flat_noise:.2g}"
                )
                if not self._early(at):
                    found.append(_told(at, track.flat_last_line, Severity.LOW, message))
        return fold(found)

    def check(self) -> Check:
        """Ran when enough steps reported a loss."""
        if not len(self._tracks):
            return Check(self.name, False, "no training loss in the log")
        if (self._tracks.column("window") == WINDOW).any():
            return Check(self.name, True)
        return Check(self.name, False, f"fewer than {BLOCK * WINDOW} steps report a loss")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks.state(), "totals": self._totals}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])
        self._totals = state["totals"]

    def _early(self, at: dict[str, Any]) -> bool:
        total = self._totals.get(at["stream"])
        return total is not None and at["step"] is not None and at["step"] < EARLY * total

    def _short(self, at: dict[str, Any], steps: int) -> bool:
        """Whether too little of the announced steps was seen."""
        total = self._totals.get(at["stream"])
        return total is not None and steps < EARLY * total


def _unmoved(track: Any) -> bool:
    """Whether the level is a level at all: a policy's loss that wavers about 0 has none."""
    return bool(track.unmoved and abs(track.start) > 10.0 * track.unmoved_noise)


def _exact(value: float) -> bool:
    return value != 0.0 and len(f"{value:.12g}".replace(".", "").strip("-0")) >= DIGITS


def _told(at: dict[str, Any], line: int, severity: Severity, message: str) -> Finding:
    return finding(
        "plateau",
        severity,
        at,
        f"{at['metric']} is {message}",
        state=State.OPEN,
        last_line=line,
        role=Role.SYMPTOM,
        confidence="medium",
    )
