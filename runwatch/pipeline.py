"""The one place where the stages meet: source → parser → detectors → store → summary."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runwatch import judgement
from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.detect import Faults, detectors
from runwatch.detect.signatures import watchwords
from runwatch.finding import Finding
from runwatch.ingest import open_source
from runwatch.ingest.cited import cited
from runwatch.ingest.source import Source
from runwatch.outline import Outline
from runwatch.parse import Coverage as Read
from runwatch.parse import Parser
from runwatch.parse.clean import plain
from runwatch.parse.knowledge import Knowledge
from runwatch.records import Batch
from runwatch.redact import redact
from runwatch.summary import Coverage, Summary
from runwatch.target import Kind, Target

if TYPE_CHECKING:
    from runwatch.store import Store

STATE_VERSION = 1  # of what parser and detectors keep; an older past is read again from the start
_FLUSH_POINTS = 1_000_000
_MAX_LINES = 2_000  # lines of note that are stored of one stream


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a scan is, in stored bytes; `bytes_total` is 0 where nobody knows."""

    bytes_done: int
    bytes_total: int
    lines: int


Watch = Callable[[Progress], None]


class Reading:
    """The batches of a target, one after the other, nothing kept; `coverage` grows meanwhile.

    `formats` are users' own files of formats. Raises InputError where the target cannot be read,
    FormatError where a file of formats breaks its own samples.
    """

    def __init__(
        self, target: str, progress: Watch | None = None, *, formats: Iterable[Path] = (),
        year: int = 1970,
    ) -> None:  # fmt: skip
        self._parser = Parser(year=year, knowledge=Knowledge.with_own(formats))
        self._source = open_source(Target.parse(target))
        self._progress = progress

    def __iter__(self) -> Iterator[Batch]:
        gauge = _Gauge(self._progress)
        for chunk in self._source.chunks({}):
            yield self._parser.feed(chunk)
            if chunk.last:
                yield self._parser.finish(chunk.stream)
            gauge.show(chunk, self._parser.coverage.lines)

    @property
    def coverage(self) -> Coverage:
        """What was read so far and what came of it."""
        return _coverage(self._parser.coverage, self._source)


def scan(
    target: str,
    *,
    store: "Store | None" = None,
    progress: Watch | None = None,
    clock: Callable[[], datetime],
    formats: Iterable[Path] = (),
) -> Summary:
    """Read a run, judge it, and keep what was found.

    With a store, a run that was scanned before is updated: read on where it grew, read anew where
    it is another file. `formats` are users' own files of formats. Raises InputError where the
    target cannot be read, FormatError where a file of formats breaks its own samples, StoreError
    where the history cannot be written (what had been stored stays as it was).
    """
    named = Target.parse(target)
    run = run_id(named, clock)
    past = None
    if store is not None and named.kind is not Kind.STANDARD_INPUT:
        past = store.past(run)
        if past is not None and past.state.get("version") != STATE_VERSION:
            past = None
    source = open_source(named)
    knowledge = Knowledge.with_own(formats)
    if past is not None and past.state:
        scan_ = _Scan(run, target, store, clock, knowledge, past.state)
        try:
            return scan_.through(source, past.cursors, progress)
        except _StartedOverError:
            source = open_source(named)  # another file of the same name: read it from the start
    return _Scan(run, target, store, clock, knowledge).through(source, {}, progress)


def run_id(target: Target, clock: Callable[[], datetime]) -> str:
    """A name for the run that is the same for the same target: `train-1f0c2a9b`."""
    if target.kind is Kind.STANDARD_INPUT:
        return f"stdin-{clock():%Y%m%d-%H%M%S}"
    path = os.path.abspath(target.path)
    word = os.path.basename(path)
    kept = "".join(c if c.isalnum() or c in "._-" else "_" for c in redact(word))[:40]
    digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=4)
    return f"{kept}-{digest.hexdigest()}"


class _StartedOverError(Exception):
    """A stream that was to go on began anew, so the past of its run says nothing."""


class _Gauge:
    """Turns the positions of many streams into one progress."""

    def __init__(self, progress: Watch | None) -> None:
        self._progress = progress
        self._streams: dict[str, tuple[int, int]] = {}

    def show(self, chunk: Chunk, lines: int) -> None:
        """Tell how far it is."""
        if self._progress is None:
            return
        self._streams[chunk.stream.name] = (chunk.position, chunk.size)
        done = sum(position for position, _ in self._streams.values())
        total = sum(size for _, size in self._streams.values())
        self._progress(Progress(done, total, lines))


class _Scan:
    """One pass over a run: the stages with what they carry from batch to batch."""

    def __init__(
        self, run: str, target: str, store: "Store | None", clock: Callable[[], datetime],
        knowledge: Knowledge, state: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._run, self._target, self._store = run, target, store
        self._kind = Target.parse(target).kind
        self._detectors = detectors()
        words = {word for d in self._detectors for word in getattr(d, "watchwords", ())}
        self._parser = Parser(
            watchwords=watchwords() | words, year=clock().year, knowledge=knowledge
        )
        self._outline = Outline()
        self._streams: dict[str, Stream] = {}
        self._lines: dict[str, int] = {}
        self._fresh = state is None
        self._pending: list[Batch] = []
        self._pending_points = 0
        if state is not None:
            self._restore(state)

    def through(
        self, source: Source, cursors: Mapping[str, Cursor], progress: Watch | None
    ) -> Summary:
        """Read the source from the cursors to its end and sum up."""
        gauge = _Gauge(progress)
        begun: set[str] = set()
        for chunk in source.chunks(cursors):
            name = chunk.stream.name
            if name not in begun:
                begun.add(name)
                if name in cursors and chunk.offset != cursors[name].offset:
                    raise _StartedOverError
            self._streams[name] = chunk.stream
            self._take(self._parser.feed(chunk))
            gauge.show(chunk, self._parser.coverage.lines)
            if self._pending_points >= _FLUSH_POINTS:
                self._flush()
        return self._finish(source)

    def _take(self, batch: Batch) -> None:
        self._outline.feed(batch)
        for detector in self._detectors:
            detector.feed(batch)
        if self._store is not None:
            self._pending.append(self._worth_keeping(batch))
            self._pending_points += batch.points.num_rows

    def _worth_keeping(self, batch: Batch) -> Batch:
        """The batch with no more lines of note than are stored of one stream."""
        seen = self._lines.get(batch.stream.name, 0)
        self._lines[batch.stream.name] = seen + batch.lines.num_rows
        room = max(0, _MAX_LINES - seen)
        if batch.lines.num_rows <= room:
            return batch
        return Batch(
            batch.stream, batch.points, batch.lines.slice(0, room), batch.first_line,
            batch.last_line, batch.progress, batch.total_steps, batch.total_epochs,
        )  # fmt: skip

    def _flush(self, state: dict[str, Any] | None = None, summary: Summary | None = None) -> None:
        """Store what was read so far, with where to go on and what was learned, at once."""
        if self._store is None:
            return
        cursors = {name: self._parser.cursor(stream) for name, stream in self._streams.items()}
        self._store.flush(
            self._run, self._target, self._pending, cursors,
            self._state() if state is None else state,
            None if summary is None else summary.as_dict(),
            fresh=self._fresh,
        )  # fmt: skip
        self._fresh, self._pending, self._pending_points = False, [], 0

    def _finish(self, source: Source) -> Summary:
        """Give up unfinished last lines, after remembering the state in front of them."""
        state = self._state() if self._store is not None else {}
        for stream in self._streams.values():
            self._take(self._parser.finish(stream))
        summary = self._summary(source)
        self._flush(state, summary)
        return summary

    def _summary(self, source: Source) -> Summary:
        found = [self._ranked(f) for detector in self._detectors for f in detector.findings()]
        checks = tuple(detector.check() for detector in self._detectors)
        faults = next(d for d in self._detectors if isinstance(d, Faults))
        found = self._evident(found, source)
        ending = faults.ending()
        verdict = judgement.fold(found, ending)
        return Summary(
            run=self._run,
            target=redact(self._target),
            streams=len(source.streams()),
            steps=self._outline.steps,
            segments=self._outline.segments,
            terminal_state=(verdict.ending or ending).state,
            verdict=verdict,
            coverage=_coverage(self._parser.coverage, source),
            findings=tuple(sorted(found, key=_order)),
            checks=checks,
            final_metrics=self._outline.final_metrics(),
        )

    def _evident(self, found: list[Finding], source: Source) -> list[Finding]:
        """The findings, those of the numbers with the line that they cite."""
        wanted: dict[str, set[int]] = {}
        for finding in found:
            if not finding.evidence:
                wanted.setdefault(finding.stream, set()).add(finding.line)
        if not wanted or self._kind is Kind.STANDARD_INPUT:
            return found
        lines = cited(open_source(Target.parse(self._target)), wanted)
        return [
            finding
            if finding.evidence or (finding.stream, finding.line) not in lines
            else replace(finding, evidence=(plain(lines[finding.stream, finding.line]),))
            for finding in found
        ]

    def _ranked(self, finding: Finding) -> Finding:
        """The finding with the one rank that there is, or a word on why none can be told."""
        if finding.rank is not None or finding.rank_note:
            return finding
        if len(self._streams) == 1 and not self._outline.ranks:
            return replace(finding, rank=0)  # one process wrote all of it
        return replace(finding, rank_note="undetermined: the line names no rank")

    def _state(self) -> dict[str, Any]:
        return {
            "version": STATE_VERSION,
            "parser": self._parser.state(),
            "coverage": asdict(self._parser.coverage),
            "outline": self._outline.state(),
            "lines": dict(self._lines),
            "detectors": {detector.name: detector.state() for detector in self._detectors},
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._parser.restore(state["parser"])
        self._parser.coverage = Read(**state["coverage"])
        self._outline.restore(state["outline"])
        self._lines = dict(state["lines"])
        for detector in self._detectors:
            if detector.name in state["detectors"]:
                detector.restore(state["detectors"][detector.name])


def _coverage(read: Read, source: Source) -> Coverage:
    return Coverage(
        read.lines, read.bytes, read.points, read.metric_lines, read.oversized, read.unclear,
        tuple(redact(example) for example in read.examples),
        tuple(
            {"name": s.name, "why": s.reason, "read": s.read, "count": s.count}
            for s in source.skipped
        ),
    )  # fmt: skip


def _order(finding: Finding) -> tuple[int, int, str, int]:
    roles = ("root", "confirmation", "symptom", "follow-on")
    return -finding.severity.weight, roles.index(finding.role), finding.stream, finding.line


__all__ = ["Progress", "Reading", "run_id", "scan"]
