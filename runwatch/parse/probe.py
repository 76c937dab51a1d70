"""Asks the readable path what it makes of one line standing alone."""

from dataclasses import dataclass, replace
from typing import ClassVar

from runwatch.chunk import Stream
from runwatch.kernels import replay as kernel
from runwatch.parse import stamp
from runwatch.parse.gate import Row
from runwatch.parse.ledger import Ledger
from runwatch.parse.number import Tokens
from runwatch.parse.parser import Parser
from runwatch.parse.place import Place
from runwatch.parse.plan import Plan
from runwatch.parse.prefix import Prefix
from runwatch.parse.record import Record
from runwatch.parse.writer import Writer

_ALONE = Stream("")
_DEEP, _DEEP_UNRANKED = 1, 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the readable path makes of a line: the form of its points, their values, its place."""

    PLACES: ClassVar = ("step", "total_steps", "epoch", "total_epochs", "rank")

    form: tuple[tuple[str, str], ...]  # (metric, unit)
    training: bool
    bar: int  # as the kernel wants to know it
    open: int  # `Writer.open` behind it
    near: int  # what the line after may know of it, as `Writer.near`; -1 where nothing changes
    deep: int  # 1 where a prefix says whose line it is, 2 where one does but names no rank
    values: tuple[float, ...]
    step: float | None
    total_steps: float | None
    epoch: float | None
    total_epochs: float | None
    rank: float | None
    time: int | None

    def same_form(self, other: "Outcome") -> bool:
        """Whether the same things are said, whatever their values."""
        return (
            self.form == other.form
            and self.training == other.training
            and self.near == other.near
            and self.bar == other.bar
            and self.deep == other.deep
            and (self.time is None) == (other.time is None)
            and [x is None for x in self.outputs()] == [x is None for x in other.outputs()]
        )

    def same(self, other: "Outcome") -> bool:
        """Whether nothing differs; nan is nan."""
        return repr(self) == repr(other)

    def same_but_time(self, other: "Outcome") -> bool:
        """Whether only the time differs."""
        return repr(replace(self, time=None)) == repr(replace(other, time=None))

    def outputs(self) -> list[float | None]:
        """The values, then the places."""
        return [*self.values, *(getattr(self, name) for name in self.PLACES)]


class _Trace(Ledger):
    """A ledger that keeps what one line says."""

    def __init__(self, host: Parser) -> None:
        super().__init__(host._names)
        self.rows: list[Row] = []
        self.loud = False
        self.reached: list[int | None] = []

    def keep(self, stream: Stream, row: Row) -> None:
        self.rows.append(row)

    def note(self, line: int, said: Prefix, block: str, place: Place, raw: str) -> None:
        self.loud = True

    def unclear(self, message: str) -> None:
        self.loud = True

    def reach(self, rank: int | None, step: int, line: int) -> None:
        self.reached.append(rank)


@dataclass(slots=True)
class _Weighed(Writer):
    """A writer that knows whether it was asked what it makes of a record."""

    weighed: bool = False

    def weigh(self, record: Record, message: str, block: str) -> Record:
        self.weighed = True
        return Writer.weigh(self, record, message, block)


class Probe(Parser):
    """A parser that forgets: every line is read as if it stood alone, with the host's knowledge."""

    def __init__(self, host: Parser) -> None:
        super().__init__(
            watchwords=host._watchwords, year=host._year, knowledge=host._knowledge, replay=False
        )
        self._plans, self._watched, self._peeler = host._plans, host._watched, host._peeler
        self._tabular = self._open = False
        self._bar = kernel.NO_BAR

    def look(self, line: bytes, *, open: bool = False) -> Outcome | None:
        """The outcome of a line, inside a record of many lines if `open`; None where it depends on,
        or changes, more than can be replayed."""
        self._open = open
        trace = self._ledger = _Trace(self)
        self._writers, self._speakers, self._tabular, self._bar = {}, {}, False, kernel.NO_BAR
        self._line(_ALONE, 1, line.decode("utf-8", "replace"))
        if trace.loud or self._tabular or len(trace.rows) > 1 or b"\r" in line[:-1]:
            return None
        writers = self._writers.get(_ALONE.name, {})
        if not all(writer.calm and not writer.table.head for writer in writers.values()):
            return None
        row = trace.rows[0] if trace.rows else None
        speaking = self._speakers.get(_ALONE.name)
        rank = row.rank if row is not None else trace.reached[0] if trace.reached else speaking
        if speaking is not None and speaking != rank:
            return None  # the prefix names one rank and a field another
        writer = writers.get(rank)
        assert writer is None or isinstance(writer, _Weighed)
        place = Place() if writer is None else writer.place
        if any(w.place != Place() for r, w in writers.items() if r != rank):
            return None
        return Outcome(
            tuple((p.metric, p.unit) for p in row.points) if row else (),
            row.training if row else True,
            self._bar,
            0 if writer is None else int(writer.open),
            writer.near if writer is not None and writer.weighed else -1,
            _DEEP
            if _ALONE.name in self._speakers and speaking == rank
            else _DEEP_UNRANKED
            if _ALONE.name in self._speakers
            else 0,
            tuple(row.values) if row else (),
            place.step if row is None else row.step,
            place.total_steps,
            place.epoch if row is None else row.epoch,
            place.total_epochs,
            rank,
            row.time if row else None,
        )

    def moment(self, text: bytes) -> int | None:
        """Microseconds of a stamp without a zone."""
        return stamp.microseconds("time", text.decode("ascii"), self._year)

    def _take(
        self, stream: Stream, line: int, said: Prefix, writer: Writer, record: Record, block: str
    ) -> None:
        if record.bar is not None:
            self._bar = kernel.COUNTS if record.bar or record.points else kernel.NESTED
            if not Place().counts(record):
                self._bar = kernel.ASIDE
        super()._take(stream, line, said, writer, record, block)

    def _writer_of(self, name: str, rank: int | None) -> Writer:
        writers = self._writers.setdefault(name, {})
        return writers.setdefault(rank, _Weighed(open=self._open))

    def _plan(self, shape: str, tokens: Tokens) -> Plan:
        plan = super()._plan(shape, tokens)
        self._tabular |= bool(plan.row)
        return plan
