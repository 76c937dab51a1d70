"""Asks the readable path what it makes of one line standing alone."""

from runwatch.chunk import Stream
from runwatch.parse.gate import Row
from runwatch.parse.ledger import Ledger
from runwatch.parse.place import Place
from runwatch.parse.prefix import Prefix
from runwatch.parse.quantity import Names
from runwatch.parse.reader import Reader
from runwatch.parse.silence import Quiet
from runwatch.parse.table import Table
from runwatch.parse.trace import Context, Outcome, Trace
from runwatch.parse.writer import Writer
from runwatch.parse.writers import Writers
from runwatch.pattern import compiled

_ALONE = Stream("")
_RUN = compiled(r"\d+")
_LAST = compiled(r"([^\W_])[\W_]*\Z")
_DATED = compiled(rb"""["']\s*:\s*["']\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d""")  # a stamp in an object
_DEEP_IN_CODE = 12
_MOST_DIGITS = 9  # of a number that is no time
NOWHERE = Context()


class _Nowhere(Ledger):
    """A ledger that keeps nothing."""

    def __init__(self, host: Reader) -> None:
        super().__init__(host._names)

    def keep(self, stream: Stream, row: Row) -> None:
        pass

    def note(self, line: int, said: Prefix, block: str, place: Place, raw: str) -> None:
        pass

    def unclear(self, message: str) -> None:
        pass

    def reach(self, rank: int | None, step: int, line: int) -> None:
        pass


class Probe(Reader):
    """A reader that forgets: every line is read as if it stood alone, with the host's knowledge."""

    def __init__(self, host: Reader, *, timed: bool) -> None:
        super().__init__(year=host._year, knowledge=host.knowledge, notes=host.notes)
        self._plans, self._peeler = host._plans, host._peeler
        self._watchwords, self._watched = host._watchwords, host._watched
        self.ledger = _Nowhere(host)
        self._timed = timed
        self._context = NOWHERE
        self.message = ""  # of the last line, without its prefixes
        self.widths: dict[tuple[bytes, bytes], bool] = {}  # what a lesson found out of prefixes
        self.writers = Writers(self._new)
        self._digits = _digits_of_names(host.knowledge.names)

    def look(self, line: bytes, context: Context = NOWHERE) -> Outcome | None:
        """The outcome of a line in a context; None where it depends on, or changes, more than can
        be replayed."""
        self._context = context
        self.writers.forget()
        trace = Trace()
        self.read_line(_ALONE, 1, line, trace)
        return self.judged(line, trace)

    def judged(self, line: bytes, trace: Trace) -> Outcome | None:
        """The same of a line that was read, by whomever, outside of a traceback."""
        self.message = trace.seen[-1][0].message if trace.seen else ""
        if (self._timed and trace.misdated) or b"\r" in line[:-1]:
            return None  # another stamp in its place may be a date
        outcome = trace.outcome(timed=self._timed)
        if self._timed and outcome is not None and outcome.form and outcome.time is None:
            return None if _DATED.search(line) else outcome
        return outcome

    @property
    def year(self) -> int:
        """Of stamps that do not say theirs."""
        return self._year

    def digits(self, width: int, before: bytes) -> list[bytes]:
        """Digits of a width that may mean something behind a text where others do not: of known
        names, as in `f1` and `top5`, and the first of a time in Unix seconds. Some at least."""
        if width > _MOST_DIGITS:
            return [b"1" * width]
        letter = _before(before.decode("latin-1"))
        known = [digits for digits in self._digits if len(digits) == width]
        return [digits for digits in known if letter in self._digits[digits]] or known[:1]

    def _new(self) -> Writer:
        said, (head, spans) = self._context, self._context.head
        return Writer(
            quiet=Quiet(code=_DEEP_IN_CODE if said.code else 0),
            table=Table(head, spans),
            open=said.open,
        )


def _digits_of_names(names: Names) -> dict[bytes, set[str]]:
    """The digits in known names, and what stands before them."""
    found: dict[bytes, set[str]] = {}
    for word in sorted({word for rule in names.rules for word in (*rule.exact, *rule.any)}):
        for m in _RUN.finditer(word):
            found.setdefault(m.group().encode(), set()).add(_before(word[: m.start()]))
    return found


def _before(text: str) -> str:
    """The last letter of a text, 0 for any digit."""
    m = _LAST.search(text)
    return "0" if m and m.group(1).isdigit() else m.group(1).lower() if m else ""
