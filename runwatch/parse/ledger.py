"""What the parser writes down: points, lines of note, progress, and how much was understood."""

from collections.abc import Iterable
from dataclasses import asdict, field
from typing import Any

from runwatch.chunk import Stream
from runwatch.parse.columns import Columns, Words
from runwatch.parse.gate import Row
from runwatch.parse.place import Place
from runwatch.parse.prefix import Prefix
from runwatch.parse.quantity import Names
from runwatch.records import Batch
from runwatch.slotted import mutable
from runwatch.tally import Tally

_EVAL_OF = {"loss": "eval_loss", "accuracy": "eval_accuracy"}
_MAX_EXAMPLES = 5
_EXAMPLE_WIDTH = 200


@mutable
class Account:
    """What was read and what came of it.

    `unclear` lines hold numbers that may be measurements but were not taken; `examples` shows the
    first of them. `oversized` texts were read only as far as `clean.MAX_TEXT`.
    """

    lines: int = 0
    bytes: int = 0
    metric_lines: int = 0
    points: int = 0
    oversized: int = 0
    unclear: int = 0
    examples: list[str] = field(default_factory=list)


class Ledger:
    """Collects the rows of a batch; `account` goes on over all batches."""

    def __init__(self, names: Names, tally: Tally | None = None) -> None:
        self.account = Account()
        self.tally = tally
        self._names = names
        self._columns = Columns(Words())
        self._quantities: dict[str, str | None] = {}
        self._progress: dict[int | None, tuple[int, int]] = {}
        self._last_lines: dict[str, int] = {}  # with points, of each stream

    def keep(self, stream: Stream, row: Row) -> None:
        """Write the points of a record."""
        for metric, value, unit in row.points:
            if self.tally is not None:
                self.tally.add(metric, unit, value)
                continue
            quantity = self._quantity(metric, row.training)
            self._columns.point(
                row.line, row.time, row.rank, row.step, row.epoch, metric, value, unit, quantity,
                row.segment,
            )  # fmt: skip
        self.account.points += len(row.points)
        self.account.metric_lines += row.line != self._last_lines.get(stream.name)
        self._last_lines[stream.name] = row.line

    def note(self, line: int, said: Prefix, block: str, place: Place, raw: str) -> None:
        """Write a line of note."""
        self._columns.line(
            line, said.time, said.rank, place.step, place.segment, said.level, block,
            said.message, raw,
        )  # fmt: skip

    def reach(self, rank: int | None, step: int, line: int) -> None:
        """Remember that a rank got to a step."""
        self._progress[rank] = (step, line)

    def unclear(self, message: str) -> None:
        """Count a line that may have reported something."""
        self.account.unclear += 1
        if self.wants_examples:
            self.account.examples.append(message.strip()[:_EXAMPLE_WIDTH])

    @property
    def wants_examples(self) -> bool:
        """Whether a line that is unclear would be an example."""
        return len(self.account.examples) < _MAX_EXAMPLES

    def batch(self, stream: Stream, first: int, last: int, places: Iterable[Place]) -> Batch:
        """Everything written since the last batch."""
        points, lines = self._columns.frames()
        progress, self._progress = self._progress, {}
        places = list(places)
        return Batch(
            stream, points, lines, first, last, progress,
            max((p.total_steps for p in places if p.total_steps is not None), default=None),
            max((p.total_epochs for p in places if p.total_epochs is not None), default=None),
        )  # fmt: skip

    def numbers(self, metric: str, unit: str, training: bool) -> tuple[int, int, int, int]:
        """A point's row in the tally, and its metric, unit and quantity as numbers of words."""
        row = -1 if self.tally is None else self.tally.row(metric, unit)
        words, quantity = self._columns.words, self._quantity(metric, training)
        return (
            row, words[metric], words[unit] if unit else -1, words[quantity] if quantity else -1
        )  # fmt: skip

    def block(
        self, count: int, lines: int, whole: Any, doubles: Any, ranks: list[int | None]
    ) -> None:
        """Write many points at once, as the replay kernel lays them out."""
        self.account.points += count
        self.account.metric_lines += lines
        if self.tally is None and count:
            self._columns.block(whole[:count], doubles[:count], ranks)

    def metric_line(self, name: str) -> int:
        """The last line of a stream with points, 0 where there is none."""
        return self._last_lines.get(name, 0)

    def at_metric_line(self, name: str, line: int) -> None:
        """Remember the last line with points."""
        if line:
            self._last_lines[name] = line

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {"account": asdict(self.account), "last_lines": self._last_lines}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self.account = Account(**state["account"])
        self._last_lines = dict(state["last_lines"])

    def _quantity(self, metric: str, training: bool) -> str | None:
        if metric not in self._quantities:
            rule = None if metric.endswith(".avg") else self._names.quantity(metric)
            self._quantities[metric] = None if rule is None else rule.name
        found = self._quantities[metric]
        return found if training or found is None else _EVAL_OF.get(found, found)
