"""A loss that climbs too slowly for `spike`, or stands where no healthy loss stands."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, place, run
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.divergence import BLOCK, FIELDS, LASTING, follow, lasts
from runwatch.kernels.run import SEGMENT
from runwatch.kernels.tracks import Tracks
from runwatch.records import Batch

FEW = 5  # records at an absurd level


class Detector:
    """Slow divergence, and a loss at an absurd level.

    Sees: medians of twenty steps that for five blocks in a row lie above the best block by a fifth
    of everything learned since the start and by three spreads, without a sudden jump between:
    `loss_spike_unresolved` (medium), from half of what was learned `diverged` (high). And a log
    that begins late in a run (step 1,000 or more) with a loss above a million that does not fall:
    `diverged`, since a baseline learned from there would call it normal.

    Matters: a slow climb never shows against a window that climbs with it.

    Misses: climbs in the first 200 steps, and rewards or losses that never fell.

    Tune: SHARE and LASTING in kernels/divergence.py; a curriculum that makes the task
    harder needs a larger SHARE.
    """

    name = "divergence"

    def __init__(self) -> None:
        self._tracks = Tracks(FIELDS)
        self._over: dict[str, list[dict[str, Any]]] = {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        groups = columns.groups.get("loss")
        if groups is None:
            return
        for code, slot, key, segment, _ in run(follow, self._tracks, groups):
            if code == SEGMENT:
                self._tracks[slot] = self._tracks.fresh(segment=segment)
            else:
                climb = _climb(self._tracks[slot])
                self._over[key] = [*self._over.get(key, ()), climb][-10:]

    def findings(self) -> list[Finding]:
        """Climbs that are not over, those that are, and absurd levels."""
        found = [
            _told(key, climb, State.RECOVERED) for key, over in self._over.items() for climb in over
        ]
        for key, track in self._tracks.marked("climbing"):
            if lasts(track):
                found.append(_told(key, _climb(track), State.OPEN))
        for key, track in self._tracks.marked("absurd"):
            if track.absurd_count >= FEW:
                found.append(_absurd(key, track))
        return fold(found)

    def check(self) -> Check:
        """Ran when there were blocks enough to compare."""
        if not len(self._tracks):
            return Check(self.name, False, "no training loss in the log")
        if self._tracks.column("blocks").max() > LASTING:
            return Check(self.name, True)
        return Check(self.name, False, f"fewer than {BLOCK * (LASTING + 1)} steps report a loss")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks.state(), "over": self._over}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])
        self._over = state["over"]


def _climb(track: Any) -> dict[str, Any]:
    names = ("line", "step", "time", "blocks", "best", "now", "share", "last_line")
    return {name: getattr(track, f"climb_{name}") for name in names}


def _told(key: str, climb: dict[str, Any], state: State) -> Finding:
    kind, severity = "loss_spike_unresolved", Severity.MEDIUM
    if state is State.RECOVERED:
        kind, severity = "loss_spike_recovered", Severity.LOW
    elif climb["share"] >= 0.5:
        kind, severity = "diverged", Severity.HIGH
    at = place(key, climb["line"], climb["step"], climb["time"])
    return finding(
        kind,
        severity,
        at,
        f"{at['metric']} climbed from {climb['best']:.4g} to {climb['now']:.4g} over "
        f"{climb['blocks'] * BLOCK} steps: {climb['share']:.0%} of what was learned",
        state=state,
        last_line=climb["last_line"],
    )


def _absurd(key: str, track: Any) -> Finding:
    at = place(key, track.absurd_line, track.absurd_step, track.absurd_time)
    return finding(
        "diverged",
        Severity.HIGH,
        at,
        f"{at['metric']} stands at {track.absurd_value:.3g} at step {at['step']} and does not fall",
        last_line=track.absurd_last_line,
        confidence="medium",
    )
