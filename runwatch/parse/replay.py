"""Replays lines of known shape in a kernel and hands the others to the readable path.

What a line depends on (its writer's place) lives in arrays while lines are replayed and in `Place`
objects while they are read; `Replay` carries it over at every change between the two.
"""

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from runwatch.chunk import Stream
from runwatch.kernels import replay as kernel
from runwatch.kernels.memory import PAD
from runwatch.parse.cut import Spans
from runwatch.parse.probe import Probe
from runwatch.parse.program import Program
from runwatch.parse.template import Part, learn
from runwatch.parse.writer import Writer

if TYPE_CHECKING:
    from runwatch.parse.parser import Parser

ROOM = 1 << 16  # points that are kept before they are written down
_NUMBERS = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BAR = re.compile(rb"%\|[^|\r\n]{0,300}?\|")
_BLANKS = re.compile(rb"  +")
_LONGEST = 8192  # bytes of a line that is worth a template
_MAX_TEMPLATES = 4096
_MAX_SEEN = 1 << 16
_VARIANTS = 12  # templates of one form, for digits of other widths
_TWICE = 2
_NEWLINE = 10
_TRIES = 24  # lines of one form that are looked at


class Replay:
    """The compiled path of one parser."""

    def __init__(self, host: "Parser") -> None:
        self._host = host
        self._probe = Probe(host)
        self._program = Program(timed=host.ledger.tally is None)
        self._seen: dict[bytes, int] = {}
        self._forms: dict[bytes, list[tuple[int, list[Part]]]] = {}
        self._refused: set[bytes] = set()
        self._writers: dict[tuple[str, int | None], int] = {}
        self._ranks: list[int | None] = []
        self._places = np.full((8, kernel.P_WIDTH), np.nan)
        self._marks = np.full((8, 8, 3), np.nan)
        self._reached = np.full((8, 2), -1, np.int64)
        self._of_rank = np.full(kernel.MAX_RANK, -1, np.int64)
        self._stream = ""
        self._tallies: npt.NDArray[np.float64] | None = None
        self._moved = True  # a table may lie elsewhere than the kernel was told
        self._given = np.zeros(kernel.G_WIDTH, np.int64)
        self._given[kernel.G_LAST] = -1
        self._given_at = int(self._given.ctypes.data)
        self._values = np.zeros(kernel.MAX_SLOTS)
        room = ROOM if host.ledger.tally is None else 0
        self._out = np.empty((room, kernel.OUT_WIDTH), np.int64)
        self._out_values = np.empty((room, kernel.OUT_VALUES_WIDTH))

    def read(self, stream: Stream, first: int, spans: Spans) -> int:
        """Read whole lines, the first of them with this number; the number behind the last."""
        self._enter(stream)
        line = first
        for span in (spans.begun + bytes(PAD), spans.body, bytes(spans.end) + bytes(PAD)):
            if span is spans.body and len(span):
                line = self._span(stream, np.frombuffer(span, np.uint8), len(span), line)
            elif span is not spans.body and len(span) > PAD:
                line = self._span(stream, np.frombuffer(span, np.uint8), len(span) - PAD, line)
        return line

    def _span(self, stream: Stream, data: npt.NDArray[np.uint8], limit: int, line: int) -> int:
        """Read the lines of one span of bytes."""
        base, at = int(data.ctypes.data), 0
        while at < limit:
            if self._host.is_calm(stream):
                at, line = self._replayed(base, at, limit, line)
                if at >= limit:
                    break
            end = int(kernel.text_end(base + at, base + limit)) - base
            raw = data[at:end].tobytes()
            self._host.read_line(stream, line, raw)
            self._load_touched(stream)
            self._consider(raw)
            at, line = end + 1, line + int(data[end] == _NEWLINE)
        return line

    def _replayed(self, base: int, at: int, limit: int, line: int) -> tuple[int, int]:
        """Run the kernel until it meets a line that it does not know; where and at which line."""
        given, room = self._given, len(self._out)
        tally = self._host.ledger.tally
        if self._moved or (tally is not None and tally.rows is not self._tallies):
            self._address()
        while True:
            given[kernel.G_LINE] = line
            given[kernel.G_SPEAKER] = self._speaker
            given[kernel.G_METRIC_LINE] = self._host.ledger.metric_line(self._stream)
            stop = int(kernel.replay(base + at, base + limit, self._given_at)) - base
            made = int(given[kernel.G_MADE])
            if stop > at:
                self._write(made)
            moved, at, line = stop > at, stop, int(given[kernel.G_LINE])
            if not (room and moved and at < limit and made > room - kernel.MAX_SLOTS):
                return at, line

    @property
    def _speaker(self) -> int:
        return self._writers.get((self._stream, self._host.speaker(self._stream)), -1)

    def _address(self) -> None:
        """Tell the kernel where its tables are; they move when they grow."""
        p, tally, given = self._program, self._host.ledger.tally, self._given
        tables = (
            p.templates.rows, p.ops.rows, p.words.rows, p.buckets, p.links.rows, p.points.rows,
            p.constants.rows, self._of_rank, self._places, self._marks, self._reached,
            self._values if tally is None else tally.rows, self._out, self._out_values,
            self._values,
        )  # fmt: skip
        given[: len(tables)] = [table.ctypes.data for table in tables]
        given[kernel.G_ROOM], given[kernel.G_KINDS] = len(self._out), self._marks.shape[1]
        given[kernel.G_OWN] = self._writers.get((self._stream, self._default), -1)
        self._moved, self._tallies = False, None if tally is None else tally.rows

    def _write(self, made: int) -> None:
        """Write down what the kernel read, and carry the places back."""
        ledger, given = self._host.ledger, self._given
        ledger.block(
            made, int(given[kernel.G_METRIC_LINES]), self._out, self._out_values, self._ranks
        )
        ledger.at_metric_line(self._stream, int(given[kernel.G_METRIC_LINE]))
        speaker = int(given[kernel.G_SPEAKER])
        if speaker >= 0:
            self._host.heard(self._stream, self._ranks[speaker])
        for w in np.flatnonzero(self._reached[:, 1] >= 0).tolist():
            ledger.reach(self._ranks[w], int(self._reached[w, 0]), int(self._reached[w, 1]))
            self._reached[w] = -1
        for (name, rank), w in self._writers.items():
            if name == self._stream:
                self._carry_back(w, self._host.writer(name, rank))

    # Places, as objects and as rows

    def _enter(self, stream: Stream) -> None:
        """Begin with a stream: its writers are the ones that lines may name."""
        if stream.name == self._stream:
            self._load_touched(stream)
            return
        self._moved = True
        self._stream, self._default = stream.name, stream.rank
        self._of_rank[:] = -1
        self._host.writer(stream.name, stream.rank)
        self._reload()
        self._host.touched()

    def _reload(self) -> None:
        """Carry all places of the stream over, for there is a new kind of record."""
        for rank in self._host.writers(self._stream):
            self._carry_over(self._stream, rank)

    def _load_touched(self, stream: Stream) -> None:
        for name, rank in self._host.touched():
            if name == stream.name:
                self._carry_over(name, rank)

    def _carry_over(self, name: str, rank: int | None) -> None:
        """A writer's place as a row."""
        w = self._writers.get((name, rank))
        if w is None:
            w = self._writers[name, rank] = len(self._ranks)
            self._ranks.append(rank)
            self._moved = True
            self._grow()
        writer = self._host.writer(name, rank)
        place = writer.place
        self._places[w] = [
            math.nan if said is None else said
            for said in (
                place.step, place.epoch, place.total_steps, place.total_epochs, place.segment,
                writer.near, writer.open, place.bar_total,
            )
        ]  # fmt: skip
        self._marks[w] = np.nan
        for metric, mark in place.marks.items():
            kind = self._program.kind(metric)
            if kind is not None:
                self._marks[w, kind] = mark
        if rank is not None and 0 <= rank < kernel.MAX_RANK:
            self._of_rank[rank] = w

    def _carry_back(self, w: int, writer: Writer) -> None:
        """A row as the writer's place."""
        step, epoch, total, epochs, segment, near, opened, bar = self._places[w].tolist()
        place, writer.near, writer.open = writer.place, int(near), bool(opened)
        place.step, place.epoch = _whole(step), None if math.isnan(epoch) else epoch
        place.total_steps, place.total_epochs = _whole(total), _whole(epochs)
        place.bar_total = int(bar)
        place.began = place.began or place.step is not None
        if int(segment) != place.segment:
            place.segment, place.marks = int(segment), {}
        for metric, kind in self._program.all_kinds():
            mark = self._marks[w, kind]
            if not math.isnan(mark[1]):
                place.marks[metric] = mark.tolist()

    def _grow(self) -> None:
        """Room for every writer and kind."""
        writers, kinds = len(self._ranks), self._program.kinds
        if writers > len(self._places) or kinds > self._marks.shape[1]:
            rows = max(len(self._places), 2 * writers)
            width = max(self._marks.shape[1], 2 * kinds)
            self._places = _enlarged(self._places, (rows, kernel.P_WIDTH), math.nan)
            self._marks = _enlarged(self._marks, (rows, width, 3), math.nan)
            self._reached = _enlarged(self._reached, (rows, 2), -1)

    # Learning

    def _consider(self, line: bytes) -> None:
        """Learn the template of a line whose form comes again."""
        if not line or len(line) > _LONGEST:
            return
        form = _BLANKS.sub(b"  ", _NUMBERS.sub(b"0", _BAR.sub(b"%||", line)))
        if form in self._refused or self._linked(form, line):
            return
        count = self._seen[form] = self._seen.get(form, 0) + 1
        if len(self._seen) > _MAX_SEEN:
            self._seen.clear()
        if len(self._refused) > _MAX_SEEN:
            self._refused.clear()
        if count > _TRIES:
            self._refused.add(form)
            return
        if count < _TWICE:
            return
        known = self._forms.setdefault(form, [])
        full = self._program.templates.used >= _MAX_TEMPLATES or len(known) >= _VARIANTS
        template = None if full else learn(line, self._probe)
        if template is None:
            self._refused.add(form)
            return
        if any(parts == template.parts for _, parts in known):
            return  # the kernel stopped for another reason
        self._moved = True
        kinds = self._program.kinds
        index = self._program.add(template, line, self._host.ledger.numbers)
        known.append((index, template.parts))
        if self._program.kinds != kinds:
            self._grow()
            self._reload()

    def _linked(self, form: bytes, line: bytes) -> bool:
        """Whether a template of this form only was not found by how the line begins."""
        self._moved = True
        return any(self._program.link(index, line) for index, _ in self._forms.get(form, ()))


def _whole(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def _enlarged(old: npt.NDArray[Any], shape: tuple[int, ...], filler: float) -> npt.NDArray[Any]:
    new = np.full(shape, filler, old.dtype)
    new[tuple(slice(0, n) for n in old.shape)] = old
    return new
