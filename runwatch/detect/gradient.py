"""Gradient norms that explode or vanish, measured by the run's own history."""

from typing import Any

import numpy as np

from runwatch.detect.fold import finding, fold
from runwatch.detect.named import holds, threshold
from runwatch.detect.series import Columns, Groups, place, run
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.gradient import FIELDS, ZERO, close, enough, follow
from runwatch.kernels.run import SEGMENT
from runwatch.kernels.tracks import Tracks
from runwatch.plain import counted
from runwatch.records import Batch


class Detector:
    """Exploding and vanishing gradients (`grad_explosion`, `grad_zero`).

    Sees: a norm ten times above the median of its last 200 steps, and six spreads of its
    logarithm, for ten steps in a row (high; low once it is back). A norm of exactly 0 for three
    steps in a row, while the learning rate, where logged, is not 0, after solid values (high).

    Matters: a norm that stays high comes before the loss follows; at 0 nothing is learned.

    Misses: the first hundred steps, and explosions that one clipped step absorbs: those are what
    clipping is for. No absolute limit is used: one healthy run stands at 98,258, another prints
    0.000 throughout; a norm that never changes is called dead in the list of checks.

    Tune: FACTOR in decades, SUSTAINED in steps, both in kernels/gradient.py.
    """

    name = "gradient"

    def __init__(self) -> None:
        self._tracks = Tracks(FIELDS)
        self._over: dict[str, list[dict[str, Any]]] = {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        groups = columns.groups.get("grad_norm")
        if groups is None:
            return
        passed = run(follow, self._tracks, groups, _resting(columns, groups))
        for code, slot, key, segment, _ in passed:
            track = self._tracks[slot]
            if code != SEGMENT:
                self._keep(key, track, State.RECOVERED)
                continue
            if close(track):
                self._keep(key, track, State.PROGRESSED)
            self._tracks[slot] = self._tracks.fresh(segment=segment)

    def _keep(self, key: str, track: Any, state: State) -> None:
        """Remember a spell that is over."""
        spell = _spell(track, "over_") | {"state": state.value}
        self._over[key] = [*self._over.get(key, ()), spell][-10:]

    def findings(self) -> list[Finding]:
        """Explosions and zeros, over or not."""
        found = [_told(key, s, State(s["state"])) for key, over in self._over.items() for s in over]
        for key, track in self._tracks.marked("kind"):
            if track.count >= enough(track.kind):
                found.append(_told(key, _spell(track), State.OPEN))
        return fold(found)

    def check(self) -> Check:
        """Ran when a norm was reported that is not dead."""
        if not len(self._tracks):
            return Check(self.name, False, "no gradient norm in the log")
        if (self._tracks.column("distinct") < 2).all():
            return Check(self.name, False, "the gradient norm never changes: the field is dead")
        return Check(self.name, True)

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks.state(), "over": self._over}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])
        self._over = state["over"]


def _resting(columns: Columns, norms: Groups) -> Any:
    """Of each norm, whether a learning rate of exactly 0 stands on its line."""
    rates = columns.groups.get("lr")
    if rates is None or not (zero := rates.arrays.value == 0.0).any():
        return np.zeros(len(norms.arrays.value), np.int8)
    if rates.same_records(norms):
        return zero.view(np.int8)
    return np.isin(norms.arrays.line, rates.arrays.line[zero]).view(np.int8)


def _spell(track: Any, prefix: str = "") -> dict[str, Any]:
    names = ("kind", "count", "line", "step", "time", "last_line", "peak", "height")
    return {name: getattr(track, prefix + name) for name in names}


def _told(key: str, spell: dict[str, Any], state: State) -> Finding:
    at = place(key, spell["line"], spell["step"], spell["time"])
    message, rules = f"{at['metric']} is exactly 0 on {counted(spell['count'], 'step')}", []
    if spell["kind"] != ZERO:
        usual = 10.0 ** spell["height"]
        message = (
            f"{at['metric']} stood at up to {spell['peak']:.4g} for "
            f"{counted(spell['count'], 'step')}, "
            f"{spell['peak'] / usual:.0f} times its usual {usual:.3g}"
        )
        if spell["peak"] > threshold("grad-norm"):
            rules.append(holds("grad-norm", f"up to {spell['peak']:.4g}"))
        if spell["peak"] > threshold("grad-baseline") * usual:
            rules.append(holds("grad-baseline", f"{spell['peak'] / usual:.0f} times the median"))
    return finding(
        "grad_explosion" if spell["kind"] != ZERO else "grad_zero",
        Severity.HIGH if state is State.OPEN else Severity.LOW,
        at,
        message,
        state=state,
        last_line=spell["last_line"],
        rules=rules,
    )
