"""The readable path: lines to records.

Lines are cleaned and peeled; what is left is read as an object, a table or text. A text line is
split into literals and numbers, and its meaning, the plan, is made once for each sequence of
literals. What a line cannot say itself (its step, the names of columns) comes from its writer.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from runwatch.chunk import Stream
from runwatch.fragments import Fragments
from runwatch.parse import bar, clean, counter, structured
from runwatch.parse.gate import Row
from runwatch.parse.knowledge import Knowledge, builtin
from runwatch.parse.language import spelled
from runwatch.parse.ledger import Account, Ledger
from runwatch.parse.literal import first_object
from runwatch.parse.memo import Memo, lately, shortened
from runwatch.parse.number import Tokens, split
from runwatch.parse.place import Place
from runwatch.parse.plan import SILENT, Evidence
from runwatch.parse.plans import Plans
from runwatch.parse.prefix import Peeler, Prefix, glued
from runwatch.parse.record import NOTHING, Record, counts_plainly, fill
from runwatch.parse.silence import traits_of
from runwatch.parse.table import is_rule
from runwatch.parse.writer import Writer
from runwatch.parse.writers import Writers
from runwatch.pattern import compiled
from runwatch.tally import Tally

if TYPE_CHECKING:
    from runwatch.parse.trace import Trace

_DIGITS = compiled(r"\d+")
# Names of measurements that look like a word to watch for: `val_mean_absolute_error: 0.27`.
_MEASURED = compiled(r"[a-z]_error['\"]?(?:: ?|=)-?[0ni]|\bcompleted step: 0")
_REPEATED = compiled(r"(?<!\s)\s*\[repeated \d+x across cluster\].*$")  # what Ray adds
_LOUD = frozenset(("warning", "error", "critical"))
_MAX_NESTING = 4  # texts wrapped in texts


class Reader:
    """Reads lines of the streams of one run. `watchwords` are lower-case fragments, digits as `0`,
    of lines that must not be missed; `year` is for time stamps that do not say theirs; `knowledge`
    is what is known of formats, ours where none is given. With a `tally` the points are counted
    there and not kept. Lines of note are left out unless `notes`."""

    def __init__(
        self,
        *,
        watchwords: Iterable[str] = (),
        year: int = 1970,
        knowledge: Knowledge | None = None,
        tally: Tally | None = None,
        notes: bool = True,
    ) -> None:
        known = self.knowledge = knowledge or builtin()
        self._names = known.names
        self._calls = tuple(text for text in known.fragments if text.endswith("("))
        self.ledger = Ledger(self._names, tally)
        self.writers = Writers()
        self.notes = notes
        self._words = frozenset(watchwords)
        self._watchwords = Fragments(self._words)
        self._peeler = Peeler(known.prefixes, year)
        self._year = year
        self._plans = Plans(self._names, known.fragments)
        self._watched = Memo[bool]()
        self._trace: Trace | None = None  # where the steps of a line are written down

    @property
    def settings(self) -> tuple[object, ...]:
        """What it makes of a line depends on, besides its knowledge."""
        return self._year, self.notes, sorted(self._words)

    @property
    def account(self) -> Account:
        """What was read so far and what came of it."""
        return self.ledger.account

    def read_line(
        self, stream: Stream, line: int, raw: bytes, trace: "Trace | None" = None
    ) -> None:
        """Read one whole line by the readable path, its steps written down in a trace."""
        self._trace, self._peeler.misdated = trace, False
        text = raw.decode("utf-8", "replace")
        if trace is not None:
            trace.text = text
        self._line(stream, line, text)
        if trace is not None:
            self._trace, trace.misdated = None, self._peeler.misdated

    def note(self, line: int, raw: bytes, rank: int | None, block: str, place: Place) -> None:
        """Write a line down that is one of note, as one like it was; its writer was found."""
        text = raw.decode("utf-8", "replace")
        said = self._peeler.peel(text)
        if self._is_of_note(said, block):
            said = said._replace(time=said.time or None, rank=rank)
            self.ledger.note(line, said, block, place, text.rstrip())

    # From a line to its texts

    def _line(self, stream: Stream, line: int, text: str) -> None:
        for drawn in clean.texts(text):
            if len(drawn) > clean.MAX_TEXT:
                self.account.oversized += 1
                drawn = drawn[: clean.MAX_TEXT]
            if not drawn.isspace():
                self._text(stream, line, drawn, None, 0)

    def _text(
        self, stream: Stream, line: int, text: str, time: int | None, depth: int,
        rank: int | None = None,
    ) -> None:  # fmt: skip
        """Peel one text, see what block it stands in, and read it; time and rank are those of what
        it lies in, for a text that does not say its own."""
        if ("[rank" in text or "[Rank" in text) and (m := glued(text)):
            self._text(stream, line, text[: m.start()], time, depth, rank)
            text = text[m.end() :]
        peeled = self._peeler.peel(text)
        if peeled.rank is None and rank is not None:
            peeled = peeled._replace(rank=rank)
        if not peeled.message or peeled.message.isspace():
            return  # as blank as a line without prefixes
        message, behind = bar.normal(peeled.message)
        if behind:
            drawn = text[: len(text) - len(peeled.message)] + message
            self._text(stream, line, drawn, time, depth, rank)
            said_of = time if peeled.time is None else peeled.time
            self._text(stream, line, behind, said_of, depth, peeled.rank)
            return
        if not message.isascii():
            message = spelled(message)
        if "x across cluster]" in message:
            message = _REPEATED.sub("", message)
        rank = self._rank(stream, peeled, message)
        said = Prefix(peeled.time or time, rank, peeled.level, message, peeled.deep)
        writer = self.writers.reading(stream.name, rank)
        traits = traits_of(message)
        block = writer.quiet.see(traits)
        if self._trace is not None:
            self._trace.see(text, peeled, rank, message, traits, block, writer)
        if block != "traceback":
            self._read(stream, line, said, writer, block, depth)
        if self.notes and self._is_of_note(said, block):
            self.ledger.note(line, said, block, writer.place, text.rstrip())
            if self._trace is not None:
                self._trace.note()

    def _rank(self, stream: Stream, said: Prefix, message: str) -> int | None:
        """Who wrote a line: as its prefix or stream says, or, where its prefixes name no rank, whom
        an indented line continues."""
        rank = stream.rank if said.rank is None else said.rank
        if said.rank is None and message[:1] in " \t}":
            speaker = self.writers.speaker(stream.name, rank)
            if speaker != rank and self.writers.reading(stream.name, speaker).continues:
                return speaker
        if said.deep:
            self.writers.heard(stream.name, rank)
        return rank

    # From a text to a record

    def _read(
        self, stream: Stream, line: int, said: Prefix, writer: Writer, block: str, depth: int
    ) -> None:
        message = said.message
        if writer.table.box(line, message):
            if self._trace is not None:
                self._trace.odd = True
            return
        if writer.table.boxed or writer.table.section:
            self._close(stream, said.rank, writer)
        found = first_object(message) if "{" in message else None
        if found is not None and not any(text in found[0] for text in self._calls):
            read = structured.read(found[0], found[1], self._names, self._year)
            time = read.time if said.time is None else said.time
            if read.text is not None and depth < _MAX_NESTING:
                tag = "" if read.rank is None else f"[rank{read.rank}]: "
                for part in read.text.split("\n"):
                    for drawn in clean.texts(part):
                        self._text(stream, line, tag + drawn, time, depth + 1, said.rank)
                return
            if read.record is not None and structured.is_setting(found[0]):
                self._plain(stream, line, said._replace(message=found[0]), writer, block)
                return
            if read.record is not None:
                behind = found[2].strip(" ,;")
                again = depth < _MAX_NESTING and behind.startswith("{")
                around = found[:1] if again else found[::2]
                record = self._joined(around, read.record)
                self._take(stream, line, said._replace(time=time), writer, record, block)
                if again:  # two writers on one line
                    said = said._replace(message=behind)
                    self._read(stream, line, said, writer, block, depth + 1)
                return
        self._plain(stream, line, said, writer, block)

    def _joined(self, around: tuple[str, ...], record: Record) -> Record:
        """The record with the place and the measurements of the text around its object."""
        for text in around:
            tokens = split(text)
            if tokens.marks:
                said = fill(self._plans.of(tokens), tokens.values, "")
                record = structured.joined(record, said)
        return record

    def _plain(self, stream: Stream, line: int, said: Prefix, writer: Writer, block: str) -> None:
        """A text line: by the plan of its shape."""
        message, tokens = _written(said.message)
        shape = tokens.shape
        plan = self._plans.of(tokens)
        if plan is SILENT or plan.head:
            if plan.head:
                drawn = plan.bar is None and " | " in message
                took = writer.table.header(plan, self._names, drawn=drawn)
                if self._trace is not None:
                    self._trace.odd |= drawn  # its names may go on in the next line
                    self._trace.head = (plan.head, plan.spans) if took else self._trace.head
            if plan.bar is None:
                if plan.head or not is_rule(message):
                    if self._trace is not None:
                        self._trace.weigh(writer)
                    writer.weigh(NOTHING, message, block)
                return
        record = fill(plan, tokens.values, shortened(shape))
        if self._trace is not None:
            self._trace.tabular |= bool(plan.row)
            self._trace.odd |= writer.table.is_by_place(plan.row)
            silent = plan.bar is not None and not plan.fields
            self._trace.odd |= not silent and not counts_plainly(plan, tokens.values)
        if plan.row and writer.table.head:
            record = writer.table.filled(record, plan, tokens, self._names)
        self._take(stream, line, said, writer, record, block)

    # From a record to points

    def _take(
        self, stream: Stream, line: int, said: Prefix, writer: Writer, record: Record, block: str
    ) -> None:
        """Follow where a record says it is, and keep its points if they count."""
        rank = said.rank if record.rank is None else record.rank
        if rank != said.rank:
            writer = self.writers.reading(stream.name, rank)
        if self._trace is not None:
            self._trace.weigh(writer)
        weighed = writer.weigh(record, said.message, block)
        if self._trace is not None:
            self._trace.take(record, weighed, said)
        record = weighed
        if block == "code" and record.evidence is Evidence.NONE:
            return
        place = writer.place
        place.follow(record)
        if record.step is not None and place.step == record.step:
            self.ledger.reach(rank, record.step, line)
        if not record.points or record.evidence is Evidence.NONE:
            return
        step = place.step if record.step is None else record.step
        epoch = place.epoch if record.epoch is None else record.epoch
        row = Row(line, said.time, rank, step, epoch, place.segment, record.training, record.points)
        rows = writer.gate.passed(record, row)
        if not rows:
            self.ledger.unclear(said.message)
        for passed in rows:
            self.ledger.keep(stream, passed)

    def _close(self, stream: Stream, rank: int | None, writer: Writer) -> None:
        """Write the rows of a box that has ended."""
        for line, record in writer.table.close(self._names):
            place = writer.place
            place.follow(record)
            step = place.step if record.step is None else record.step
            row = Row(line, None, rank, step, place.epoch, place.segment, True, record.points)
            self.ledger.keep(stream, row)

    # What lines depend on

    def _is_of_note(self, said: Prefix, block: str) -> bool:
        return block == "traceback" or said.level in _LOUD or self._is_watched(said.message)

    def _is_watched(self, message: str) -> bool:
        masked = _DIGITS.sub("0", message).lower()
        seen = self._watched.answers.get(masked)
        if seen is not None:
            return seen
        words = _MEASURED.sub("", masked)
        return self._watched.keep(masked, self._watchwords.within(words))


@lately
def _written(message: str) -> tuple[str, Tokens]:
    """A message without its drawing and with its counters behind their names, and its tokens."""
    message = counter.apart(bar.undrawn(message))
    return message, split(message)
