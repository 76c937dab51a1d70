"""Templates laid out in arrays, as the kernels want them."""

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from runwatch.arrays import Array, Ints
from runwatch.kernels import layout
from runwatch.parse.moment import Layout
from runwatch.parse.parts import Blanks, Filling, Fixed, Hex, Moment, Part, Same, Slot, Template
from runwatch.parse.plan import Evidence
from runwatch.parse.table import NO_HEAD, Head
from runwatch.parse.trace import Outcome

_EVIDENCE = {
    Evidence.NONE: layout.NONE, Evidence.KNOWN: layout.KNOWN, Evidence.HELD: layout.HELD,
    Evidence.CLEAR: layout.CLEAR,
}  # fmt: skip
_OPEN = {Blanks: layout.BLANKS, Hex: layout.HEX, Filling: layout.UNTIL}  # what says nothing
_ANY_DIGIT = 9  # how far above the least one a digit may be
_ROOMS = bytes.maketrans(b"\1", bytes([_ANY_DIGIT]))
_SHORT = 2  # letters: a variable, not the name of a metric
_PLACES = (layout.STEP, layout.TOTAL, layout.EPOCH, layout.TOTAL_EPOCHS, layout.RANK)
_TRAITS = (layout.STARTS, layout.FRAME, layout.GOES_ON, layout.SOURCE, layout.EMPTY)


class Table:
    """Rows in an array that grows by doubling. `cells` are the same, all in one row: to look at a
    few of them by an array takes ten times as long."""

    def __init__(self, width: int, kind: str) -> None:
        self.rows: Array = np.zeros((64, width), kind)
        self.cells = _cells(self.rows)
        self.width, self.used, self.moves = width, 0, 0

    def add(self, *cells: float) -> int:
        """Append a row; its index."""
        return self.extend(array(self.cells.format, cells))

    def extend(self, cells: Any) -> int:
        """Append rows, whose cells lie in one row; the index of the first."""
        first, begin = self.used, self.used * self.width
        self.used += len(cells) // self.width
        while self.used > len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
            self.cells = _cells(self.rows)
            self.moves += 1
        self.cells[begin : begin + len(cells)] = cells
        return first

    def again(self, first: int, behind: int) -> int:
        """Append rows that are here already; the index of the first."""
        return self.extend(self.cells[first * self.width : behind * self.width])


def _cells(rows: Array) -> Any:
    data: Any = rows.reshape(-1).data
    return data.cast("B").cast(rows.dtype.char.replace("l", "q"))


class Addresses:
    """The first cells of what a kernel is given: where tables lie. Asking an array costs more than
    many a kernel, so only those that are others than before are asked."""

    def __init__(self, given: Ints) -> None:
        self._given = given
        self._told: list[Array | None] = [None] * len(given)

    def tell(self, *tables: Array) -> None:
        """Note where these lie."""
        for i, (table, told) in enumerate(zip(tables, self._told, strict=False)):
            if table is not told:
                self._told[i] = table
                self._given[i] = table.ctypes.data


class Index:
    """An open hash table from a key to the first of a ring of templates."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self.moves = 0
        self._widen(1024)

    def _widen(self, places: int) -> None:
        self.moves += 1
        self.rows = np.zeros((places, 2), np.int64)
        self._cells = _cells(self.rows)
        for key, first in self._first.items():
            self._put(key, first)

    def __getitem__(self, key: int) -> int | None:
        return self._first.get(key)

    def __setitem__(self, key: int, template: int) -> None:
        self._first[key] = template
        if 2 * len(self._first) > len(self.rows):
            self._widen(2 * len(self.rows))
        else:
            self._put(key, template)

    @property
    def mask(self) -> int:
        """What a place in the table is cut to."""
        return len(self.rows) - 1

    def _put(self, key: int, template: int) -> None:
        cells, at, last = self._cells, 2 * (key >> 7 & self.mask), len(self._cells)
        while cells[at] not in (0, key):
            at = (at + 2) % last
        cells[at], cells[at + 1] = key, template


class Program:
    """All templates of a run; unless `timed`, stamps are only digits."""

    def __init__(self, *, timed: bool) -> None:
        self.timed = timed
        self.templates = Table(layout.WIDTH, "q")
        self.ops = Table(layout.OP_WIDTH, "q")
        self.blocks = Table(2 * layout.RUN, "B")
        self.points = Table(layout.POINT_WIDTH, "q")
        self.constants = Table(1, "d")
        self.forms, self.exact = Index(), Index()
        self.kinds: dict[str, int] = {"": 0}  # of records, by their first metric
        self.keys: dict[str, int] = {"": 0}  # of forms that must prove themselves
        self.heads: dict[Head, int] = {NO_HEAD: 0}  # of tables
        self.waiting: dict[int, Outcome] = {}  # of templates that must prove themselves

    @property
    def moves(self) -> int:
        """How often a table came to lie elsewhere that lines are matched with."""
        tables = self.templates.moves + self.ops.moves + self.blocks.moves
        return tables + self.forms.moves + self.exact.moves

    def add(
        self, template: Template, index: Index, key: int,
        point: Callable[[str, str, bool], tuple[int, ...]],
    ) -> int:  # fmt: skip
        """Lay a template out under a key; its number. `point` gives a point's tally, metric, unit
        and quantity."""
        said = template.outcome
        slots = {part.index for part in template.parts if isinstance(part, Slot)} - {None}
        row = [-1] * layout.WIDTH
        row[layout.OPS] = self.ops.used
        row[layout.VALUES] = self._ops(template, len(slots), row)
        row[layout.OPS_END] = self.ops.used
        row[layout.POINTS] = self.points.used
        for (metric, unit), slot, value in zip(
            said.form, template.values, said.values, strict=True
        ):
            self.points.add(-1 if slot is None else slot, *point(metric, unit, said.training))
            self.constants.add(value)
        row[layout.POINTS_END] = self.points.used
        self._meaning(template, row)
        if said.key:
            self.waiting[self.templates.used] = said
        return self._enter(self.templates.add(*row), index, key)

    def add_alike(self, number: int, line: bytes, key: int) -> int:
        """Lay another line out as it is, which says what such a template of one line does."""
        templates, ops, width = self.templates, self.ops, layout.WIDTH
        another = templates.again(number, number + 1)
        row = templates.cells[another * width : self.templates.used * width]
        first = ops.again(row[layout.OPS], row[layout.OPS_END])
        row[layout.OPS], row[layout.OPS_END] = first, ops.used
        text = first * layout.OP_WIDTH + 1  # of its first operation
        ops.cells[text], ops.cells[text + 1] = self._text(line, bytes(len(line)))
        return self._enter(another, self.exact, key)

    def _enter(self, number: int, index: Index, key: int) -> int:
        """Put a template under its key, into the ring of those that are there."""
        first, siblings = index[key], self.templates.cells[layout.SIBLING :: layout.WIDTH]
        if first is None:
            index[key] = siblings[number] = number
        else:
            siblings[number], siblings[first] = siblings[first], number
        return number

    def number(self, table: dict[Any, int], word: Any) -> int:
        """The number of a kind, key or head, a new one where it is not known."""
        return table.setdefault(word, len(table))

    def _ops(self, template: Template, slots: int, row: list[int]) -> int:
        """Lay the parts out; how many values they give."""
        said = template.outcome
        given: list[float] = []  # in the slots behind those of the parts
        for i, (column, constant) in enumerate(zip(_PLACES, said.places, strict=True)):
            if i in template.places:
                row[column] = template.places[i]
            elif constant is not None:
                row[column] = slots + len(given)
                given.append(constant)
        values = slots + len(given)
        if said.time is not None:
            row[layout.TIME], values = values, values + 1
            if not template.timed:
                given.append(said.time)
        text, free = b"", b""  # that were not laid out yet
        for part in template.parts:
            if isinstance(part, Fixed | Moment):
                text, free = text + part.text, free + part.free
            if not isinstance(part, Fixed) and (self.timed or not isinstance(part, Moment)):
                self._part(part, self._text(text, free), values, int(row[layout.TIME]))
                text = free = b""
        self.ops.add(layout.NOTHING, *self._text(text, free), 0, 0, 0)
        for slot, value in enumerate(given, slots):
            self.ops.add(layout.GIVEN, 0, 0, slot, int(np.float64(value).view(np.int64)), 0)
        return values

    def _meaning(self, template: Template, row: list[int]) -> None:
        """What a template does besides, column by column."""
        said = template.outcome
        placed = said.places[:-1] != Outcome.NOWHERE[:-1]
        row[layout.TRAINING] = said.training
        row[layout.DEEP] = said.deep | (layout.NOTED if said.noted else 0)
        row[layout.NEAR], row[layout.BAR] = said.near, said.bar
        row[layout.OPEN] = -1 if template.opens is None else template.opens
        row[layout.PLACED] = placed
        row[layout.TRAITS] = _traits(said)
        if said.whole and not any(isinstance(part, Filling) for part in template.parts):
            row[layout.TRAITS] |= layout.WHOLE_LINE
        row[layout.INSIDE] = layout.ANY if template.inside is None else template.inside
        row[layout.CODE] = layout.ANY if template.code is None else template.code
        if said.traced and template.code is not None:
            row[layout.CODE] = layout.NEVER
        if template.head is not None:
            row[layout.HEAD] = self.number(self.heads, template.head)
        if said.head is not None:
            row[layout.NEW_HEAD] = self.number(self.heads, said.head)
        row[layout.EVIDENCE] = _EVIDENCE[said.evidence] if said.form else layout.NONE
        kind = said.form[0][0] if said.form and self.timed else ""  # else nobody asks for it
        row[layout.KIND] = self.number(self.kinds, kind)
        row[layout.KEY] = self.number(self.keys, said.key)
        row[layout.COUNTS] = said.counts
        row[layout.LONG] = all(len(metric) > _SHORT for metric, _ in said.form)
        row[layout.CONTINUES], row[layout.ASKED] = said.continues, said.asked

    def _text(self, text: bytes, free: bytes) -> tuple[int, int]:
        """Lay a text out; its first block and its length."""
        return self.blocks.extend(_blocks(text, free)), len(text)

    def _part(self, part: Part, text: tuple[int, int], beyond: int, moment: int) -> None:
        """Lay a part out and the text before it, to which a stamp's own belongs; numbers that mean
        nothing go `beyond` the values."""
        if isinstance(part, Slot):
            self.ops.add(part.kind, *text, beyond if part.index is None else part.index, 0, 0)
        elif isinstance(part, Same):
            self.ops.add(layout.SAME, *text, part.index, 0, 0)
        elif isinstance(part, Moment) and isinstance(part.layout, Layout):
            place = moment << 8 | len(part.text)
            self.ops.add(layout.STAMP, *text, part.layout.code, part.offset, place)
        elif isinstance(part, Moment):
            self.ops.add(layout.UNIX, *text, moment, part.offset, len(part.text))
        else:
            self.ops.add(_OPEN[type(part)], *text, 0, 0, 0)


def _traits(said: Outcome) -> int:
    """The bits of what the messages are to a `Quiet`."""
    if len(said.traits) != 1:
        return layout.MANY if said.traits else layout.UNSEEN
    return sum(bit for bit, holds in zip(_TRAITS, said.traits[0], strict=True) if holds)


def _blocks(text: bytes, free: bytes) -> bytes:
    """Text as blocks: the least that each byte may be, and how far above. Behind the text anything
    may stand."""
    if 1 in free:
        text = bytes(48 if any_digit else byte for byte, any_digit in zip(text, free, strict=True))
        free = free.translate(_ROOMS)
    size = -(-len(text) // layout.RUN) * layout.RUN
    least, room = text.ljust(size, b"\0"), free.ljust(size, b"\xff")
    return b"".join(
        part for at in range(0, size, layout.RUN)
        for part in (least[at : at + layout.RUN], room[at : at + layout.RUN])
    )  # fmt: skip
