"""The one place where the stages meet: parser → detectors → store → summary."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from runwatch import judgement
from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.copies import Copies
from runwatch.detect import Columns, Faults, Room, detectors
from runwatch.detect.checkpoints import Checkpoints
from runwatch.detect.curves import Curves
from runwatch.detect.named import Named
from runwatch.detect.signatures import watchwords
from runwatch.errors import StoreError
from runwatch.evidence import Cite, evident
from runwatch.finding import NO_RANK, Finding
from runwatch.ingest.source import Skipped
from runwatch.judgement import Ending, Verdict
from runwatch.outline import Outline
from runwatch.parse import Account, Parser
from runwatch.parse.knowledge import Knowledge
from runwatch.past import STATE_VERSION, asked
from runwatch.records import Batch
from runwatch.redact import redact
from runwatch.summary import Coverage, Summary
from runwatch.telemetry import Telemetry

if TYPE_CHECKING:
    from runwatch.store import Store

_MOST_PENDING = 1_000_000  # points that wait to be stored; a line of note takes the room of ten
_LINE_IN_POINTS = 10
_MAX_LINES = 2_000  # lines of note that are stored of one stream


class Analysis:
    """One run being read: chunks go in, findings stand at any time, a summary comes at the end.

    With a store, what was read is kept together with where to go on and what was learned; `state`
    is what a former pass kept. A watcher adds what it did (`actions`) and what it saw beside the
    log (`extra`). The same chunks cut in other places give the same answers.

    `lost` is told when the history cannot be written, and the analysis goes on without one; where
    nobody is to be told, the StoreError is raised.
    """

    lost: Callable[[StoreError], None] | None = None

    def __init__(
        self, run: str, target: str, *, store: "Store | None", clock: Callable[[], datetime],
        knowledge: Knowledge, state: Mapping[str, Any] | None = None, rules: Sequence[Named] = (),
    ) -> None:  # fmt: skip
        self._run, self._target, self._store = run, target, store
        self._detectors = [*detectors(), *asked(rules)]
        self._room = Room()
        self.checkpoints = Checkpoints()
        self.curves = Curves()
        self.actions: list[dict[str, Any]] = []
        self.extra: list[Finding] = []
        words = {word for d in self._detectors for word in getattr(d, "watchwords", ())}
        words |= watchwords() | self.checkpoints.watchwords
        self._parser = Parser(
            watchwords=words, year=clock().year, knowledge=knowledge, remember=True
        )
        self._telemetry = Telemetry(self._detectors, clock().year)
        self.outline = Outline()
        self._streams: dict[str, Stream] = {}
        self._ends: dict[str, int] = {}
        self._lines: dict[str, int] = {}
        self._copies = Copies()
        self._fresh = state is None
        self._pending: list[Batch] = []
        self._room_taken = 0
        self._kept: list[dict[str, Any]] = []  # actions, as they were stored last
        if state is not None:
            self._restore(state)

    @property
    def account(self) -> Account:
        """What was read so far and what came of it."""
        return self._parser.account

    def take(self, chunk: Chunk) -> Batch:
        """Read the next bytes of a stream; now and then, what was read is stored.

        A stream that starts over (rotated, truncated, replaced) goes on under its name: its lines
        count on, and an unfinished last line of the old text is dropped.
        """
        name = chunk.stream.name
        over = chunk.data and self._ends.get(name, chunk.offset) != chunk.offset
        if over or self._room_taken >= _MOST_PENDING:
            self.flush()  # rows of an unfinished line belong to the text that is gone
        self._streams[name] = chunk.stream
        if chunk.data:
            self._ends[name] = chunk.offset + len(chunk.data)
        return self._see(self._parser.feed(chunk))

    def gauge(self, chunk: Chunk) -> Batch:
        """What a machine of the run tells of itself, kept and judged beside the logs."""
        batch = self._telemetry.take(chunk)
        if self._store is not None:
            self._enqueue(batch)
        return batch

    def tick(self, now: float, patience: float, *, lives: bool, three: float = 0.0) -> bool:
        """Tell that time has passed: `now` in seconds of a steady clock; `three` are those of the
        last three intervals between reports.

        Silence of less than `patience` seconds is never a stall; of a run that is not known to be
        there, `lives`, it may be the end. Whether findings may differ now.
        """
        ticks = [tick for d in self._detectors if (tick := getattr(d, "tick", None))]
        told = [
            tick(now, patience, lives=lives, three=three) for tick in ticks
        ]  # each has to see the time
        return any(told)

    def findings(self) -> list[Finding]:
        """Everything that stands now, each with its rank or a word on why none can be told."""
        told = [f for detector in self._detectors for f in detector.findings()]
        found = [self._ranked(f) for f in [*told, *self.extra]]
        return [replace(f, message=redact(f.message)) for f in found]  # it may name a metric

    def flush(self) -> None:
        """Store what was read so far, with where to go on and what was learned, at once."""
        if self._pending or self._fresh or self.actions != self._kept:
            self._store_all(*self._place(), None)

    @property
    def stored(self) -> bool:
        """Whether what is read is kept in a history."""
        return self._store is not None

    def finish(
        self, skipped: Iterable[Skipped] = (), cite: Cite | None = None, *,
        ending: Callable[[Ending], Ending] | None = None,
    ) -> Summary:  # fmt: skip
        """Give up unfinished last lines, judge the run, and store what is not stored yet.

        What is remembered for the next time is the state in front of those lines. `ending` may
        put what the log says of the end right, where one knows more.
        """
        cursors, state = deepcopy(self._place())
        for stream in self._streams.values():
            self._see(self._parser.finish(stream))
        told = self.ending()
        summary = self._summary(skipped, cite, ending(told) if ending else told)
        self._store_all(cursors, state, summary)
        return summary

    def ending(self, *, live: bool = False) -> Ending:
        """How the run ended by its words; `live` where more may be written."""
        return next(d for d in self._detectors if isinstance(d, Faults)).ending(live=live)

    def _summary(self, skipped: Iterable[Skipped], cite: Cite | None, ending: Ending) -> Summary:
        """The run as it stands. `cite` gives the lines that findings of the numbers rest on."""
        found = evident(judgement.concluded(self.findings(), ending), cite)
        written = self._parser.account.lines > 0
        looked = [(d.check(), getattr(d, "beside", False)) for d in self._detectors]
        checks = tuple(check for check, beside in looked if check.ran or not beside)
        verdict = judgement.fold(found, ending, written=written, blind=judgement.blind(checks))
        best = self.checkpoints.best(_wrecked_at(verdict))
        return Summary(
            run=self._run,
            target=redact(self._target),
            streams=len(self._streams),
            steps=self.outline.steps,
            segments=self.outline.segments,
            terminal_state=(verdict.ending or ending).state,
            verdict=verdict,
            coverage=covered(self._parser.account, skipped),
            findings=tuple(sorted(judgement.one_root(found, verdict.root_cause), key=_order)),
            checks=checks,
            final_metrics=self.outline.final_metrics(),
            best_checkpoint=None if best is None else best.path,
            actions=tuple(self.actions),
            curves=self.curves.told(),
        )

    def _see(self, batch: Batch) -> Batch:
        batch = batch.redacted()  # nothing behind here has a secret to tell
        judged = self._copies.without(batch)
        self.outline.feed(judged)
        self.checkpoints.feed(judged)
        columns = Columns(judged, self._room)
        self.curves.feed(judged, columns)
        every = columns if judged is batch else Columns(batch)
        for detector in self._detectors:
            if getattr(detector, "every_copy", False):
                detector.feed(batch, every)
            else:
                detector.feed(judged, columns)
        if self._store is not None:
            self._enqueue(self._worth_keeping(batch))
        return batch

    def _enqueue(self, batch: Batch) -> None:
        """Let a batch wait to be stored."""
        self._pending.append(batch)
        self._room_taken += len(batch.points) + _LINE_IN_POINTS * len(batch.lines)

    def _worth_keeping(self, batch: Batch) -> Batch:
        """The batch with no more lines of note than are stored of one stream."""
        seen = self._lines.get(batch.stream.name, 0)
        self._lines[batch.stream.name] = seen + len(batch.lines)
        room = max(0, _MAX_LINES - seen)
        if len(batch.lines) <= room:
            return batch
        return replace(batch, lines=batch.lines[:room])

    def _place(self) -> tuple[dict[str, Cursor], dict[str, Any]]:
        """Where to go on and what was learned; nothing where it is not kept."""
        if self._store is None:
            return {}, {}
        cursors = {name: self._parser.cursor(stream) for name, stream in self._streams.items()}
        return cursors | self._telemetry.cursors(), self._state()

    def _store_all(
        self, cursors: dict[str, Cursor], state: dict[str, Any], summary: Summary | None
    ) -> None:
        if self._store is None:
            return
        try:
            self._store.flush(
                self._run, self._target, self._pending, cursors, state,
                None if summary is None else summary.as_dict(), did=self.actions,
                fresh=self._fresh,
            )  # fmt: skip
        except StoreError as error:
            if self.lost is None:
                raise
            self._store = None
            self.lost(error)
        self._fresh, self._pending, self._room_taken = False, [], 0
        self._kept = deepcopy(self.actions)

    def _ranked(self, finding: Finding) -> Finding:
        if finding.rank is not None or finding.rank_note not in ("", NO_RANK):
            return finding
        logs = [stream for stream in self._streams.values() if not stream.kind]
        if len(logs or self._streams) == 1 and not self.outline.ranks:
            return replace(finding, rank=0, rank_note="")  # one process wrote all of it
        return replace(finding, rank_note=NO_RANK)

    def _state(self) -> dict[str, Any]:
        return {
            "version": STATE_VERSION,
            "parser": self._parser.state(),
            "telemetry": self._telemetry.state(),
            "streams": [[one.name, one.rank, one.kind] for one in self._streams.values()],
            "outline": self.outline.state(),
            "checkpoints": self.checkpoints.state(),
            "curves": self.curves.state(),
            "actions": self.actions,
            "lines": dict(self._lines),
            "told": self._copies.state(),
            "detectors": {detector.name: detector.state() for detector in self._detectors},
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._streams = {name: Stream(name, *more) for name, *more in state["streams"]}
        self._parser.restore(state["parser"])
        self._telemetry.restore(state["telemetry"])
        self.outline.restore(state["outline"])
        self.checkpoints.restore(state["checkpoints"])
        self.curves.restore(state["curves"])
        self.actions = list(state["actions"])
        self._lines = dict(state["lines"])
        self._copies.restore(state["told"])
        for detector in self._detectors:
            detector.restore(state["detectors"][detector.name])


def _wrecked_at(verdict: Verdict) -> int | None:
    """The step from which on checkpoints hold numbers that are lost."""
    root = verdict.root_cause
    return root.step if root is not None and judgement.rule(root.kind).wrecks else None


def covered(read: Account, skipped: Iterable[Skipped]) -> Coverage:
    """What was read and what was not, for people."""
    return Coverage(
        read.lines, read.bytes, read.points, read.metric_lines, read.oversized, read.unclear,
        tuple(redact(example) for example in read.examples),
        tuple(
            {"name": s.name, "why": s.reason, "read": s.read, "count": s.count} for s in skipped
        ),
    )  # fmt: skip


def _order(finding: Finding) -> tuple[int, int, str, int]:
    roles = ("root", "confirmation", "symptom", "follow-on")
    return -finding.severity.weight, roles.index(finding.role), finding.stream, finding.line
