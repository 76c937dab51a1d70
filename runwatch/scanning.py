"""A run at rest, read from its start or from where it was left, to its end."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch.chunk import Chunk, Cursor
from runwatch.detect.named import Named
from runwatch.endings import followed
from runwatch.errors import StoreError
from runwatch.ingest import open_source
from runwatch.ingest.ahead import ahead
from runwatch.ingest.cited import cited
from runwatch.ingest.source import Source
from runwatch.judgement import Ending
from runwatch.parse import Parser
from runwatch.parse.knowledge import Knowledge
from runwatch.past import remembered
from runwatch.pipeline import Analysis, covered
from runwatch.recent import Recent
from runwatch.records import Batch
from runwatch.run_id import run_id as run_id
from runwatch.slotted import frozen
from runwatch.summary import Coverage, Summary
from runwatch.tally import Tally
from runwatch.target import FILES, SERVICES, Kind, Target

if TYPE_CHECKING:
    from runwatch.store import Past, Store


@frozen
class Headway:
    """How far a scan is, in stored bytes; `bytes_total` is 0 where nobody knows."""

    bytes_done: int
    bytes_total: int
    lines: int


Show = Callable[[Headway], None]


class Reading:
    """The batches of a target, one after the other, nothing kept; `coverage` grows meanwhile.

    `formats` are users' own files of formats. With a `tally` the points are counted there and the
    batches hold none; lines of note are left out. Large inputs are read by several `threads`, as
    many as there are cores where it is None. Raises InputError where the target cannot be read,
    FormatError where a file of formats breaks its own samples.
    """

    def __init__(
        self, target: str | Target, progress: Show | None = None, *, formats: Iterable[Path] = (),
        year: int = 1970, tally: Tally | None = None, threads: int | None = None,
    ) -> None:  # fmt: skip
        self._parser = Parser(
            year=year, knowledge=Knowledge.with_own(formats), tally=tally, notes=False,
            threads=threads, remember=True,
        )  # fmt: skip
        self._threads = threads
        self._source = open_source(_named(target))
        self._progress = progress

    def __iter__(self) -> Iterator[Batch]:
        gauge = _Gauge(self._progress)
        chunks = self._source.chunks({})
        alone = ((chunk, None) for chunk in chunks)
        for chunk, following in alone if self._threads == 1 else ahead(chunks):
            yield self._parser.feed(chunk, following)
            if chunk.last:
                yield self._parser.finish(chunk.stream)
            gauge.show(chunk, self._parser.account.lines)

    @property
    def coverage(self) -> Coverage:
        """What was read so far and what came of it."""
        return covered(self._parser.account, self._source.skipped)


def chunks_of(target: str) -> Iterator[Chunk]:
    """The bytes of a target from its start. Raises InputError where it cannot be read."""
    return iter(open_source(Target.parse(target)).chunks({}))


def _named(target: str | Target) -> Target:
    return target if isinstance(target, Target) else Target.parse(target)


def scan(
    target: str | Target,
    *,
    store: "Store | None" = None,
    progress: Show | None = None,
    clock: Callable[[], datetime],
    formats: Iterable[Path] = (),
    rules: Sequence[Named] = (),
    lost: Callable[[StoreError], None] | None = None,
) -> Summary:
    """Read a run, judge it, and keep what was found.

    With a store, a run that was scanned before is updated: read on where it grew, read anew where
    it is another file. `formats` are users' own files of formats, `rules` named rules to apply
    besides. Raises InputError where the target cannot be read, FormatError where a file of formats
    breaks its own samples, StoreError where the history cannot be used (what had been stored stays
    as it was), unless there is someone to tell that it is `lost`: then it is judged without it.
    """
    named = _named(target)
    run = run_id(named, clock)
    knowledge = Knowledge.with_own(formats)
    store, past = remembered(store, run, lost, rules)

    def through(source: Source, past: "Past | None") -> Summary:
        analysis = Analysis(
            run, str(target), store=store, clock=clock, knowledge=knowledge,
            state=None if past is None else past.state, rules=rules,
        )  # fmt: skip
        analysis.lost = lost
        return _through(analysis, named, source, {} if past is None else past.cursors, progress)

    source = open_source(named)
    if past is not None and named.kind is not Kind.STANDARD_INPUT:
        try:
            return through(source, past)
        except _StartedOverError:
            source = open_source(named)  # another file of the same name: read it from the start
    return through(source, None)


class _StartedOverError(Exception):
    """A stream that was to go on began anew, so the past of its run says nothing."""


class _Gauge:
    """Turns the positions of many streams into one progress."""

    def __init__(self, progress: Show | None) -> None:
        self._progress = progress
        self._streams: dict[str, tuple[int, int]] = {}
        self._done = self._total = 0

    def show(self, chunk: Chunk, lines: int) -> None:
        """Tell how far it is."""
        if self._progress is None:
            return
        position, size = self._streams.get(chunk.stream.name, (0, 0))
        self._streams[chunk.stream.name] = (chunk.position, chunk.size)
        self._done += chunk.position - position
        self._total += chunk.size - size
        self._progress(Headway(self._done, self._total, lines))


def _through(
    analysis: Analysis,
    target: Target,
    source: Source,
    cursors: Mapping[str, Cursor],
    progress: Show | None,
) -> Summary:
    """Read the source from the cursors to its end and sum up."""
    gauge, recent = _Gauge(progress), Recent()
    begun: set[str] = set()
    for chunk in source.chunks(cursors):
        name = chunk.stream.name
        if name not in begun:
            begun.add(name)
            if name in cursors and chunk.offset != cursors[name].offset:
                raise _StartedOverError
        batch = analysis.take(chunk)
        if target.kind not in FILES:
            recent.feed(chunk, batch.first_line)
        gauge.show(chunk, analysis.account.lines)

    def cite(wanted: Mapping[str, set[int]]) -> Mapping[tuple[str, int], str]:
        if target.kind not in FILES:  # it is not read twice
            return recent.cite(wanted)
        return cited(open_source(target), wanted)

    def ended(told: Ending) -> Ending:
        return followed(told, getattr(source, "said", None))

    serves = target.kind in SERVICES
    return analysis.finish(source.skipped, cite, ending=ended if serves else None)
