"""What became of the forms of one stream's writers, as cells that the kernel reads and changes."""

import math
from collections.abc import Callable

import numpy as np

from runwatch.kernels import layout
from runwatch.parse.gate import Gate, Row
from runwatch.parse.program import Program
from runwatch.parse.record import Point

_FATES = {
    "": layout.UNKNOWN, "proven": layout.PROVEN, "refused": layout.REFUSED, "shown": layout.SHOWN,
    "held": layout.WAITS, "new": layout.NEW,
}  # fmt: skip
_FEW = 8  # gates that are asked with the first


class Fates:
    """`cells` has a row for each writer, in it one for each form; `gate` gives a writer's by its
    row. What the kernel changes is noted in `besides` and `events`, until it is carried back."""

    def __init__(self, program: Program, gate: Callable[[int], Gate]) -> None:
        self._program, self._gate = program, gate
        self._looked: dict[int, int] = {}  # how many gates, for each form that was asked for
        self.cells = np.zeros((8, 8, layout.GATE_WIDTH))
        self.besides = np.zeros((layout.MAX_BESIDES, 2), np.int64)
        self.events = np.zeros((layout.MAX_EVENTS, layout.EVENT_WIDTH), np.int64)
        self.event_values = np.zeros(layout.MAX_EVENT_VALUES)

    def begin(self, count: int) -> None:
        """Turn to the writers of another stream; those before had so many rows."""
        self.cells[:count], self._looked = layout.UNKNOWN, {}

    def forget(self, w: int) -> None:
        """Know nothing of a writer's forms: they have to be asked for."""
        self.cells[w : w + 1] = layout.UNKNOWN

    def see_room(self, w: int, gate: Gate) -> None:
        """Forget what depends on room in a gate that there is no more."""
        if w >= len(self.cells):
            return
        if gate.full:
            self.cells[w] = 0
        elif not gate.roomy:
            self.cells[w, self.cells[w, :, 0] == layout.NEW] = 0
            if gate.crowded:
                self.cells[w, self.cells[w, :, 0] == layout.WAITS] = 0

    def look(self, w: int, number: int, writers: int) -> bool:
        """Ask a gate for what became of a form; whether it tells. The oftener one is asked for, the
        more of the others are, too: what one rank prints all may."""
        key = list(self._program.keys)[number]
        self.load(w, number, key)
        first = self._looked.get(number, 0)
        last = self._looked[number] = min(2 * first + _FEW, writers, len(self.cells))
        asked = first + np.flatnonzero(self.cells[first:last, number, 0] == layout.UNKNOWN)
        new = [other for other in asked.tolist() if self._gate(other).is_new(key)]
        self.cells[new, number, 0] = layout.NEW
        return bool(self.cells[w, number, 0] != layout.UNKNOWN)

    def load(self, w: int, number: int, key: str) -> None:
        """Take over what a gate knows of a form."""
        if w >= len(self.cells):
            return
        gate = self._gate(w)
        fate = "" if gate.full else gate.fate(key)
        if not fate and gate.is_new(key):
            fate = "new"
        step: int | None = None
        epoch: float | None = None
        digest = 0
        if fate == "shown":
            step, epoch = gate.place_shown(key)
        elif fate == "held":
            step, epoch, values = gate.place_held(key)
            if any(map(math.isnan, values)):
                fate = ""  # not a number is never the same
            digest = _digest(values)
        self.cells[w, number, :3] = (
            _FATES[fate], math.nan if step is None else step, math.nan if epoch is None else epoch
        )  # fmt: skip
        self.cells.view(np.int64)[w, number, 3] = digest

    def hold(self, events: int, values: int, ranks: list[int | None]) -> None:
        """Take note of the forms that are held, or refused, from now on."""
        told = self.event_values[:values].tolist()
        for w, t, line, time, at in self.events[:events].tolist():
            said, rank = self._program.waiting[t], ranks[w]
            gate = self._gate(w)
            if at < 0:
                gate.refuse(said.key)
                continue
            step, epoch, segment = told[at : at + 3]
            row = Row(
                line, None if time < 0 else time, rank, whole(step), known(epoch), int(segment),
                said.training,
                tuple(
                    Point(metric, told[i], unit)
                    for i, (metric, unit) in enumerate(said.form, at + 3)
                ),
            )  # fmt: skip
            gate.hold(said.key, row)

    def show(self, besides: int) -> None:
        """Take note of the forms that were shown by their neighbours."""
        keys = list(self._program.keys) if besides else []
        for w, key in self.besides[:besides].tolist():
            gate = self._gate(w)
            if gate.fate(keys[key]) == "proven":  # which its row does not know yet
                self.cells[w, key, 0] = layout.PROVEN
                continue
            self.cells[w, key, 0] = layout.SHOWN
            _, step, epoch, _ = self.cells[w, key].tolist()
            gate.show(keys[key], whole(step), known(epoch))


def _digest(values: list[float]) -> int:
    """What `kernels/waiting.py` makes of the values of a row."""
    digest = 0
    for bits in (np.array(values) + 0.0).view(np.uint64).tolist():  # 0 for -0
        digest = (digest ^ bits) * layout.DIGEST % (1 << 64)
    return digest - (1 << 64) if digest >> 63 else digest


def whole(value: float) -> int | None:
    """A count; nan is none."""
    return None if math.isnan(value) else int(value)


def known(value: float) -> float | None:
    """A number; nan is none."""
    return None if math.isnan(value) else value
