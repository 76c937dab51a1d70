"""Tables: columns under a header row, and boxes of key and value.

    epoch  train_loss  valid_loss          | rollout/      |        |
    0      2.31        2.20                |    ep_rew_mean | -1.2e3 |

The names are in another line than the numbers, so a `Table` remembers them for one writer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

from runwatch.parse import unit
from runwatch.parse.grid import is_value
from runwatch.parse.number import NAN_MARK, NUMBER_MARK, Tokens, split
from runwatch.parse.plan import OPAQUE, Cell, Evidence, Plan
from runwatch.parse.quantity import Names
from runwatch.parse.record import Point, Record, count, finite, number
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_TIMES = frozenset(("time", "timestamp", "date", "datetime", "wall time", "wall_time"))
_SHORT = {
    "#": "step",
    "E": "epoch",
    "gen": "step",
    "Itn": "step",
}  # heads that are axes only above a column
_UNIX = compiled(r"\d{10}(?:$|\.)")  # seconds since 1970
# What is no name of a measurement alone: Gym's monitor writes the reward, length and time of each
# episode, TensorBoard one scalar.
_HEADS = (("r", "l", "t"), ("Wall time", "Step", "Value"))
# What other programs make tables of, too: "Benchmark  Time  CPU  Iterations".
_COSTS = frozenset(("step_time", "compute_time", "data_time", "memory"))
_EDGES = "|│┃"
_EDGE = compiled(f"[{_EDGES}]")
_INDENTED = compiled(f"[{_EDGES}]\\s{{2,}}")
_GAP = compiled(r"\s{2,}")
_RULE = compiled(r"^[\s|│┃+\-=─━═┄┈╭╮╰╯├┤┬┴┼┌┐└┘┏┓┗┛┡┩╇━╞╡╪:]+$")


Head = tuple[tuple[str, ...], tuple[tuple[int, int], ...]]
NO_HEAD: Head = (), ()


@mutable
class Table:
    """What one writer's table needs from the lines before: column names, a box's section."""

    head: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    section: str = ""
    boxed: list[list[Any]] = field(default_factory=list)  # [line, name, value, unit] of an open box
    above: list[str] = field(default_factory=list)  # the last drawn line of names, if names go on

    def header(self, plan: Plan, names: Names, *, drawn: bool) -> bool:
        """Take a line that is nothing but names, if its names are those of measurements; `drawn`
        says that its cells have edges, so that a name may go on in the line below."""
        head = list(plan.head)
        if drawn:
            head, self.above = _below(self.above, head), head
        clues = {rule.name for name in head if (rule := names.quantity(name)) and rule.clue}
        counted = any(_axis(name, names) in ("step", "epoch") for name in head[:2])
        known = tuple(head[:3]) in _HEADS or (clues if counted else clues - _COSTS)
        if not known and not _counts(head, plan.spans, names):
            return False
        self.head, self.spans = tuple(head), plan.spans
        return True

    @property
    def heading(self) -> Head:
        """The names and where they stand, as a key."""
        return self.head, self.spans

    def filled(self, record: Record, plan: Plan, tokens: Tokens, names: Names) -> Record:
        """The record of a line with what the header calls its bare cells: all of it, or what the
        line does not name itself."""
        named = plan.bar is None and any(  # by its first cell: "accuracy | 0.7 | 0.6"
            names.quantity(found.metric) for found in plan.fields
        )
        row = self.row(plan, tokens.values, tokens.literals, names)
        if not row.points:
            return record
        if not (named and self.head[0]):
            return row._replace(
                step=record.step if row.step is None else row.step,
                total_steps=record.total_steps, bar=record.bar,
            )  # fmt: skip
        if {found.slot for found in plan.fields}.isdisjoint(plan.row):
            return record._replace(points=record.points + row.points)
        return record

    def row(self, plan: Plan, values: list[str], literals: list[str], names: Names) -> Record:
        """A line of bare values under the header, or nothing."""
        points = []
        step = epoch = None
        for name, slot in _spread(self._columns(plan.row, values, literals)):
            value = number(values[slot])
            axis = _axis(name, names)
            if axis == "epoch":
                epoch = finite(value)
            elif axis == "step":
                step = count(value)
            elif name.lower() not in _TIMES or not _UNIX.match(values[slot]):
                points.append(Point(name, value, unit.take(literals[slot + 1])[0]))
        return Record(
            Evidence.CLEAR if points else Evidence.NONE, tuple(points), step, epoch=epoch,
            key="row " + " ".join(self.head),
        )  # fmt: skip

    def _columns(
        self, cells: Sequence[Cell], values: list[str], literals: list[str]
    ) -> list[tuple[str, Cell]]:
        """The names of a row's cells: by their order, else by where in the line they stand."""
        found = self._in_order(cells)
        return self._by_place(cells, values, literals) if found is None else found

    def is_by_place(self, cells: Sequence[Cell]) -> bool:
        """Whether it matters to a row how wide its values are."""
        return bool(cells and self.head) and self._in_order(cells) is None

    def _in_order(self, cells: Sequence[Cell]) -> list[tuple[str, Cell]] | None:
        """The names of cells of which there are as many; None where another number of them might
        stand under the names."""
        label = next((i for i, cell in enumerate(cells) if is_value(cell)), 0)
        if label > 1 and len(cells) > len(self.head):  # a label of several words
            extra = min(label - 1, len(cells) - len(self.head))
            cells, label = cells[extra:], label - extra
        if len(cells) == len(self.head):
            return list(zip(self.head, cells, strict=True))
        words = " ".join(self.head).split()
        if len(cells) == len(words) and None not in cells:
            return list(zip(words, cells, strict=True))  # a blank between two of the names
        if len(cells) == len(self.head) - 1 and self.head[0].lower() in _TIMES:
            return list(zip(self.head[1:], cells, strict=True))  # a time was taken off in front
        listed = any(isinstance(cell, tuple) for cell in cells)
        if listed or None in cells[label:] or len(cells) - label > len(self.head) + 1:
            return []
        return None

    def _by_place(
        self, cells: Sequence[Cell], values: list[str], literals: list[str]
    ) -> list[tuple[str, Cell]]:
        """The names that the values stand under; none where one stands under none or two."""
        found: dict[str, int] = {}
        end = 0
        for slot, value in enumerate(values):
            start = end + len(literals[slot])
            end = start + len(value)
            if self.spans and slot == cells[0] and end <= self.spans[0][0]:
                continue  # a number that labels the row
            if slot not in cells and OPAQUE in cells:
                continue
            under = [i for i, (a, b) in enumerate(self.spans) if a < end and start < b]
            under = under or self._right_of(start, end)
            if len(under) != 1 or self.head[under[0]] in found or slot not in cells:
                return []
            found[self.head[under[0]]] = slot
        return list(found.items())

    def _right_of(self, start: int, end: int) -> list[int]:
        """The name behind which, clear of the next one, a value stands."""
        between = enumerate(pairwise(begin for begin, _ in self.spans))
        return [i for i, (begin, following) in between if begin <= start and end < following]

    def box(self, line: int, message: str) -> bool:
        """Take a line of a box; False where the line is none."""
        text = message.strip()
        if len(text) < 3 or text[0] not in _EDGES or text[-1] not in _EDGES:
            return False
        cells = [cell.strip() for cell in _EDGE.split(text[1:-1])]
        if len(cells) == 1:
            cells = _GAP.split(cells[0])
        if len(cells) != 2:
            return False
        name, said = cells
        indented = _INDENTED.match(text) is not None
        if not said:
            self.section = name if name.endswith("/") else ""
            return True
        tokens = split(said)
        if not name or tokens.marks not in (NUMBER_MARK, NAN_MARK) or tokens.literals[0]:
            return bool(self.boxed)
        suffix, rest = unit.take(tokens.literals[1])
        if not rest:
            full = f"{self.section}{name}" if self.section and indented else name
            self.boxed.append([line, full, number(tokens.values[0]), suffix])
        return True

    def close(self, names: Names) -> list[tuple[int, Record]]:
        """End an open box: its rows as records by line, if the box reports measurements."""
        rows, self.boxed, self.section = self.boxed, [], ""
        if not rows:
            return []
        clues = sum(_clue(name, names) for _, name, _, _ in rows)
        settings = sum(
            not _clue(name, names) and names.is_setting(name.rsplit("/", 1)[-1])
            for _, name, _, _ in rows
        )
        if not clues or settings > 2 * clues:
            return []
        step, epoch = _box_place(rows, names)
        return [
            (
                line,
                Record(
                    Evidence.CLEAR, (Point(name, value, suffix),), step, epoch=epoch,
                    key=f"box {name}",
                ),
            )
            for line, name, value, suffix in rows
        ]  # fmt: skip

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {
            "head": list(self.head),
            "spans": list(self.spans),
            "section": self.section,
            "boxed": self.boxed,
            "above": self.above,
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Table":
        """A table that goes on from what `state` gave; what was kept as JSON has lists."""
        spans = tuple((start, end) for start, end in state["spans"])
        return cls(**{**state, "head": tuple(state["head"]), "spans": spans})


def _spread(columns: list[tuple[str, Cell]]) -> Iterator[tuple[str, int]]:
    """The numbers under their names, each of a list under the name of its place in it."""
    for name, cell in columns:
        if isinstance(cell, tuple):
            yield from ((f"{name}.{place}", slot) for place, slot in enumerate(cell))
        elif cell is not None and cell >= 0 and name:
            yield name, cell


def _below(above: list[str], head: list[str]) -> list[str]:
    """The names of a heading that goes on in a second line, of which some cells are empty."""
    if len(above) != len(head) or "" not in head or "" in above:
        return head
    return [f"{first} {second}".strip() for first, second in zip(above, head, strict=True)]


def _counts(head: Sequence[str], spans: Sequence[tuple[int, int]], names: Names) -> bool:
    """Whether names that are not known stand apart behind a counter: `iter    f(x)    |g|`."""
    apart = all(end + 1 < start for (_, end), (start, _) in pairwise(spans))
    return bool(spans) and apart and _axis(head[0], names) in ("step", "epoch")


def _axis(name: str, names: Names) -> str | None:
    """The axis that a column counts on."""
    axis = _SHORT.get(name) or names.axis(name.split("(%")[0])
    if axis is None and "/" in name and names.axis(name.rsplit("/", 1)[1]) == "step":
        return "step"
    return axis


def _box_place(rows: list[list[Any]], names: Names) -> tuple[int | None, float | None]:
    """The step and the epoch that the rows of a box name."""
    step: int | None = None
    epoch: float | None = None
    for _, name, value, _ in rows:
        short = name.rsplit("/", 1)[-1]
        axis = names.axis(short)
        if axis == "step" and (step is None or names.is_global(short)):
            step = count(value)
        elif axis == "epoch":
            epoch = finite(value)
    return step, epoch


def is_rule(message: str) -> bool:
    """Whether a line is only the drawing of a table."""
    return _RULE.match(message) is not None


def _clue(name: str, names: Names) -> bool:
    rule = names.quantity(name)
    return rule is not None and rule.clue
