"""A loss that the log stops reporting, or reports as exactly zero."""

from typing import Any

import numpy as np
import numpy.typing as npt

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import NOTHING, Ints, Rows, distinct, series
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.records import Batch

COMPANIONS = ("lr", "grad_norm", "loss_scale")  # not the rate, which evaluation bars show too
SETTLED = 20  # records in a row with a loss before its absence means something
MISSING = 2  # records in a row without it
TOLD = 3  # records without it that are worth a line once it is back
ZEROS = 5  # steps in a row at exactly 0.0
SOLID = 0.05  # what the loss stood at before, so that it did not just shrink to 0


class Detector:
    """A loss that goes missing (`loss_vanished`).

    Sees: lines that used to carry a loss beside learning rate, gradient norm or loss scale, in at
    least twenty records in a row, and then carry those but no loss in two records; and a loss of
    exactly 0.0 on five steps in a row after solid values. High while it lasts, critical from the
    fifth record, low once the loss is back.

    Matters: Megatron leaves the loss out when every step was skipped, and a NaN filter prints 0.0;
    the log looks calm while nothing is learned.

    Misses: logs where the loss has always stood on a line of its own, or on every other line.

    Tune: SETTLED and MISSING count records, not lines: the same step printed twice is one record.
    """

    name = "vanished"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}
        self._zeros: dict[str, dict[str, Any]] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        keys: list[Ints] = []
        for rows in series(batch, "loss", "loss.part"):
            keys.append(_key(rows))
            if rows.quantity == "loss":
                self._zero(rows)
        told = np.concatenate(keys) if keys else np.zeros(0, np.int64)
        if (told[1:] < told[:-1]).any():
            told = np.sort(told)
        for rows in series(batch, *COMPANIONS):
            self._companion(rows, told)

    def findings(self) -> list[Finding]:
        """Where the loss went missing, told once however many fields stood beside it."""
        found = []
        for track in [*self._tracks.values(), *self._zeros.values()]:
            found += [_told(gap, State(gap["state"])) for gap in track["gaps"]]
            gap = track["gap"]
            if gap and gap["count"] >= gap["enough"]:
                found.append(_told(gap, State.OPEN))
        return fold(found)

    def check(self) -> Check:
        """Ran when a loss was reported together with something else often enough."""
        if any(track["settled"] for track in self._tracks.values()):
            return Check(self.name, True)
        why = f"no loss stood beside another field in {SETTLED} records in a row"
        return Check(self.name, False, why)

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks, "zeros": self._zeros}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks, self._zeros = state["tracks"], state["zeros"]

    def _companion(self, rows: Rows, told: Ints) -> None:
        track = self._tracks.setdefault(rows.key, _track(rows.segment))
        _new_segment(track, rows.segment)
        rows, track["last"] = distinct(rows, track["last"])
        if not len(rows):
            return
        beside = _among(_key(rows), told)
        if beside.all() and track["gap"] is None:
            track["run"] += len(rows)
        else:
            for i, there in enumerate(beside.tolist()):
                if there:
                    _close(track, State.RECOVERED)
                    track["run"] += 1
                elif track["gap"] is not None or track["run"] >= SETTLED:
                    _gap(track, rows, i, f"the loss is missing beside {rows.metric}", MISSING)
                else:
                    track["run"] = 0
        track["settled"] = track["settled"] or track["run"] >= SETTLED

    def _zero(self, rows: Rows) -> None:
        track = self._zeros.setdefault(rows.key, _track(rows.segment) | {"before": [], "low": 0.0})
        if rows.segment != track["segment"]:
            track["before"], track["low"] = [], 0.0
        _new_segment(track, rows.segment)
        rows, track["last"] = distinct(rows, track["last"])
        rows = rows.finite()
        if not len(rows):
            return
        track["low"] = min(track["low"], float(rows.value.min()))
        zero = rows.value == 0.0
        if zero.any() or track["gap"] is not None:
            for i, (value, none) in enumerate(zip(rows.value.tolist(), zero.tolist(), strict=True)):
                if not none:
                    _close(track, State.RECOVERED)
                    track["before"] = (track["before"] + [value])[-ZEROS:]
                elif track["gap"] is not None or _solid(track):
                    _gap(track, rows, i, f"{rows.metric} is exactly 0.0", ZEROS)
        else:
            track["before"] = (track["before"] + rows.value[-ZEROS:].tolist())[-ZEROS:]


def _solid(track: dict[str, Any]) -> bool:
    before = track["before"]
    return len(before) == ZEROS and min(before) >= SOLID and track["low"] >= 0.0


def _key(rows: Rows) -> Ints:
    """One number for line and step: what is printed together has both in common."""
    step = np.where(rows.step == NOTHING, 0, rows.step)
    return (rows.line << 20) | (step & 0xFFFFF)


def _among(keys: Ints, told: Ints) -> npt.NDArray[np.bool_]:
    """Which of the keys stand in the sorted `told`."""
    if not len(told):
        return np.zeros(len(keys), bool)
    at = np.minimum(np.searchsorted(told, keys), len(told) - 1)
    return np.asarray(told[at] == keys)


def _track(segment: int) -> dict[str, Any]:
    return {
        "segment": segment,
        "last": None,
        "run": 0,
        "settled": False,
        "gap": None,
        "gaps": [],
    }


def _new_segment(track: dict[str, Any], segment: int) -> None:
    if segment != track["segment"]:
        _close(track, State.PROGRESSED)
        track.update(segment=segment, last=None, run=0)


def _gap(track: dict[str, Any], rows: Rows, i: int, what: str, enough: int) -> None:
    gap = track["gap"]
    if gap is None:
        gap = {"at": rows.place(i), "what": what, "count": 0, "enough": enough}
        track["gap"] = gap
    gap["count"] += 1
    gap["line"] = int(rows.line[i])


def _close(track: dict[str, Any], state: State) -> None:
    gap = track["gap"]
    if gap is not None:
        if gap["count"] >= max(TOLD, gap["enough"]):
            track["gaps"] = [*track["gaps"], {**gap, "state": state}][-10:]
        track["gap"] = None
        track["run"] = 0


def _told(gap: dict[str, Any], state: State) -> Finding:
    severity = Severity.CRITICAL if gap["count"] >= 5 else Severity.HIGH
    if state is State.RECOVERED:
        severity = Severity.LOW
    elif state is State.PROGRESSED:
        severity = Severity.MEDIUM
    end = {State.RECOVERED: ", then it is back", State.PROGRESSED: ", until a restart"}
    message = f"{gap['what']} on {gap['count']} records{end.get(state, '')}"
    return finding(
        "loss_vanished", severity, gap["at"], message, state=state, last_line=gap["line"]
    )
