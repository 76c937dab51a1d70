"""Asks the readable path what it makes of one line standing alone."""

from runwatch.chunk import Stream
from runwatch.parse import stamp
from runwatch.parse.gate import Row
from runwatch.parse.ledger import Ledger
from runwatch.parse.parser import Parser
from runwatch.parse.place import Place
from runwatch.parse.prefix import Prefix
from runwatch.parse.silence import Quiet
from runwatch.parse.table import Table
from runwatch.parse.trace import Context, Outcome, Trace
from runwatch.parse.writer import Writer

_ALONE = Stream("")
_DEEP_IN_CODE = 12
NOWHERE = Context()


class _Nowhere(Ledger):
    """A ledger that keeps nothing."""

    def __init__(self, host: Parser) -> None:
        super().__init__(host._names)

    def keep(self, stream: Stream, row: Row) -> None:
        pass

    def note(self, line: int, said: Prefix, block: str, place: Place, raw: str) -> None:
        pass

    def unclear(self, message: str) -> None:
        pass

    def reach(self, rank: int | None, step: int, line: int) -> None:
        pass


class Probe(Parser):
    """A parser that forgets: every line is read as if it stood alone, with the host's knowledge."""

    def __init__(self, host: Parser, *, timed: bool) -> None:
        super().__init__(
            watchwords=host._watchwords, year=host._year, knowledge=host._knowledge, replay=False,
            notes=host._notes,
        )  # fmt: skip
        self._plans, self._watched, self._peeler = host._plans, host._watched, host._peeler
        self._ledger = _Nowhere(host)
        self._timed = timed
        self._context = NOWHERE
        self.looks = 0

    def look(self, line: bytes, context: Context = NOWHERE) -> Outcome | None:
        """The outcome of a line in a context; None where it depends on, or changes, more than can
        be replayed."""
        self._context = context
        self.looks += 1
        self._writers, self._speakers = {}, {}
        self._touched.clear()
        trace = Trace()
        self.read_line(_ALONE, 1, line, trace)
        return None if b"\r" in line[:-1] else trace.outcome(timed=self._timed)

    def moment(self, text: bytes) -> int | None:
        """Microseconds of a stamp without a zone."""
        return stamp.microseconds("time", text.decode("ascii"), self._year)

    def _writer_of(self, name: str, rank: int | None) -> Writer:
        writers = self._writers.setdefault(name, {})
        writer = writers.get(rank)
        if writer is None:
            said, (head, spans) = self._context, self._context.head
            writer = writers[rank] = Writer(
                quiet=Quiet(code=_DEEP_IN_CODE if said.code else 0),
                table=Table(list(head), list(spans)),
                open=said.open,
            )
        return writer
