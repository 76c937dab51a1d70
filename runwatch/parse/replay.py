"""Replays lines of known shape in kernels and hands the others to the readable path."""

from typing import TYPE_CHECKING

import numpy as np

from runwatch.arrays import Bytes, Floats
from runwatch.chunk import Stream
from runwatch.kernels import layout, native
from runwatch.parse.crew import Crew
from runwatch.parse.cut import Spans
from runwatch.parse.learner import Learner
from runwatch.parse.place import Place
from runwatch.parse.program import Addresses, Program
from runwatch.parse.remembered import memory_of
from runwatch.parse.rows import Rows
from runwatch.parse.stage import Stage
from runwatch.parse.trace import Trace

if TYPE_CHECKING:
    from runwatch.parse.reader import Reader

_ROOM = 1 << 16  # points that are kept before they are written down
_BLOCKS = {layout.TEXT: "text", layout.CODED: "code", layout.TRACED: "traceback"}


class Replay:
    """The compiled path of one parser."""

    def __init__(self, host: "Reader", threads: int, *, remember: bool = False) -> None:
        timed = host.ledger.tally is None
        self._host = host
        self._program = Program(timed=timed)
        self._rows = Rows(host, self._program)
        memory = memory_of(host, timed=timed) if remember else None
        self._learner = Learner(host, self._program, timed=timed, memory=memory)
        self._crew = Crew(self._program, threads)
        self._given = np.zeros(layout.F_WIDTH, np.int64)
        self._address = int(self._given.ctypes.data)
        self._addresses = Addresses(self._given)
        self._scratch = np.zeros(2 * layout.MAX_SLOTS)
        self._tallies: Floats | None = None
        self._line = 0  # that the next text belongs to
        self._stage: tuple[Stage, Bytes, int] | None = None  # that it is in, and where that is
        self._noted = np.zeros((layout.MAX_NOTED, layout.NOTE_WIDTH), np.int64)
        self._points = 0  # of templates, when the kernels were told last
        room = _ROOM if timed else 0
        self._out = np.empty((room, layout.OUT_WIDTH), np.int64)
        self._out_values = np.empty((room, layout.OUT_VALUES_WIDTH))

    def read(
        self, stream: Stream, first: int, spans: Spans, coming: memoryview | None = None
    ) -> int:
        """Read whole lines, the first of them with this number; the number behind the last. What
        is coming may be looked at meanwhile."""
        self._rows.enter(stream)
        self._rows.load_touched()
        self._line = first
        pad = bytes(layout.PAD)
        for span, beyond in ((spans.begun + pad, len(pad)), (spans.body, 0),
                             (bytes(spans.end) + pad, len(pad))):  # fmt: skip
            if len(span) > beyond:
                data = np.frombuffer(span, np.uint8)
                base = int(data.ctypes.data)
                if span is spans.body:
                    self._crew.expect(coming)
                for stage in self._crew.staged(data, base, base + len(span) - beyond):
                    self._go_through(stream, stage, data, base)
        self._carry()
        return self._line

    def settle(self, name: str, rank: int | None) -> None:
        """See that a writer knows what the kernel made of it."""
        if name == self._rows.stream.name:
            self._rows.settle(rank)

    def settle_all(self) -> None:
        """See that all writers do."""
        self._rows.settle_all()

    def _go_through(self, stream: Stream, stage: Stage, data: Bytes, base: int) -> None:
        """Read the texts of a block, those that are not known by the readable path."""
        stage.aim(self._program)
        self._stage = stage, data, base
        line, count = self._line, stage.count
        given = self._given
        given[layout.F_VALUE] = 0
        keys: list[str] = []  # of the lines of a box, behind which the kernel goes on
        i, calm = 0, self._host.writers.is_calm(stream.name)
        while i < count:
            why = layout.UNSETTLED
            if calm:
                i, why = self._follow(stage, i, count, line)
                if why == layout.FULL:
                    self._carry()
                elif why == layout.NEWCOMER:
                    self._rows.welcome(int(self._given[layout.F_WHO]))
                elif why == layout.ASKS and not self._tells():
                    why = layout.UNSETTLED
                if why not in (layout.STRANGE, layout.UNSETTLED):
                    continue
            t, start, end, lines = stage.texts[i].tolist()
            raw = data[start - base : end - base].tobytes()
            self._carry()
            if why == layout.STRANGE:
                self._crew.settle()
                if self._learner.recall(raw, start, end):
                    self._learned(stage)
                    continue
            trace = Trace()
            self._host.read_line(stream, line + lines, raw, trace)
            if why == layout.STRANGE and self._learner.consider(raw, start, end, trace):
                self._learned(stage)
            keys += (record.key for _, record, _ in trace.taken)
            if calm := self._host.writers.is_calm(stream.name):
                self._rows.load_touched(keys)
                keys = []
            if t >= 0:
                given[layout.F_VALUE] += self._program.templates.rows[t, layout.VALUES]
            i += 1
        self._rows.load_touched(keys)
        self._note()
        self._line = line + stage.lines

    def _learned(self, stage: Stage) -> None:
        """Tell the kernels of a new template; one without points changes no table of writers."""
        stage.aim(self._program)
        if self._program.points.used != self._points:
            self._points = self._program.points.used
            self._rows.widen()
            self._rows.moved = True

    def _follow(self, stage: Stage, i: int, count: int, line: int) -> tuple[int, int]:
        """Run the kernel until it meets a text that it does not know; its index and why."""
        given, ledger, tally = self._given, self._host.ledger, self._host.ledger.tally
        if self._rows.moved or (tally is not None and tally.rows is not self._tallies):
            self._aim()
        name = self._rows.stream.name
        given[layout.F_LINE] = line
        given[layout.F_SPEAKER], given[layout.F_BLANK] = self._rows.speaker, self._rows.blank
        given[layout.F_METRIC_LINE] = ledger.metric_line(name)
        given[layout.F_EXAMPLES] = ledger.wants_examples
        stopped = int(native.follow(i, count, self._address, stage.address))
        if given[layout.F_BLANK] != self._rows.blank:
            self._rows.register(int(given[layout.F_BLANK]))
        if stopped > i:
            self._write(name)
        return stopped, int(given[layout.F_WHY])

    def _aim(self) -> None:
        """Tell the kernel where the tables are; they move when they grow."""
        program, rows, tally, given = (
            self._program, self._rows, self._host.ledger.tally, self._given
        )  # fmt: skip
        self._addresses.tell(
            program.points.rows, program.constants.rows, rows.of_rank, rows.places, rows.marks,
            rows.fates.cells, rows.reached, rows.changed, rows.fates.besides,
            self._scratch if tally is None else tally.rows, self._out, self._out_values,
            self._scratch, rows.fates.events, rows.fates.event_values, rows.rank_of,
            self._noted,
        )  # fmt: skip
        given[layout.F_ROOM] = len(self._out)
        given[layout.F_KINDS], given[layout.F_KEYS] = rows.marks.shape[1], rows.fates.cells.shape[1]
        given[layout.F_MARKED], given[layout.F_GATED] = len(rows.marks), len(rows.fates.cells)
        given[layout.F_OWN], given[layout.F_ROWS] = rows.own, len(rows.places)
        given[layout.F_NOTES] = self._host.notes
        rows.moved, self._tallies = False, None if tally is None else tally.rows

    def _write(self, name: str) -> None:
        """Write down what the kernel read."""
        ledger, given, rows = self._host.ledger, self._given, self._rows
        ledger.block(
            int(given[layout.F_MADE]), int(given[layout.F_METRIC_LINES]), self._out,
            self._out_values, rows.ranks,
        )  # fmt: skip
        ledger.at_metric_line(name, int(given[layout.F_METRIC_LINE]))
        ledger.account.unclear += int(given[layout.F_UNCLEAR])
        speaker = int(given[layout.F_SPEAKER])
        if speaker >= 0:
            self._host.writers.heard(name, rows.ranks[speaker])

    def _tells(self) -> bool:
        """Ask the gate that the kernel stopped at; whether the kernel can go on."""
        given = self._given
        self._hold()
        who, form = int(given[layout.F_WHO]), int(given[layout.F_FORM])
        return self._rows.fates.look(who, form, len(self._rows.ranks))

    def _carry(self) -> None:
        """Take note of the places and the forms that the kernel changed, before anybody looks at
        them."""
        given = self._given
        self._hold()
        self._note()
        self._rows.store(int(given[layout.F_CHANGES]), int(given[layout.F_BESIDES]))
        given[layout.F_CHANGES] = given[layout.F_BESIDES] = 0

    def _hold(self) -> None:
        given = self._given
        if events := int(given[layout.F_EVENTS]):
            values = int(given[layout.F_EVENT_VALUE])
            self._rows.fates.hold(events, values, self._rows.ranks)
            given[layout.F_EVENTS] = given[layout.F_EVENT_VALUE] = 0

    def _note(self) -> None:
        """Write the lines of note down that the kernel met."""
        noted = self._noted[: int(self._given[layout.F_NOTED])]
        if not len(noted) or self._stage is None:
            return
        self._given[layout.F_NOTED] = 0
        stage, data, base = self._stage
        places = noted.view(np.float64)[:, 3:].tolist()
        texts = stage.texts[noted[:, 0]].tolist()
        for (_, w, block, *_), (step, segment), (_, start, end, lines) in zip(
            noted.tolist(), places, texts, strict=True
        ):
            place = Place(None if step != step else int(step), segment=int(segment))
            self._host.note(
                self._line + lines, data[start - base : end - base].tobytes(), self._rows.ranks[w],
                _BLOCKS[block], place,
            )  # fmt: skip
