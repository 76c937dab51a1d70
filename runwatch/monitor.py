"""Watching: sources of live runs are followed, and their events passed on as they happen.

The only waiting is here. What is decided is decided in `watch`, with the clock passed in.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch.attendance import SOON, Attendance
from runwatch.cadence import Cadence
from runwatch.chunk import Chunk, Cursor
from runwatch.detect.named import Named
from runwatch.errors import RunwatchError, StoreError, UnreachableError
from runwatch.event import Event, Failed, Noted
from runwatch.ingest import open_source
from runwatch.ingest.follow_found import Names
from runwatch.ingest.following import Following, ended, in_parts, open_following
from runwatch.ingest.gpu import STREAM
from runwatch.parse.knowledge import Knowledge
from runwatch.parse.parser import moment
from runwatch.past import remembered
from runwatch.pipeline import Analysis
from runwatch.plain import counted
from runwatch.remedy import Allowed
from runwatch.scanning import run_id
from runwatch.slotted import frozen
from runwatch.target import FILES, Kind, Target
from runwatch.watch import Watch

if TYPE_CHECKING:
    from runwatch.store import Past, Store

QUIET = 0.25  # seconds without data after which everything there was has been read
PATIENCE = 20.0  # seconds after which a source that says nothing has nothing
LOOK_LONGEST = 120.0  # the same for a single look
SLOW = 2.0  # seconds after which streams that say nothing are not waited for
BESIDE = 5.0  # seconds that the search for the process behind a log may take
BUSY = 60.0  # seconds after which one that is written faster than it is read is told of
SMALL = 1 << 16  # bytes of a chunk that is most likely the last for now


@frozen
class Wishes:
    """How to watch: the pace of reports, one look only, what may be done."""

    interval: float = 30.0
    most: float = 300.0
    backoff: bool = True
    once: bool = False
    allowed: Allowed = field(default_factory=Allowed)
    formats: tuple[Path, ...] = ()
    rules: tuple[Named, ...] = ()


class _StartedOverError(Exception):
    """A run that had ended is followed by another under its name: the past says nothing."""


class Watched:
    """A target opened: its watch, and the source that feeds it."""

    def __init__(
        self, target: Target, wishes: Wishes, *, store: "Store | None",
        clock: Callable[[], datetime], steady: Callable[[], float] = time.monotonic,
        tee: int | None = None,
    ) -> None:  # fmt: skip
        self.target = target
        self._wishes, self._clock, self._steady = wishes, clock, steady
        self._run = run_id(target, clock)
        self.unstored = ""
        self._store, past = remembered(store, self._run, self._unkept, wishes.rules)
        self._past = past if past is not None and _has_ended(past) else None
        self._gone_on: set[str] = set()  # streams of the past that were read on
        self.cursors: Mapping[str, Cursor] = {} if past is None else past.cursors
        self.source: Following | None = None
        if not (wishes.once and target.kind in FILES):
            self.source = _opened(target, tee)
        self._beside = Attendance(target, touch=wishes.allowed.remote)
        self._ends: set[str] = set()  # streams that were read to their end
        self._begun = steady()
        self.watch = self._made(past)
        if self.unstored:
            self.watch.note(f"no history: {self.unstored}")

    def _made(self, past: "Past | None") -> Watch:
        wishes, target = self._wishes, self.target
        analysis = Analysis(
            self._run, str(target), store=self._store, clock=self._clock,
            knowledge=Knowledge.with_own(wishes.formats),
            state=None if past is None else past.state, rules=wishes.rules,
        )  # fmt: skip
        return Watch(
            str(target), self._run, analysis, self._clock, self._steady,
            cadence=Cadence.of(wishes.interval, wishes.most, backoff=wishes.backoff),
            allowed=wishes.allowed, body=self._beside.body,
            target_type=str(target.kind), gpu=lambda: self._beside.gpu, once=wishes.once,
            age=_age(target), held=target.kind is Kind.STANDARD_INPUT, settle=wishes.interval,
            resumed="" if past is None else _resumed(past),
        )  # fmt: skip

    def _take(self, chunk: Chunk) -> None:
        """Pass a chunk on. Raises _StartedOverError where it is of another run than the past."""
        if self._past is not None and chunk.data and self._is_of_another(self._past, chunk):
            raise _StartedOverError
        self.watch.take(chunk)

    def _is_of_another(self, past: "Past", chunk: Chunk) -> bool:
        """Whether the run had ended and one of its streams begins anew. A run that goes on, or
        that goes on after all, may well rotate its logs."""
        name = chunk.stream.name
        cursor = None if name in self._gone_on else past.cursors.get(name)
        self._gone_on.add(name)
        if cursor is not None and cursor.offset != chunk.offset:
            return True
        if self.watch.caught_up:
            self._past = None
        return False

    def _start_over(self) -> None:
        """Forget the past, and read all that is there from its start."""
        self._past, self.cursors = None, {}
        self._ends.clear()
        self.watch = self._made(None)
        self.watch.note("another run has begun under this name: reading it from its start")
        if self.source is not None:
            self.source = _opened(self.target, None)

    async def events(self) -> AsyncIterator[Event]:
        """Everything that happens until the end of the run, or until `stop`."""
        while True:
            try:
                async for event in self._events():
                    yield event
                return
            except _StartedOverError:
                self._start_over()

    async def _events(self) -> AsyncIterator[Event]:
        if self.source is None:
            await self._beside.glance()
            for event in self._one_look():
                yield event
            return
        chunks = in_parts(self.source.chunks(self.cursors, quiet=QUIET), moment)
        beside = asyncio.ensure_future(self._beside.see(self.source, self.cursors))
        try:
            async for event in self._follow(chunks):
                yield event
        finally:
            beside.cancel()
            await self.source.close()
            await ended(chunks)

    def _one_look(self) -> Iterable[Event]:
        for chunk in open_source(self.target).chunks(self.cursors):
            self._take(replace(chunk, last=False))  # more may be written
        return self.watch.baseline()

    async def _follow(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[Event]:
        source = self.source
        assert source is not None
        told, self._begun = 0, self._steady()
        if self.target.host:
            yield Noted(str(self.target), self._clock(), f"Connecting to {self.target.account}...")
        pending: asyncio.Future[Chunk | None] | None = None
        rested = False  # all that was there has been read, as far as the last chunk tells
        try:
            while not (watch := self.watch).over:
                pending = pending or asyncio.ensure_future(_next(chunks))
                soon = SOON if rested else QUIET
                await asyncio.wait({pending}, timeout=watch.wake if watch.caught_up else soon)
                quiet = rested or self._given_time() or not source.reach.ok
                events: list[Event] = []
                if pending.done():
                    try:
                        chunk, pending = pending.result(), None
                    except UnreachableError as error:
                        pending = None
                        events += self._given_up(error)
                    else:
                        if chunk is None:
                            events += self.stop("the source has ended")
                        else:
                            self._take(chunk)
                            quiet = rested = self._at_end(chunk, source)
                watch = self.watch
                while self._beside.measured:
                    watch.gauge(self._beside.measured.popleft())
                for text in source.events[told:]:
                    watch.note(text)
                told = len(source.events)
                events += watch.reach(ok=source.reach.ok, note=source.reach.note)
                watch.answered = getattr(source, "answered", None)
                events += watch.see(getattr(source, "cloud", None))
                if (said := getattr(source, "said", None)) is not None:
                    watch.treatment.own = said  # a service knows best how its run ended
                if (
                    not watch.over
                    and not watch.caught_up
                    and quiet
                    and self._looked_beside()
                    and (source.reach.ok or self._wishes.once)
                ):
                    if self._wishes.once and getattr(source, "settled", True) is False:
                        events += watch.reach(ok=False, note="no answer in time")
                    events += watch.baseline()
                for event in [*events, *watch.tick()]:
                    yield event
        finally:
            if pending is not None:
                pending.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await pending

    def _given_time(self) -> bool:
        """Whether nobody waits any longer for all that was there; one look has but this one."""
        return self._steady() - self._begun > (LOOK_LONGEST if self._wishes.once else PATIENCE)

    def _looked_beside(self) -> bool:
        """Whether its process was looked for, or that takes too long."""
        return self._beside.looked or self._steady() - self._begun > BESIDE

    def _at_end(self, chunk: Chunk, source: Following) -> bool:
        """Whether all that was there has been read. A log that is written without a pause is
        never quiet, so a chunk that reaches the end of its file counts, too."""
        settled = getattr(source, "settled", None)
        if chunk.last or not chunk.data:
            return settled is not False
        at_end = chunk.position >= chunk.size if chunk.size else len(chunk.data) < SMALL
        (self._ends.add if at_end else self._ends.discard)(chunk.stream.name)
        since = self._steady() - self._begun
        if not getattr(source, "caught_up", True):  # a service that was not asked for all yet
            return since > BUSY
        everything = (since > SLOW if settled is None else settled) or len(self._ends) >= len(
            source.streams()
        )
        return since > BUSY or (at_end and everything)

    def _given_up(self, error: UnreachableError) -> list[Event]:
        """The source says that trying again cannot help."""
        events = self.watch.reach(ok=False, note=str(error))
        return [*events, *self.watch.finish(f"out of reach: {error}")]

    def _unkept(self, error: StoreError) -> None:
        self.unstored = str(error)

    def stop(self, why: str = "interrupted") -> list[Event]:
        """Nobody wants more: the summary of what was seen."""
        before = [] if self.watch.caught_up else self.watch.baseline()
        return [*before, *self.watch.finish(why)]

    def fail(self, error: RunwatchError) -> list[Event]:
        """The source broke: what it was, and the summary of what was read before."""
        failed = Failed(str(self.target), self._clock(), error)
        if self.watch.pulse.places:
            return [failed, *self.stop(f"it cannot be read on: {error}")]
        self.watch.over = True
        return [failed]


async def _next(chunks: AsyncIterator[Chunk]) -> Chunk | None:
    try:
        return await anext(chunks)
    except StopAsyncIteration:
        return None


def _opened(target: Target, tee: int | None) -> Following:
    """The live source of a target; `tee` is a descriptor that a pipe's text is passed on to."""
    if tee is not None and target.kind is Kind.STANDARD_INPUT:
        from runwatch.ingest import pipe

        return pipe.open_following(target, tee=tee)
    return open_following(target)


def _has_ended(past: "Past") -> bool:
    state = (past.summary or {}).get("terminal_state", "RUNNING")
    return state not in ("RUNNING", "UNKNOWN")


def _resumed(past: "Past") -> str:
    lines = sum(one.lines for name, one in past.cursors.items() if name != STREAM.name)
    return f"going on after {counted(lines, 'line')} read before"


def _age(target: Target) -> float:
    """How long ago the log was written last, in seconds; 0 where that is not known."""
    if target.kind not in FILES:
        return 0.0
    times = []
    for path in Names(target).find():
        with contextlib.suppress(OSError):
            times.append(os.stat(path).st_mtime)
    return max(0.0, time.time() - max(times)) if times else 0.0
