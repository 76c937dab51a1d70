"""A loss that the log stops reporting, or reports as exactly zero."""

from functools import cached_property
from typing import Any

import numpy as np

from runwatch.arrays import Array, Flags, Ints
from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, Groups, place, run
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.field import NOTHING
from runwatch.kernels.run import SEGMENT
from runwatch.kernels.tracks import Tracks, unkeyed
from runwatch.kernels.vanished import (
    COMPANION_FIELDS,
    MISSING,
    OVER,
    SETTLED,
    ZERO_FIELDS,
    ZEROS,
    close,
    follow,
    follow_losses,
)
from runwatch.plain import counted
from runwatch.records import Batch

COMPANIONS = ("lr", "grad_norm", "loss_scale")  # not the rate, which evaluation bars show too


class Detector:
    """A loss that goes missing (`loss_vanished`).

    Sees: lines that used to carry a loss beside learning rate, gradient norm or loss scale, in at
    least twenty records in a row, and then carry those but no loss in two records; and a loss of
    exactly 0.0 on five steps in a row after solid values. High while it lasts, critical from the
    fifth record, low once the loss is back.

    Matters: Megatron leaves the loss out when every step was skipped, and a NaN filter prints 0.0;
    the log looks calm while nothing is learned.

    Misses: logs where the loss has always stood on a line of its own, or on every other line.

    Tune: SETTLED and MISSING in kernels/vanished.py count records, not lines: the same
    step printed twice is one record.
    """

    name = "vanished"

    def __init__(self) -> None:
        self._tracks = Tracks(COMPANION_FIELDS)
        self._zeros = Tracks(ZERO_FIELDS)
        self._gaps: dict[str, list[dict[str, Any]]] = {}
        self._zero_gaps: dict[str, list[dict[str, Any]]] = {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        groups = columns.groups
        if "loss" in groups:
            passed = run(follow_losses, self._zeros, groups["loss"])
            for code, slot, key, segment, _ in passed:
                _happened(self._zeros, self._zero_gaps, ZEROS, code, slot, key, segment)
        losses = [groups[name] for name in ("loss", "loss.part") if name in groups]
        beside = _Beside(columns, losses)
        for each in (groups[name] for name in COMPANIONS if name in groups):
            there = beside.of(each)
            for code, slot, key, segment, _ in run(follow, self._tracks, each, there):
                settled = self._tracks[slot].settled
                _happened(self._tracks, self._gaps, MISSING, code, slot, key, segment)
                if code == SEGMENT and settled:
                    track = self._tracks[slot]
                    track.settled = 1
                    self._tracks[slot] = track

    def findings(self) -> list[Finding]:
        """Where the loss went missing, told once however many fields stood beside it."""
        found = []
        for tracks, gaps, enough in (
            (self._tracks, self._gaps, MISSING),
            (self._zeros, self._zero_gaps, ZEROS),
        ):
            zero = tracks is self._zeros
            found += [_told(key, gap, zero) for key, many in gaps.items() for gap in many]
            for key, track in tracks.marked("count"):
                if track.count >= enough:
                    found.append(_told(key, _gap(track, "", State.OPEN), zero))
        return fold(found)

    def check(self) -> Check:
        """Ran when a loss was reported together with something else often enough."""
        if len(self._tracks) and self._tracks.column("settled").any():
            return Check(self.name, True)
        why = f"no loss stood beside another field in {SETTLED} records in a row"
        return Check(self.name, False, why)

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {
            "tracks": self._tracks.state(), "zeros": self._zeros.state(),
            "gaps": self._gaps, "zero_gaps": self._zero_gaps,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])
        self._zeros.restore(state["zeros"])
        self._gaps, self._zero_gaps = state["gaps"], state["zero_gaps"]


def _happened(
    tracks: Tracks, gaps: dict[str, list[dict[str, Any]]], enough: int,
    code: int, slot: int, key: str, segment: int,
) -> None:  # fmt: skip
    """A gap has ended, or the run began anew."""
    track, state = tracks[slot], State.RECOVERED
    if code == SEGMENT:
        code, state = close(track, enough), State.PROGRESSED
        tracks[slot] = tracks.fresh(segment=segment)
    if code == OVER:
        gaps[key] = [*gaps.get(key, ()), _gap(track, "over_", state)][-10:]


def _gap(track: Any, prefix: str, state: State) -> dict[str, Any]:
    names = ("count", "line", "step", "time", "last_line")
    return {name: getattr(track, prefix + name) for name in names} | {"state": state.value}


class _Beside:
    """Tells of rows whether a loss stands beside them: line and step are the same."""

    def __init__(self, columns: Columns, losses: list[Groups]) -> None:
        self._columns, self._losses = columns, losses

    @cached_property
    def _told(self) -> Flags:
        told = np.zeros(len(self._columns), bool)
        for groups in self._losses:
            told[groups.order] = True
        return told

    def of(self, each: Groups) -> Array:
        """The answer for the rows of these series."""
        if not self._losses:
            return np.zeros(len(each.arrays.line), np.int8)
        if any(each.same_records(losses) for losses in self._losses):
            return np.ones(len(each.arrays.line), np.int8)
        # In most logs a record looks like the one before: the loss is as many rows away.
        rows, line, step = each.order, self._columns.line, self._columns.step
        first = int(rows[0])
        near = np.flatnonzero(self._told[max(0, first - 64) : first + 64]) + max(0, first - 64)
        away = int(near[np.abs(near - first).argmin()]) - first if len(near) else 0
        guess = np.clip(rows + away, 0, len(line) - 1)
        there = self._told[guess] & (line[guess] == line[rows]) & (step[guess] == step[rows])
        if not there.all():
            missing = rows[~there]
            there[~there] = self._found(missing)
        return np.asarray(there.view(np.int8))

    def _found(self, rows: Ints) -> Flags:
        """By search among all losses."""
        known, keys = self._keys(np.flatnonzero(self._told)), self._keys(rows)
        if (known[1:] < known[:-1]).any():
            known = np.sort(known)
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.asarray(known[at] == keys)

    def _keys(self, rows: Ints) -> Ints:
        """One number for line and step."""
        step = self._columns.step[rows]
        known = np.where(step == NOTHING, 0, step) & 0xFFFFF
        return np.asarray((self._columns.line[rows] << 20) | known)


def _told(key: str, gap: dict[str, Any], zero: bool) -> Finding:
    state, metric = State(gap["state"]), unkeyed(key)[1]
    severity = Severity.CRITICAL if gap["count"] >= 5 else Severity.HIGH
    if state is State.RECOVERED:
        severity = Severity.LOW
    elif state is State.PROGRESSED:
        severity = Severity.MEDIUM
    what = f"{metric} is exactly 0.0" if zero else f"the loss is missing beside {metric}"
    end = {State.RECOVERED: ", then it is back", State.PROGRESSED: ", until a restart"}
    return finding(
        "loss_vanished",
        severity,
        place(key, gap["line"], gap["step"], gap["time"]),
        f"{what} on {counted(gap['count'], 'record')}{end.get(state, '')}",
        state=state,
        last_line=gap["last_line"],
    )
