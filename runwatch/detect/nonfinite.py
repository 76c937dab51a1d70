"""NaN and infinity in the loss and the gradients, with their disguises."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from runwatch.detect.fold import finding, fold
from runwatch.detect.named import holds
from runwatch.detect.series import Columns, Rows, place, run
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.nonfinite import FIELDS, follow
from runwatch.kernels.tracks import Tracks, unkeyed
from runwatch.plain import counted
from runwatch.records import Batch

WATCHED = ("loss", "loss.part", "eval_loss", "perplexity", "grad_norm")
RECOVERED = 3  # finite steps in a row after which it is over
GRADIENTS = 3  # steps in a row before non-finite gradients are an alarm
SEARCH = 20  # first steps, in which a loss scaler looks for its scale
BEST = "best"  # in the name of what begins at infinity: the lowest so far
PATIENCE = 10  # steps in a row that the search is allowed


class Detector:
    """A loss or gradient that is NaN or infinite.

    Sees: `nan_loss` when a training loss is not finite on one step; critical while it stays so,
    medium or low once finite values are back for three steps, medium where a restart overcame it.
    `nan_grad` when the gradient norm is not finite on three steps in a row; critical at once when
    the loss reads exactly 0.0 beside it, which is how a NaN filter hides a dead run. Component
    losses and perplexity are judged only where the log names no total loss.

    Matters: nothing is learned after it, and an optimiser state with a NaN in it never heals.

    Misses: a NaN that the program replaces before printing, and prose. Innocent are running
    averages (`X.avg`), the best so far, counters of NaNs, evaluation metrics, an infinite
    perplexity, and the first twenty steps of a run that searches its fp16 loss scale, unless ten in
    a row fail.

    Tune: GRADIENTS and PATIENCE are steps in a row; a run that overflows by design needs more.
    """

    name = "nonfinite"
    every_copy = True  # a log that prints each tenth step may miss what its records hold

    def __init__(self) -> None:
        self._tracks = Tracks(FIELDS)
        self._quantity: dict[str, str] = {}
        self._totals: set[str] = set()  # streams with a total loss
        self._scaled: set[str] = set()  # streams whose loss is scaled
        self._spells: dict[str, list[dict[str, Any]]] = {}
        self._disguised: dict[str, list[int]] = {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        groups = columns.groups
        if "loss_scale" in groups and (groups["loss_scale"].arrays.value > 1.0).any():
            self._scaled.add(batch.stream.name)  # at 1 throughout nothing is scaled
        if "loss" in groups:
            self._totals.add(batch.stream.name)
        for quantity in WATCHED:
            if quantity not in groups:
                continue
            for key in groups[quantity].keys:
                self._quantity.setdefault(key, quantity)
            only_nan = int(quantity == "perplexity")
            for _, slot, key, segment, _ in run(follow, self._tracks, groups[quantity], only_nan):
                self._begin(slot, key, segment)
        if "loss" in groups and "grad_norm" in groups:
            self._disguise(columns)

    def _begin(self, slot: int, key: str, segment: int) -> None:
        """The run was started again."""
        track = self._tracks[slot]
        if track.count:
            self._spells[key] = [*self._spells.get(key, ()), _spell(track)][-10:]
        good = track.good_segment
        self._tracks[slot] = self._tracks.fresh(segment=segment, good_segment=good)

    def _disguise(self, columns: Columns) -> None:
        """Count the records whose loss reads 0.0 beside a gradient that is no number."""
        norms, losses = columns.groups["grad_norm"], columns.groups["loss"]
        bad = ~np.isfinite(norms.arrays.value)
        if not bad.any():
            return
        zero = losses.arrays.value == 0.0
        records = {*_places(losses.arrays, zero)}
        of = np.searchsorted(norms.begins, np.flatnonzero(bad), side="right") - 1
        places = _places(norms.arrays, bad)
        for group, record in zip(of.tolist(), places, strict=True):
            if record in records:
                segment = int(norms.segments[group])
                seen = self._disguised.setdefault(norms.keys[group], [segment, 0])
                if seen[0] != segment:
                    seen[:] = [segment, 0]
                seen[1] += 1

    def findings(self) -> list[Finding]:
        """What is or was not finite, the same in several metrics and ranks told once."""
        spells = {key: list(spells) for key, spells in self._spells.items()}
        for key, track in self._tracks.marked("count"):
            spells.setdefault(key, []).append(_spell(track))
        found: list[Finding] = []
        for key, many in sorted(spells.items()):
            if self._judged(key):
                finite_later = self._tracks[self._tracks.slots[key]].good_segment
                told = [self._told(key, spell, finite_later) for spell in many]
                found += [item for item in told if item is not None]
        found = fold(found)
        losses = [item for item in found if item.kind == "nan_loss"]
        return [_after(item, losses) for item in found]

    def check(self) -> Check:
        """Ran when a loss or a gradient norm was reported."""
        ran = any(map(self._judged, self._quantity))
        return Check(self.name, ran, "" if ran else "no loss or gradient norm in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {
            "tracks": self._tracks.state(), "quantity": self._quantity,
            "totals": sorted(self._totals), "scaled": sorted(self._scaled),
            "spells": self._spells, "disguised": self._disguised,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])
        self._quantity = state["quantity"]
        self._totals, self._scaled = set(state["totals"]), set(state["scaled"])
        self._spells, self._disguised = state["spells"], state["disguised"]

    def _judged(self, key: str) -> bool:
        """Whether this series speaks for the run: parts only where there is no total, and no best
        so far."""
        stream, metric, _ = unkeyed(key)
        if self._quantity[key] not in ("loss.part", "perplexity"):
            return BEST not in metric.lower()
        return stream not in self._totals and BEST not in metric.lower()

    def _told(self, key: str, spell: dict[str, Any], finite_later: int) -> Finding | None:
        over = spell["good"] >= RECOVERED
        restarted = not over and finite_later > spell["segment"]
        state = State.RECOVERED if over else State.PROGRESSED if restarted else State.OPEN
        quantity = self._quantity[key]
        searching = (
            unkeyed(key)[0] in self._scaled
            and spell["first_index"] < SEARCH
            and spell["longest"] < PATIENCE
        )
        if quantity == "grad_norm":
            return self._gradient(key, spell, state, searching)
        severity = Severity.CRITICAL
        if quantity == "eval_loss":
            severity = Severity.MEDIUM
        if state is State.RECOVERED and spell["count"] <= RECOVERED:
            severity = Severity.LOW
        elif state is not State.OPEN:
            severity = Severity.MEDIUM
        if searching:
            if state is not State.OPEN:
                return None
            severity = Severity.LOW
        return finding(
            "nan_loss",
            severity,
            _at(key, spell),
            f"{unkeyed(key)[1]} is {spell['as']} on {_steps(spell)}{_end(state)}",
            state=state,
            last_line=spell["last_line"],
            role=Role.SYMPTOM if quantity == "eval_loss" else Role.ROOT,
            tail=spell["before"],
            rules=[holds("nan", _steps(spell))],
        )

    def _gradient(
        self,
        key: str,
        spell: dict[str, Any],
        state: State,
        searching: bool,
    ) -> Finding | None:
        segment, zeros = self._disguised.get(key, (-1, 0))
        disguised = segment == spell["segment"] and zeros > 0
        if not disguised and (spell["longest"] < GRADIENTS or searching):
            return None
        if disguised:
            severity = Severity.CRITICAL
            why = f", and the loss reads 0.0 beside it on {zeros} of them, which hides a NaN"
        else:
            severity, why = Severity.HIGH, ""
        if state is not State.OPEN:
            severity = Severity.LOW if not disguised else Severity.MEDIUM
        return finding(
            "nan_grad",
            severity,
            _at(key, spell),
            f"{unkeyed(key)[1]} is {spell['as']} on {_steps(spell)}{why}{_end(state)}",
            state=state,
            last_line=spell["last_line"],
            tail=spell["before"],
            rules=[holds("nan", _steps(spell))],
        )


def _places(rows: Rows, which: Any) -> Iterator[tuple[int, int]]:
    """Line and step of these rows."""
    return zip(rows.line[which].tolist(), rows.step[which].tolist(), strict=True)


def _spell(track: Any) -> dict[str, Any]:
    names = ("segment", "count", "longest", "good", "first_index")
    before = zip(track.before_at[: track.before_n], track.before_value, strict=False)
    return {name: getattr(track, name) for name in names} | {
        "as": "nan" if track.is_nan else "inf", "line": track.line, "step": track.step,
        "time": track.time, "last_line": track.last_line,
        "before": [[float(at), value] for at, value in before],
    }  # fmt: skip


def _at(key: str, spell: dict[str, Any]) -> dict[str, Any]:
    return place(key, spell["line"], spell["step"], spell["time"])


def _after(item: Finding, losses: list[Finding]) -> Finding:
    """A gradient that fails where a loss fails too is its symptom, not a second cause."""
    if item.kind != "nan_grad":
        return item
    for loss in losses:
        if loss.stream == item.stream and loss.state == item.state and loss.role is Role.ROOT:
            return replace(item, role=Role.SYMPTOM)
    return item


def _steps(spell: dict[str, Any]) -> str:
    return counted(spell["count"], "step")


def _end(state: State) -> str:
    return {
        State.RECOVERED: ", then finite again",
        State.PROGRESSED: "; the run was started again and went on",
        State.OPEN: ", to the end of what was read",
        State.TERMINAL: "",
    }[state]
