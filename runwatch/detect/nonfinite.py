"""NaN and infinity in the loss and the gradients, with their disguises."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Rows, distinct, series
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.records import Batch

WATCHED = ("loss", "loss.part", "eval_loss", "perplexity", "grad_norm")
RECOVERED = 3  # finite steps in a row after which it is over
GRADIENTS = 3  # steps in a row before non-finite gradients are an alarm
SEARCH = 20  # first steps, in which a loss scaler looks for its scale
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
    averages (`X.avg`), counters of NaNs, evaluation metrics, an infinite perplexity, and the first
    twenty steps of a run that searches its fp16 loss scale, unless ten in a row fail.

    Tune: GRADIENTS and PATIENCE are steps in a row; a run that overflows by design needs more.
    """

    name = "nonfinite"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}
        self._scaled: dict[str, bool] = {}
        self._disguised: dict[str, list[int]] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        zero: set[tuple[int, int]] = set()
        bad: list[Rows] = []
        for rows in series(batch, *WATCHED, "loss_scale"):
            if rows.quantity == "loss_scale":
                self._scaled[rows.stream] = True
                continue
            if rows.quantity == "loss":
                zero.update(_records(rows, rows.value == 0.0))
            if rows.quantity == "grad_norm" and not np.isfinite(rows.value).all():
                bad.append(rows)
            _follow(self._tracks, rows)
        for rows in bad if zero else []:
            for record in _records(rows, ~np.isfinite(rows.value)):
                if record in zero:
                    seen = self._disguised.setdefault(rows.key, [rows.segment, 0])
                    if seen[0] != rows.segment:
                        seen[:] = [rows.segment, 0]
                    seen[1] += 1

    def findings(self) -> list[Finding]:
        """What is or was not finite, the same in several metrics and ranks told once."""
        found: list[Finding] = []
        for key, track in sorted(self._tracks.items()):
            if self._judged(track):
                finite_later = track["good_segment"]
                for spell in [*track["spells"], track["spell"]]:
                    told = spell and self._told(key, track, spell, finite_later)
                    if told:
                        found.append(told)
        found = fold(found)
        losses = [item for item in found if item.kind == "nan_loss"]
        return [_after(item, losses) for item in found]

    def check(self) -> Check:
        """Ran when a loss or a gradient norm was reported."""
        ran = any(self._judged(track) for track in self._tracks.values())
        return Check(self.name, ran, "" if ran else "no loss or gradient norm in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks, "scaled": self._scaled, "disguised": self._disguised}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks = state["tracks"]
        self._scaled = state["scaled"]
        self._disguised = state["disguised"]

    def _judged(self, track: dict[str, Any]) -> bool:
        """Whether this series speaks for the run: parts only where there is no total."""
        if track["quantity"] not in ("loss.part", "perplexity"):
            return True
        return not any(
            other["quantity"] == "loss" and other["stream"] == track["stream"]
            for other in self._tracks.values()
        )

    def _told(
        self, key: str, track: dict[str, Any], spell: dict[str, Any], finite_later: int
    ) -> Finding | None:
        over = spell["good"] >= RECOVERED
        restarted = not over and finite_later > spell["segment"]
        state = State.RECOVERED if over else State.PROGRESSED if restarted else State.OPEN
        quantity = track["quantity"]
        searching = (
            self._scaled.get(track["stream"], False)
            and spell["first_index"] < SEARCH
            and spell["longest"] < PATIENCE
        )
        if quantity == "grad_norm":
            return self._gradient(key, track, spell, state, searching)
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
            spell["at"],
            f"{spell['at']['metric']} is {spell['as']} on {_steps(spell)}{_end(state)}",
            state=state,
            last_line=spell["line"],
            role=Role.SYMPTOM if quantity == "eval_loss" else Role.ROOT,
            tail=spell["before"],
        )

    def _gradient(
        self,
        key: str,
        track: dict[str, Any],
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
            spell["at"],
            f"{spell['at']['metric']} is {spell['as']} on {_steps(spell)}{why}{_end(state)}",
            state=state,
            last_line=spell["line"],
            tail=spell["before"],
        )


def _records(rows: Rows, picked: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Line and step of the rows picked: what is printed together has both in common."""
    return list(zip(rows.line[picked].tolist(), rows.step[picked].tolist(), strict=True))


def _follow(tracks: dict[str, dict[str, Any]], rows: Rows) -> None:
    track = tracks.setdefault(
        rows.key,
        {
            "stream": rows.stream,
            "quantity": rows.quantity,
            "segment": rows.segment,
            "last": None,
            "seen": 0,
            "good_segment": -1,
            "tail": [],
            "spell": None,
            "spells": [],
        },
    )
    if rows.segment != track["segment"]:
        if track["spell"] is not None:
            track["spells"] = (track["spells"] + [track["spell"]])[-10:]
        track.update(segment=rows.segment, spell=None, seen=0, last=None, tail=[])
    rows, track["last"] = distinct(rows, track["last"])
    if not len(rows):
        return
    finite = np.isfinite(rows.value)
    if rows.quantity == "perplexity":
        finite = ~np.isnan(rows.value)
    if finite.any():
        track["good_segment"] = rows.segment
    if track["spell"] is not None or not finite.all():
        _spell(track, rows, finite.tolist())
    track["seen"] += len(rows)
    track["tail"] = rows.tail(len(rows), track["tail"])


def _spell(track: dict[str, Any], rows: Rows, finite: list[bool]) -> None:
    """Count non-finite steps; all of a segment belong to one spell."""
    spell = track["spell"]
    for i, good in enumerate(finite):
        if good:
            if spell is not None:
                spell["good"] += 1
                spell["run"] = 0
            continue
        if spell is None:
            spell = {
                "at": rows.place(i),
                "as": "nan" if np.isnan(rows.value[i]) else "inf",
                "segment": rows.segment,
                "first_index": track["seen"] + i,
                "before": rows.tail(i, track["tail"]),
                "count": 0,
                "run": 0,
                "longest": 0,
                "good": 0,
                "line": 0,
            }
        spell["count"] += 1
        spell["run"] += 1
        spell["longest"] = max(spell["longest"], spell["run"])
        spell["good"] = 0
        spell["line"] = int(rows.line[i])
    track["spell"] = spell


def _after(item: Finding, losses: list[Finding]) -> Finding:
    """A gradient that fails where a loss fails too is its symptom, not a second cause."""
    if item.kind != "nan_grad":
        return item
    for loss in losses:
        if loss.stream == item.stream and loss.state == item.state and loss.role is Role.ROOT:
            return replace(item, role=Role.SYMPTOM)
    return item


def _steps(spell: dict[str, Any]) -> str:
    return "one step" if spell["count"] == 1 else f"{spell['count']} steps"


def _end(state: State) -> str:
    return {
        State.RECOVERED: ", then finite again",
        State.PROGRESSED: "; the run was started again and went on",
        State.OPEN: ", to the end of what was read",
        State.TERMINAL: "",
    }[state]
