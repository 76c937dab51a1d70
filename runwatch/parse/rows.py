"""The writers of one stream as rows of numbers while lines are replayed, as objects while they are
read; carried over at every change between the two."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from runwatch.arrays import Array
from runwatch.chunk import Stream
from runwatch.kernels import layout
from runwatch.parse.gate import Gate, Row
from runwatch.parse.program import Program
from runwatch.parse.record import Point
from runwatch.parse.writer import Writer

if TYPE_CHECKING:
    from runwatch.parse.reader import Reader

_FATES = {
    "": layout.UNKNOWN, "proven": layout.PROVEN, "refused": layout.REFUSED, "shown": layout.SHOWN,
    "held": layout.WAITS, "new": layout.NEW,
}  # fmt: skip


_FEW = 8  # rows that are carried back at once; of more, only those that are asked for
_TOTALS = [layout.P_TOTAL, layout.P_EPOCHS]
# A writer that nobody heard of yet.
_BLANK = np.array([math.nan] * 4 + [0.0] * (layout.P_WIDTH - 4))
_MAX_CELLS = 1 << 21  # marks, or gates, of all writers; those beyond are read, not replayed


class Rows:
    """Rows of the writers of the stream that was entered last, and where they lie in memory."""

    def __init__(self, host: "Reader", program: Program) -> None:
        self._host, self._program = host, program
        self.stream = Stream("\0")
        self.ranks: list[int | None] = []
        self._rows: dict[int | None, int] = {}
        self._looked: dict[int, int] = {}  # how many gates, for each form that was asked for
        self._kinds = 0  # of records when the writers were loaded last
        self.moved = True  # the arrays may lie elsewhere than the kernel was told
        self.places = np.tile(_BLANK, (8, 1))
        self.marks = np.full((8, 8, 3), np.nan)
        self.gates = np.zeros((8, 8, layout.GATE_WIDTH))
        self.reached = np.full((8, 2), -1, np.int64)
        self.changed = np.zeros(8, np.int64)
        self._behind = np.zeros(8, np.bool_)  # rows that their writers do not know of yet
        self._told = np.full((8, 2), np.nan)  # what their writers know of the totals
        self.rank_of = np.zeros(8, np.int64)  # for each row that the kernel took
        self.of_rank = np.full(layout.MAX_RANK, -1, np.int64)
        self.besides = np.zeros((layout.MAX_BESIDES, 2), np.int64)
        self.events = np.zeros((layout.MAX_EVENTS, layout.EVENT_WIDTH), np.int64)
        self.event_values = np.zeros(layout.MAX_EVENT_VALUES)

    @property
    def own(self) -> int:
        """The row of the stream itself."""
        return self._rows[self.stream.rank]

    @property
    def blank(self) -> int:
        """The row of a writer that nobody heard of yet."""
        return len(self.ranks)

    @property
    def speaker(self) -> int:
        """The row of the writer whose line with a prefix was the last."""
        return self._rows.get(self._host.writers.speaker(self.stream.name), -1)

    def enter(self, stream: Stream) -> None:
        """Turn to a stream."""
        if stream == self.stream:
            return
        self.settle_all()
        for rank in self.ranks:
            if rank is not None and rank < layout.MAX_RANK:
                self.of_rank[rank] = -1
        self._make_blank(0, len(self.ranks))
        self.moved = True  # the row of the stream itself may
        self.stream, self.ranks, self._rows, self._looked = stream, [], {}, {}
        self._host.writers.of(stream.name, stream.rank)
        for rank in self._host.writers.ranks(stream.name):
            self.load(rank)
        self.load(stream.rank)

    def welcome(self, rank: int) -> None:
        """A writer that says its first line."""
        self._host.writers.of(self.stream.name, rank)
        self.load(rank)

    def register(self, count: int) -> None:
        """Take over the writers whose first lines the kernel met, so that there are so many."""
        for w, rank in enumerate(self.rank_of[self.blank : count].tolist(), self.blank):
            self._host.writers.of(self.stream.name, rank)
            self._rows[rank] = w
            self.ranks.append(rank)

    def widen(self) -> None:
        """Make room for new kinds and keys, and load what is known of the kinds: a writer that was
        read before may have a mark of a kind that is new here."""
        self._grow()
        fresh = list(self._program.kinds.items())[self._kinds :]
        if not fresh or not self._program.timed:
            return
        self._kinds += len(fresh)
        segments = self.places[:, layout.P_SEGMENT].tolist()
        for w, rank in enumerate(self.ranks[: len(self.marks)]):
            place = self._host.writers.known(self.stream.name, rank).place
            for metric, kind in fresh:
                if metric in place.marks and place.segment == segments[w]:
                    self.marks[w, kind] = place.marks[metric]

    def load_touched(self, keys: Iterable[str] | None = None) -> None:
        """Take over the writers that were read; of their gates the given keys may have changed, or
        whatever was there."""
        for name, rank in self._host.writers.touched():
            if name == self.stream.name:
                self.load(rank)
                if keys is None and self._rows[rank] < len(self.gates):
                    self.gates[self._rows[rank]] = layout.UNKNOWN
                for key in keys or ():
                    if (number := self._program.keys.get(key)) is not None:
                        self._load_gate(self._rows[rank], number, key)

    def load(self, rank: int | None) -> None:
        """A writer as a row."""
        w = self._rows.get(rank)
        if w is None:
            w = self._rows[rank] = len(self.ranks)
            self.ranks.append(rank)
            self._grow()
            if rank is not None and 0 <= rank < layout.MAX_RANK:
                self.of_rank[rank] = w
        writer = self._host.writers.of(self.stream.name, rank)  # which settles the row
        place, heading = writer.place, writer.table.heading
        self.places[w] = [
            math.nan if said is None else said
            for said in (
                place.step, place.epoch, place.total_steps, place.total_epochs, place.segment,
                writer.near, writer.open, place.bar_total, writer.quiet.code,
                writer.quiet.traceback, self._program.heads.get(heading, layout.OTHER_HEAD),
                place.began, False,
            )
        ]  # fmt: skip
        self._told[w] = self.places[w, layout.P_TOTAL], self.places[w, layout.P_EPOCHS]
        if w < len(self.gates):
            if writer.gate.full:
                self.gates[w] = 0
            elif not writer.gate.roomy:
                self.gates[w, self.gates[w, :, 0] == layout.NEW] = 0
                if writer.gate.crowded:
                    self.gates[w, self.gates[w, :, 0] == layout.WAITS] = 0
        if w >= len(self.marks) or not self._program.timed:
            return
        self.marks[w] = np.nan
        for metric, mark in place.marks.items():
            kind = self._program.kinds.get(metric)
            if kind is not None:
                self.marks[w, kind] = mark

    def look(self, w: int, number: int) -> bool:
        """Ask a gate for what became of a form; whether it tells. The oftener one is asked for, the
        more of the others are, too: what one rank prints all may."""
        key = list(self._program.keys)[number]
        self._load_gate(w, number, key)
        first = self._looked.get(number, 0)
        last = self._looked[number] = min(2 * first + _FEW, len(self.ranks), len(self.gates))
        asked = first + np.flatnonzero(self.gates[first:last, number, 0] == layout.UNKNOWN)
        new = [other for other in asked.tolist() if self._gate(other).is_new(key)]
        self.gates[new, number, 0] = layout.NEW
        return bool(self.gates[w, number, 0] != layout.UNKNOWN)

    def _load_gate(self, w: int, number: int, key: str) -> None:
        if w >= len(self.gates):
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
        self.gates[w, number, :3] = (
            _FATES[fate], math.nan if step is None else step, math.nan if epoch is None else epoch
        )  # fmt: skip
        self.gates.view(np.int64)[w, number, 3] = digest

    def hold(self, events: int, values: int) -> None:
        """Take note of the forms that are held, or refused, from now on."""
        told = self.event_values[:values].tolist()
        for w, t, line, time, at in self.events[:events].tolist():
            said, rank = self._program.waiting[t], self.ranks[w]
            gate = self._gate(w)
            if at < 0:
                gate.refuse(said.key)
                continue
            step, epoch, segment = told[at : at + 3]
            row = Row(
                line, None if time < 0 else time, rank, _whole(step), _known(epoch), int(segment),
                said.training,
                tuple(
                    Point(metric, told[i], unit)
                    for i, (metric, unit) in enumerate(said.form, at + 3)
                ),
            )  # fmt: skip
            gate.hold(said.key, row)

    def store(self, changes: int, besides: int) -> None:
        """Take note of the rows that changed: the progress that they tell is written down, and
        their writers are told now where they are few or where their totals changed, which every
        batch tells; else when somebody asks for them."""
        keys = list(self._program.keys) if besides else []
        for w, key in self.besides[:besides].tolist():
            gate = self._gate(w)
            if gate.fate(keys[key]) == "proven":  # which its row does not know yet
                self.gates[w, key, 0] = layout.PROVEN
                continue
            self.gates[w, key, 0] = layout.SHOWN
            _, step, epoch, _ = self.gates[w, key].tolist()
            gate.show(keys[key], _whole(step), _known(epoch))
        if not changes:
            return
        if changes <= _FEW:
            for w in self.changed[:changes].tolist():
                self.places[w, layout.P_CHANGED] = 0
                self._reach(w, *self.reached[w].tolist())
                self._settle(w)
            return
        changed = self.changed[:changes]
        self.places[changed, layout.P_CHANGED] = 0
        self._behind[changed] = True
        for w, (step, line) in zip(changed.tolist(), self.reached[changed].tolist(), strict=True):
            self._reach(w, step, line)
        totals, told = self.places[changed][:, _TOTALS], self._told[changed]
        same = (totals == told) | (np.isnan(totals) & np.isnan(told))
        for w in changed[~same.all(axis=1)].tolist():
            self._settle(w)

    def _reach(self, w: int, step: int, line: int) -> None:
        if line >= 0:
            self._host.ledger.reach(self.ranks[w], step, line)
            self.reached[w] = -1

    def settle(self, rank: int | None) -> None:
        """See that a writer knows what its row says."""
        w = self._rows.get(rank)
        if w is not None and self._behind[w]:
            self._settle(w)

    def settle_all(self) -> None:
        """See that all writers know what their rows say."""
        for w in np.flatnonzero(self._behind).tolist():
            self._settle(w)

    def _settle(self, w: int) -> None:
        self._behind[w] = False
        self._told[w] = self.places[w, layout.P_TOTAL], self.places[w, layout.P_EPOCHS]
        self._store(w, self._host.writers.of(self.stream.name, self.ranks[w]))

    def _gate(self, w: int) -> Gate:
        return self._host.writers.known(self.stream.name, self.ranks[w]).gate

    def _store(self, w: int, writer: Writer) -> None:
        """A row as the writer's place."""
        (step, epoch, total, epochs, segment, near, opened, bar, code, trace, head, began, _) = (
            self.places[w].tolist()
        )
        place, writer.near, writer.open = writer.place, int(near), bool(opened)
        place.step, place.epoch = _whole(step), _known(epoch)
        place.total_steps, place.total_epochs = _whole(total), _whole(epochs)
        place.bar_total, place.began = int(bar), bool(began)
        writer.quiet.code, writer.quiet.traceback = int(code), int(trace)
        if 0 < head < layout.OTHER_HEAD:
            writer.table.head, writer.table.spans = list(self._program.heads)[int(head)]
        if int(segment) != place.segment:
            place.segment, place.marks = int(segment), {}
        if w >= len(self.marks) or not self._program.timed:
            return
        marks = self.marks[w]
        for metric, kind in self._program.kinds.items():
            if not math.isnan(marks[kind, 1]):
                place.marks[metric] = marks[kind].tolist()

    def _make_blank(self, first: int, last: int) -> None:
        """See that rows say what those of a writer do that nobody heard of yet."""
        self.places[first:last], self.reached[first:last] = _BLANK, -1
        self.marks[first:last], self.gates[first:last] = np.nan, 0
        self._behind[first:last], self._told[first:last] = False, np.nan

    def _grow(self) -> None:
        """Room for every writer, kind and key."""
        writers = len(self.ranks)
        kinds, keys = len(self._program.kinds), len(self._program.keys)
        width, gates = self.marks.shape[1], self.gates.shape[1]
        if writers < len(self.places) and kinds <= width and keys <= gates:
            return
        rows = len(self.places) if writers < len(self.places) else 2 * writers
        wider = 2 * kinds if kinds > width else width
        doors = 2 * keys if keys > gates else gates
        marked, gated = min(rows, _MAX_CELLS // wider), min(rows, _MAX_CELLS // doors)
        self.moved = True
        self.places = _enlarged(self.places, (rows, layout.P_WIDTH), math.nan)
        self.places[writers:] = _BLANK
        self.marks = _enlarged(self.marks, (marked, wider, 3), math.nan)
        self.gates = _enlarged(self.gates, (gated, doors, layout.GATE_WIDTH), 0)
        self.reached = _enlarged(self.reached, (rows, 2), -1)
        self.changed = _enlarged(self.changed, (rows,), 0)
        self.rank_of = _enlarged(self.rank_of, (rows,), 0)
        self._behind = _enlarged(self._behind, (rows,), 0)
        self._told = _enlarged(self._told, (rows, 2), math.nan)


def _digest(values: list[float]) -> int:
    """What `kernels/waiting.py` makes of the values of a row."""
    digest = 0
    for bits in (np.array(values) + 0.0).view(np.uint64).tolist():  # 0 for -0
        digest = (digest ^ bits) * layout.DIGEST % (1 << 64)
    return digest - (1 << 64) if digest >> 63 else digest


def _whole(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _enlarged(old: Array, shape: tuple[int, ...], filler: float) -> Array:
    new = np.full(shape, filler, old.dtype)
    both = tuple(slice(0, min(a, b)) for a, b in zip(old.shape, shape, strict=True))
    new[both] = old[both]
    return new
