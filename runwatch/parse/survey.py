"""What is recognised in a log, and with what evidence: prefixes, forms of lines, metrics.

A `Survey` is a parser that remembers what it did. It reads every line by the readable path, so that
each can be accounted for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import field

from runwatch.chunk import Stream
from runwatch.parse import bar, counter
from runwatch.parse.family import families
from runwatch.parse.gate import Row
from runwatch.parse.knowledge import Knowledge
from runwatch.parse.ledger import Ledger
from runwatch.parse.number import split
from runwatch.parse.parser import Parser
from runwatch.parse.place import Place
from runwatch.parse.plan import Evidence
from runwatch.parse.prefix import Peeler, Prefix, Prefixes
from runwatch.parse.quantity import Names
from runwatch.parse.record import Record
from runwatch.parse.text import read
from runwatch.parse.writer import Writer
from runwatch.slotted import mutable

_MAX_FORMS = 4096  # forms, prefixes or metrics that are told apart; further ones are only counted
_WIDTH = 300  # characters of an example
_EVIDENCE = {
    Evidence.NONE: "none: no measurement",
    Evidence.HELD: "came again at another step with other numbers",
    Evidence.KNOWN: "a known name beside a line that reports, or again at another step",
    Evidence.BESIDE: "a known name beside a line that reports",
    Evidence.CLEAR: "the line itself",
}
_WAITING = {
    Evidence.HELD: "not yet: it must come again at another step with other numbers",
    Evidence.KNOWN: "not yet: it must stand beside a line that reports, or come again",
}


@mutable
class Seen:
    """Something recognised: how often, first in which line, and how it looked there."""

    name: str
    count: int = 0
    line: int = 0
    example: str = ""


@mutable
class Form:
    """Lines of one form: where their step and rank come from, and why they count or do not.

    `evidence` is why its numbers were taken, or what they wait for; `points` is how many were.
    """

    kind: str  # text, object, progress bar, table row, box
    step: str
    rank: str
    evidence: str
    line: int
    example: str
    count: int = 0
    points: int = 0
    metrics: list[str] = field(default_factory=list)


@mutable
class Metric:
    """A metric with its unit: what it measures in our words, how often, and its first line."""

    metric: str
    unit: str
    quantity: str | None
    line: int
    count: int = 0


class Survey(Parser):
    """A parser that remembers prefixes, forms, metrics and signs of families.

    `fragments` are texts whose lines are counted. What goes beyond the bound of a table is counted
    in `more`.
    """

    def __init__(
        self, *, knowledge: Knowledge | None = None, fragments: Iterable[str] = (), year: int = 1970
    ) -> None:
        super().__init__(year=year, knowledge=knowledge, replay=False)
        self.prefixes: dict[str, Seen] = {}
        self.forms: dict[tuple[str, str], Form] = {}
        self.metrics: dict[tuple[str, str], Metric] = {}
        self.families: dict[str, Seen] = {}
        self.fragments = {text: Seen(text) for text in fragments}
        self.more = 0
        self._signs = families()
        self._peeler = self._told = _Telling(self.knowledge.prefixes, year)
        self.ledger = _Listing(self)

    def taken(self, line: int, metric: str, unit: str, quantity: str | None) -> None:
        """Count a measurement."""
        found = self.metrics.get((metric, unit))
        if found is None:
            if len(self.metrics) >= _MAX_FORMS:
                self.more += 1
                return
            found = self.metrics[metric, unit] = Metric(metric, unit, quantity, line)
        found.count += 1

    def _text(
        self, stream: Stream, line: int, text: str, time: int | None, depth: int,
        rank: int | None = None,
    ) -> None:  # fmt: skip
        for family in self._signs:
            if (sign := family.sign(text)) is not None:
                _count(self.families, family.name, line, sign)
        for fragment, seen in self.fragments.items():
            if fragment in text:
                _count({fragment: seen}, fragment, line, text)
        super()._text(stream, line, text, time, depth, rank)

    def _read(
        self, stream: Stream, line: int, said: Prefix, writer: Writer, block: str, depth: int
    ) -> None:
        for name, text in self._told.names:
            if len(self.prefixes) < _MAX_FORMS or name in self.prefixes:
                _count(self.prefixes, name, line, text)
        super()._read(stream, line, said, writer, block, depth)

    def _take(
        self, stream: Stream, line: int, said: Prefix, writer: Writer, record: Record, block: str
    ) -> None:
        before = self.account.points
        super()._take(stream, line, said, writer, record, block)
        taken = self.account.points - before
        if record.points or record.located:
            self._remember(stream, line, said, writer, record, taken)

    def _close(self, stream: Stream, rank: int | None, writer: Writer) -> None:
        before = self.account.points
        boxed = [(line, name) for line, name, *_ in writer.table.boxed]
        super()._close(stream, rank, writer)
        if taken := self.account.points - before:
            form = self.forms.setdefault(
                ("box", ""),
                Form("box", "a row of the box", "", _EVIDENCE[Evidence.CLEAR], boxed[0][0], ""),
            )
            form.example = form.example or ", ".join(name for _, name in boxed)[:_WIDTH]
            form.count += 1
            form.points += taken
            _add(form.metrics, (name for _, name in boxed))

    def _remember(
        self, stream: Stream, line: int, said: Prefix, writer: Writer, record: Record, taken: int
    ) -> None:
        kind = _kind(record)
        form = self.forms.get((kind, record.key))
        if form is None:
            if len(self.forms) >= _MAX_FORMS:
                self.more += 1
                return
            form = self.forms[kind, record.key] = Form(
                kind, self._step(said, record, writer.place), self._rank_from(stream, said, record),
                "", line, said.message.strip()[:_WIDTH],
            )  # fmt: skip
        form.count += 1
        form.points += taken
        _add(form.metrics, (point.metric for point in record.points))
        waiting = not form.points and record.evidence in _WAITING
        form.evidence = (_WAITING if waiting else _EVIDENCE)[record.evidence]
        if not record.points:
            form.evidence = "says where the run is"

    def _step(self, said: Prefix, record: Record, place: Place) -> str:
        """Where the step of a record comes from, in words."""
        if record.step is None:
            return "" if place.step is None else "an earlier line"
        if record.key.startswith("{"):
            return _named(record.key[1:-1].split(","), self.knowledge.names)
        if record.key.startswith("row "):
            return "a column"
        tokens = split(counter.apart(bar.undrawn(said.message)))
        plan = self._plans.of(tokens)
        number = next(
            (n for n in read(tokens.literals, tokens.marks).numbers if n.slot == plan.step), None
        )
        if number is not None and number.name:
            return f"`{number.name}`"
        if record.bar is not None:
            return "the bar's count"
        return "a fraction" if plan.total_steps is not None else "a number at the head"

    def _rank_from(self, stream: Stream, said: Prefix, record: Record) -> str:
        """Where the rank of a record comes from, in words."""
        if record.rank is not None:
            return "a field"
        if self._told.ranked:
            return f"prefix {self._told.ranked}"
        if said.rank is not None and said.rank == stream.rank:
            return "the name of the stream"
        return "" if said.rank is None else "the line before"


class _Telling(Peeler):
    """A peeler that tells which prefixes it took off the last line, and which named the rank."""

    def __init__(self, prefixes: Prefixes, year: int) -> None:
        super().__init__(prefixes, year)
        self.names: list[tuple[str, str]] = []
        self.ranked = ""

    def steps(self, text: str) -> Iterator[tuple[int, int, list[tuple[str, str]], str]]:
        self.names, self.ranked = [], ""
        for begin, end, said, name in super().steps(text):
            self.names.append((name, text[begin:end]))
            self.ranked = name if any(meaning == "rank" for meaning, _ in said) else self.ranked
            yield begin, end, said, name


class _Listing(Ledger):
    """A ledger that also counts each metric for a survey."""

    def __init__(self, survey: Survey) -> None:
        super().__init__(survey.knowledge.names)
        self._survey = survey

    def keep(self, stream: Stream, row: Row) -> None:
        super().keep(stream, row)
        for metric, _, unit in row.points:
            self._survey.taken(row.line, metric, unit, self._quantity(metric, row.training))


def _count(table: dict[str, Seen], name: str, line: int, example: str) -> None:
    seen = table.setdefault(name, Seen(name))
    if not seen.count:
        seen.line, seen.example = line, example.strip()[:_WIDTH]
    seen.count += 1


def _add(metrics: list[str], names: Iterable[str]) -> None:
    for name in names:
        if name not in metrics and len(metrics) < _MAX_FORMS:
            metrics.append(name)


def _kind(record: Record) -> str:
    if record.bar is not None:
        return "progress bar"
    for start, kind in (("{", "object"), ("event ", "object"), ("row ", "table row")):
        if record.key.startswith(start):
            return kind
    return "text"


def _named(keys: list[str], names: Names) -> str:
    """The key of an object that counts steps."""
    counters = [key for key in keys if names.axis(key) == "step"]
    whole = [key for key in counters if names.is_global(key)]
    found = next(iter(whole or counters), "")
    return f"`{found}`" if found else "the text beside the object"
