"""Gradient norms that explode or vanish, measured by the run's own history."""

from math import log10
from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Rows, distinct, series
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.rolling import Past
from runwatch.records import Batch

WARM = 100  # first steps, in which norms settle
FACTOR = 1.0  # decades above the median of the last 200 steps
SPREADS = 6.0  # and spreads of the norm's logarithm
SUSTAINED = 10  # steps in a row
ZEROS = 3  # steps in a row at exactly 0
SOLID = 1e-3  # what the norm stood at before, so that it did not just shrink to 0


class Detector:
    """Exploding and vanishing gradients (`grad_explosion`, `grad_zero`).

    Sees: a norm ten times above the median of its last 200 steps, and six spreads of its
    logarithm, for ten steps in a row (high; low once it is back). A norm of exactly 0 for three
    steps in a row, while the learning rate, where logged, is not 0, after solid values (high).

    Matters: a norm that stays high comes before the loss follows; at 0 nothing is learned.

    Misses: the first hundred steps, and explosions that one clipped step absorbs: those are what
    clipping is for. No absolute limit is used: one healthy run stands at 98,258, another prints
    0.000 throughout; a norm that never changes is called dead in the list of checks.

    Tune: FACTOR in decades, SUSTAINED in steps.
    """

    name = "gradient"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        idle: dict[str, set[int]] = {}
        for rows in series(batch, "lr"):
            idle.setdefault(rows.stream, set()).update(rows.line[rows.value == 0.0].tolist())
        for rows in series(batch, "grad_norm"):
            track = self._tracks.setdefault(rows.key, _track(rows.segment, []))
            if rows.segment != track["segment"]:
                _close(track, State.PROGRESSED)
                self._tracks[rows.key] = track = _track(rows.segment, track["over"])
            rows, track["last"] = distinct(rows, track["last"])
            _follow(track, rows, idle.get(rows.stream, set()))

    def findings(self) -> list[Finding]:
        """Explosions and zeros, over or not."""
        found = []
        for track in self._tracks.values():
            found += [_told(spell, State(spell["state"])) for spell in track["over"]]
            spell = track["spell"]
            if spell is not None and spell["count"] >= spell["enough"]:
                found.append(_told(spell, State.OPEN))
        return fold(found)

    def check(self) -> Check:
        """Ran when a norm was reported that is not dead."""
        if not self._tracks:
            return Check(self.name, False, "no gradient norm in the log")
        if all(len(track["values"]) < 2 for track in self._tracks.values()):
            return Check(self.name, False, "the gradient norm never changes: the field is dead")
        return Check(self.name, True)

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks = state["tracks"]


def _track(segment: int, over: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "segment": segment,
        "last": None,
        "seen": 0,
        "ring": [],
        "values": [],
        "spell": None,
        "over": over,
    }


def _follow(track: dict[str, Any], rows: Rows, idle: set[int]) -> None:
    past = Past(track["ring"], sorted(track["ring"]))
    for i, value in enumerate(rows.value.tolist()):
        if value - value != 0.0 or value < 0.0:
            continue
        track["seen"] += 1
        if len(track["values"]) < 2 and value not in track["values"]:
            track["values"].append(value)
        if value == 0.0:
            if int(rows.line[i]) not in idle and _solid(past):
                _add(track, rows, i, "grad_zero", value, 0.0)
            continue
        height = log10(value)
        if len(past.order) >= 20 and track["seen"] > WARM:
            level, spread = past.level()
            if height > level + max(FACTOR, SPREADS * spread):
                _add(track, rows, i, "grad_explosion", value, 10.0**level)
                continue
        _close(track, State.RECOVERED)
        past.push(height)


def _solid(past: Past) -> bool:
    return len(past.order) >= 10 and 10.0 ** past.order[len(past.order) // 10] >= SOLID


def _add(track: dict[str, Any], rows: Rows, i: int, kind: str, value: float, level: float) -> None:
    spell = track["spell"]
    if spell is not None and spell["kind"] != kind:
        _close(track, State.RECOVERED)
        spell = None
    if spell is None:
        enough = ZEROS if kind == "grad_zero" else SUSTAINED
        spell = {"kind": kind, "at": rows.place(i), "count": 0, "peak": 0.0, "enough": enough}
        spell["level"] = level
        track["spell"] = spell
    spell["count"] += 1
    spell["peak"] = max(spell["peak"], value)
    spell["line"] = int(rows.line[i])


def _close(track: dict[str, Any], state: State) -> None:
    spell, track["spell"] = track["spell"], None
    if spell is not None and spell["count"] >= spell["enough"]:
        track["over"] = [*track["over"], {**spell, "state": state}][-10:]


def _told(spell: dict[str, Any], state: State) -> Finding:
    metric, count = spell["at"]["metric"], spell["count"]
    message = f"{metric} is exactly 0 on {count} steps"
    if spell["kind"] == "grad_explosion":
        message = (
            f"{metric} stood at up to {spell['peak']:.4g} for {count} steps, "
            f"{spell['peak'] / spell['level']:.0f} times its usual {spell['level']:.3g}"
        )
    return finding(
        spell["kind"],
        Severity.HIGH if state is State.OPEN else Severity.LOW,
        spell["at"],
        message,
        state=state,
        last_line=spell["line"],
    )
