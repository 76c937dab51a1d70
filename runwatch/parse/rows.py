"""The writers of one stream as rows of numbers while lines are replayed, as objects while they are
read; carried over at every change between the two."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from runwatch.arrays import Array
from runwatch.chunk import Stream
from runwatch.kernels import layout
from runwatch.parse.fates import Fates, known, whole
from runwatch.parse.gate import Gate
from runwatch.parse.program import Program
from runwatch.parse.writer import Writer

if TYPE_CHECKING:
    from runwatch.parse.reader import Reader

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
        self._kinds = 0  # of records when the writers were loaded last
        self.moved = True  # the arrays may lie elsewhere than the kernel was told
        self.places = np.tile(_BLANK, (8, 1))
        self.marks = np.full((8, 8, 3), np.nan)
        self.fates = Fates(program, self._gate)
        self.reached = np.full((8, 2), -1, np.int64)
        self.changed = np.zeros(8, np.int64)
        self._behind = np.zeros(8, np.bool_)  # rows that their writers do not know of yet
        self._told = np.full((8, 2), np.nan)  # what their writers know of the totals
        self.rank_of = np.zeros(8, np.int64)  # for each row that the kernel took
        self.of_rank = np.full(layout.MAX_RANK, -1, np.int64)

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
        self._make_blank(len(self.ranks))
        self.moved = True  # the row of the stream itself may
        self.stream, self.ranks, self._rows = stream, [], {}
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
                if keys is None:
                    self.fates.forget(self._rows[rank])
                for key in keys or ():
                    if (number := self._program.keys.get(key)) is not None:
                        self.fates.load(self._rows[rank], number, key)

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
        self.fates.see_room(w, writer.gate)
        if w >= len(self.marks) or not self._program.timed:
            return
        self.marks[w] = np.nan
        for metric, mark in place.marks.items():
            kind = self._program.kinds.get(metric)
            if kind is not None:
                self.marks[w, kind] = mark

    def store(self, changes: int, besides: int) -> None:
        """Take note of the rows that changed: the progress that they tell is written down, and
        their writers are told now where they are few or where their totals changed, which every
        batch tells; else when somebody asks for them."""
        self.fates.show(besides)
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
        place.step, place.epoch = whole(step), known(epoch)
        place.total_steps, place.total_epochs = whole(total), whole(epochs)
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

    def _make_blank(self, count: int) -> None:
        """See that so many rows say what those of a writer do that nobody heard of yet."""
        self.fates.begin(count)
        self.places[:count], self.reached[:count] = _BLANK, -1
        self.marks[:count] = np.nan
        self._behind[:count], self._told[:count] = False, np.nan

    def _grow(self) -> None:
        """Room for every writer, kind and key."""
        writers = len(self.ranks)
        kinds, keys = len(self._program.kinds), len(self._program.keys)
        width, gates = self.marks.shape[1], self.fates.cells.shape[1]
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
        self.fates.cells = _enlarged(self.fates.cells, (gated, doors, layout.GATE_WIDTH), 0)
        self.reached = _enlarged(self.reached, (rows, 2), -1)
        self.changed = _enlarged(self.changed, (rows,), 0)
        self.rank_of = _enlarged(self.rank_of, (rows,), 0)
        self._behind = _enlarged(self._behind, (rows,), 0)
        self._told = _enlarged(self._told, (rows, 2), math.nan)


def _enlarged(old: Array, shape: tuple[int, ...], filler: float) -> Array:
    new = np.full(shape, filler, old.dtype)
    both = tuple(slice(0, min(a, b)) for a, b in zip(old.shape, shape, strict=True))
    new[both] = old[both]
    return new
