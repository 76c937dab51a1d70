"""One look at a run for those who judge it: everything read up to now, from wherever it lies.

Files here are scanned; whatever is followed (another host, a process, a service) is read up to
where it is now.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runwatch.baseline import Reference
from runwatch.chunk import Chunk
from runwatch.curve import Curve
from runwatch.detect.curves import Curves
from runwatch.detect.named import Named
from runwatch.endings import followed
from runwatch.errors import QueryError, RunwatchError, StoreError, UnreachableError
from runwatch.evidence import shown
from runwatch.finding import Finding
from runwatch.ingest import open_source
from runwatch.ingest.cited import cited
from runwatch.ingest.following import Following, ended, open_following
from runwatch.judgement import OPEN, Decision, Judgement
from runwatch.parse.knowledge import Knowledge
from runwatch.past import is_current, remembered
from runwatch.pipeline import Analysis
from runwatch.recent import Recent
from runwatch.redact import redact
from runwatch.run_id import run_id
from runwatch.scanning import scan
from runwatch.slotted import frozen
from runwatch.summary import Steps, Summary
from runwatch.target import FILES, Kind, Target

if TYPE_CHECKING:
    from runwatch.store import Store

AT_REST = (*FILES, Kind.STANDARD_INPUT)
QUIET = 0.25  # seconds without text after which the source is asked whether there is more
PATIENCE = 20.0  # seconds without text after which there is none


@frozen
class Look:
    """A run as it was found. `root` is the finding that the verdict rests on."""

    judgement: Judgement
    decision: Decision
    reason: str
    root: Finding | None
    findings: tuple[Finding, ...]
    curves: tuple[Curve, ...]
    steps: Steps
    metrics: Mapping[str, float] = field(default_factory=dict)
    lines: int = 0
    segments: int = 1
    notes: tuple[str, ...] = ()


def look(
    target: Target, store: "Store | None", clock: Callable[[], datetime],
    formats: tuple[Path, ...], lost: Callable[[StoreError], None], rules: tuple[Named, ...] = (),
) -> Look:  # fmt: skip
    """Read on to the end. Raises InputError where there is nothing to read, UnreachableError where
    the source does not answer."""
    if target.kind not in AT_REST:
        return asyncio.run(_live(target, store, clock, formats, lost, rules))
    summary = scan(target, store=store, clock=clock, formats=formats, lost=lost, rules=rules)
    return _of(summary)


def _of(summary: Summary) -> Look:
    verdict = summary.verdict
    skipped = [f"{one['name']}: {one['why']}" for one in summary.coverage.files_skipped]
    return Look(
        verdict.judgement, verdict.decision, verdict.reason,
        verdict.root_cause, summary.findings, summary.curves,
        summary.steps, summary.final_metrics, summary.coverage.lines,
        summary.segments,
        tuple(f"not read: {redact(one)}" for one in skipped[:3]),
    )  # fmt: skip


async def _live(
    target: Target, store: "Store | None", clock: Callable[[], datetime],
    formats: tuple[Path, ...], lost: Callable[[StoreError], None], rules: tuple[Named, ...] = (),
) -> Look:  # fmt: skip
    """One look at what is followed: up to where it is now."""
    run = run_id(target, clock)
    store, past = remembered(store, run, lost, rules)
    analysis = Analysis(
        run, str(target), store=store, clock=clock, knowledge=Knowledge.with_own(formats),
        state=None if past is None else past.state, rules=rules,
    )  # fmt: skip
    analysis.lost, recent = lost, Recent()
    source = open_following(target)
    chunks = source.chunks({} if past is None else past.cursors, quiet=QUIET)
    try:
        async for chunk in _up_to_now(source, chunks):
            recent.feed(chunk, analysis.take(chunk).first_line)
    finally:
        await source.close()
        await ended(chunks)
    if not source.reach.ok:
        raise UnreachableError(
            f"{target}: {source.reach.note or 'the source does not answer'}; the state of the run "
            "is unknown",
            hint="it is tried again at the next check",
        )
    _seen_whole(target, source)
    said = getattr(source, "said", None)  # a service knows best how its run ended
    seen = _of(analysis.finish(cite=recent.cite, ending=lambda told: followed(told, said)))
    return replace(seen, notes=(*seen.notes, *source.events[-3:]))


def _seen_whole(target: Target, source: Following) -> None:
    """Raises UnreachableError where a run that goes on could not be read to where it is."""
    behind, said = getattr(source, "behind", ""), getattr(source, "said", None)
    if behind and (said is None or said.state in OPEN):
        raise UnreachableError(
            f"{target}: {behind}; the state of the run is unknown",
            hint="it is tried again at the next check",
        )


async def _up_to_now(source: Following, chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """The chunks that hold text, until the source has answered and has no more for now.

    It ends at once where the source is out of reach, and after PATIENCE without text. Text may
    have come in the moment of an empty chunk, so only a second one in a row counts.
    """
    asked, heard, behind, settled = source.reach.at, time.monotonic(), set[str](), False
    async for chunk in chunks:
        if chunk.data:
            heard, settled = time.monotonic(), False
            at_end = chunk.last or not chunk.size or chunk.position >= chunk.size
            (behind.discard if at_end else behind.add)(chunk.stream.name)
            yield chunk
            continue
        known = bool(source.streams())
        if not source.reach.ok or time.monotonic() - heard > PATIENCE:
            return
        answered = known and not behind and source.reach.at > asked
        if answered and settled:
            return
        settled, asked = answered, asked if known else source.reach.at


def cited_lines(
    target: Target, seen: Look, wanted: Collection[tuple[str, int]]
) -> tuple[tuple[str, int, str], ...]:
    """The wanted lines (stream, number), else what the findings cite, with their text."""
    known = {(f.stream, f.line): f.evidence[0] for f in seen.findings if f.evidence}
    wanted = wanted or list(known)[:1]
    missing: dict[str, set[int]] = {}
    for stream, line in wanted:
        if (stream, line) not in known:
            missing.setdefault(stream, set()).add(line)
    if missing and target.kind in FILES:
        try:
            found = cited(open_source(target), missing)
        except RunwatchError:  # it is gone meanwhile: what is known has to do
            found = {}
        known.update({place: shown(text) for place, text in found.items()})
    return tuple((*place, known[place]) for place in sorted(wanted) if place in known)


def borrowed(store: "Store") -> "Store":
    """The history of a run that another program keeps: read on from, and left as it is."""
    from runwatch.store import Store

    class Borrowed(Store):
        """Writes nothing."""

        def flush(self, *about: Any, **more: Any) -> None:
            """Nothing is kept of this look."""

    return Borrowed(store.path)


def reference_run(store: "Store | None", name: str) -> Reference | None:
    """The curves of a run of the history, as its last scan learned them; None for no name. Raises
    QueryError where there is no such run."""
    if not name:
        return None
    if store is None:
        raise QueryError("--reference needs a history", hint="leave out --no-store")
    run = str(store.run(name)["run"])
    past = store.past(run)
    if past is None or not is_current(past):
        raise QueryError(f"run {run} was kept by an older runwatch", hint="scan its log once more")
    curves = Curves()
    curves.restore(dict(past.state["curves"]))
    return Reference(run, curves.told())
