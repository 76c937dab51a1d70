"""Sudden rises of the loss: held until they are over or have settled, then named."""

from itertools import pairwise
from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.named import holds, threshold
from runwatch.detect.series import Columns, place, run
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.rolling import LEAST
from runwatch.kernels.run import SEGMENT
from runwatch.kernels.spike import (
    FIELDS,
    HOLD,
    MARKED,
    RECOVERED,
    SETTLED,
    diverged,
    follow,
    lost,
    notable,
    stands,
)
from runwatch.kernels.tracks import Tracks
from runwatch.plain import counted
from runwatch.records import Batch

KEPT = 5  # rises told per series; the largest stay


class Detector:
    """Spikes and divergence of the training loss.

    Sees: a loss that leaves its own recent past upwards, by a one-sided CUSUM on median and
    spread of the last 200 steps, taken in by twenties, so that one big jump, a lasting step of four
    spreads and a slow ramp are all found within steps. The rise is then held. Back within three
    spreads of the level before: `loss_spike_recovered` (low), told if it reached eight spreads.
    Still up after twenty steps or twice the time to the peak: `loss_spike_unresolved` (medium). Up
    by more than half of all that the run had learned, or far up for a tenth of the run without
    coming down: `diverged` (high; critical at or above the level of the first steps).

    Matters: most spikes heal by themselves, and a run stopped for one is lost for nothing; one
    that does not heal wastes everything after it.

    Misses: a rise slower than its window of 200 steps (see `divergence`), anything in the first
    dozen steps, and a series whose noise grows with the rise. Only differences are judged, so
    negative losses are as good as positive ones. Restarts start over; repeated steps count once.

    Tune: ALLOWANCE and LIMIT in kernels/rolling.py trade speed for alarms; NOTABLE in
    kernels/spike.py decides which healed spikes are worth a line.
    """

    name = "spike"

    def __init__(self) -> None:
        self._tracks = Tracks(FIELDS)
        self._rises: dict[str, list[dict[str, Any]]] = {}
        self._unlisted: dict[str, int] = {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        groups = columns.groups.get("loss")
        if groups is None:
            return
        for code, slot, key, segment, _ in run(follow, self._tracks, groups):
            track = self._tracks[slot]
            if code != SEGMENT:
                self._keep(key, track, State.RECOVERED if code == RECOVERED else State.PROGRESSED)
                continue
            if track.rising and notable(track, False):
                self._keep(key, track, State.PROGRESSED)
            self._tracks[slot] = self._tracks.fresh(
                segment=segment, longest=max(track.longest, track.seen)
            )

    def _keep(self, key: str, track: Any, state: State) -> None:
        """Remember a rise that is over, if it is one of the largest."""
        rises = self._rises.setdefault(key, [])
        rises.append(_named(key, track, state))
        if len(rises) > KEPT:
            rises.remove(min(rises, key=lambda r: (r["weight"], r["height"])))
            self._unlisted[key] = self._unlisted.get(key, 0) + 1

    def findings(self) -> list[Finding]:
        """Every rise that was notable or is not over, the same in several series told once."""
        found = [
            _told(rise, self._unlisted.get(key, 0))
            for key, rises in self._rises.items()
            for rise in rises
        ]
        for key, track in self._tracks.marked("rising"):
            found.append(_told(_named(key, track, State.OPEN), 0))
        return fold(found)

    def check(self) -> Check:
        """Ran when a loss was reported often enough to know its noise."""
        if not len(self._tracks):
            return Check(self.name, False, "no training loss in the log")
        longest = max(int(self._tracks.column(name).max()) for name in ("longest", "seen"))
        if longest < LEAST:
            return Check(
                self.name, False, f"a loss on {counted(longest, 'step')} only; {LEAST} are needed"
            )
        return Check(self.name, True)

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {
            "tracks": self._tracks.state(), "rises": self._rises, "unlisted": self._unlisted,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])
        self._rises, self._unlisted = state["rises"], state["unlisted"]


def _named(key: str, s: Any, state: State) -> dict[str, Any]:
    """The rise with the name that it deserves by now."""
    height = (stands(s) - s.level) / s.spread
    held = s.count >= max(HOLD, 2 * s.peak_at)
    kind, severity = "loss_spike_unresolved", Severity.LOW
    if state is State.RECOVERED:
        kind = "loss_spike_recovered"
    elif diverged(s):
        kind, severity = "diverged", Severity.HIGH
        if s.count >= HOLD and lost(s) and stands(s) >= s.began:
            severity = Severity.CRITICAL
    elif height > MARKED and (held or s.count >= SETTLED):
        severity = Severity.MEDIUM
    if state is State.PROGRESSED and severity.weight > Severity.MEDIUM.weight:
        severity = Severity.MEDIUM
    before = zip(s.before_at[: s.before_n], s.before_value, strict=False)
    after = zip(s.after_at[: s.after_n], s.after_value, strict=False)
    return {
        "at": place(key, s.at_line, s.at_step, s.at_time), "line": s.line, "count": s.count,
        "level": s.level, "peak": s.peak, "height": (s.peak - s.level) / s.rise_usual,
        "kind": kind, "severity": severity.value, "weight": severity.weight, "state": state.value,
        "tail": [[float(at), value] for at, value in (*before, *after)],
    }  # fmt: skip


def _told(rise: dict[str, Any], unlisted: int) -> Finding:
    lasted = counted(rise["count"], "step")
    ended = {
        State.RECOVERED: f"and was back after {lasted}",
        State.PROGRESSED: f"and had not come back after {lasted}, when the run went on from there",
        State.OPEN: f"and has not come back in {lasted}",
    }[State(rise["state"])]
    message = (
        f"{rise['at']['metric']} rose from {rise['level']:.4g} to {rise['peak']:.4g}, "
        f"{rise['height']:.0f} times its usual spread, {ended}"
    )
    if unlisted:
        message += f" (one of the largest; {unlisted} smaller ones are not listed)"
    return finding(
        rise["kind"],
        Severity(rise["severity"]),
        rise["at"],
        message,
        state=State(rise["state"]),
        last_line=rise["line"],
        tail=rise["tail"],
        rules=_rules(rise),
    )


def _rules(rise: dict[str, Any]) -> list[str]:
    """The named rules that hold for a rise."""
    held, longest, row = [], 0, 0
    for (_, before), (_, after) in pairwise(rise["tail"]):
        row = row + 1 if after > before else 0
        longest = max(longest, row)
    if rise["height"] >= threshold("spike"):
        held.append(holds("spike", f"{rise['height']:.0f} times its usual spread"))
    if longest >= threshold("monotonic"):
        held.append(holds("monotonic", f"{longest} rises in a row"))
    return held
