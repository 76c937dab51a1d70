"""Runs that a tracking service keeps, followed: asked again and again for what is new."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import TypeVar

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.cloud import CloudJob
from runwatch.errors import UnreachableError
from runwatch.ingest.following import Following, Reach
from runwatch.ingest.service import Page, Places, Service, Tracked, kind_of, service_of
from runwatch.ingest.thread import in_thread
from runwatch.judgement import Ending
from runwatch.target import Target

_TURN = 5.0  # seconds between questions
_LONGEST = 60.0  # the same while there is no answer
_T = TypeVar("_T")


def open_following(target: Target, *, clock: Callable[[], float] = time.time) -> Following:
    """Follow a run at its service, with the log beside it to fall back on."""
    tracking = Tracking(service_of(target), kind_of(target), clock=clock)
    log = target.beside
    if log is None:
        return tracking
    from runwatch.ingest import following
    from runwatch.ingest.fallback import Fallback

    return Fallback(tracking, lambda: following.open_following(log, clock=clock), str(log))


class Tracking:
    """A run at a service as it grows: see `Following`. `job` is the run as it was seen last,
    `answered` when that was: what is silent since is the service, not the run.

    Questions are asked by a thread of their own, so that time passes for the reader whatever the
    network does. No answer is no end: it is asked again, and goes on behind what was given.
    """

    def __init__(
        self, service: Service, kind: str, *, clock: Callable[[], float] = time.time,
        turn: float = _TURN,
    ) -> None:  # fmt: skip
        self.job: Tracked | None = None
        self.answered = time.monotonic()  # when the last full answer was asked for
        self.events: list[str] = []
        self.reach = Reach(True, "", clock())
        self._service, self._kind, self._clock, self._turn = service, kind, clock, turn
        self._closed = asyncio.Event()
        self._asked_before = False  # before the first answer nobody knows whether it is quiet
        self._places = Places(service, kind, {})
        self._behind, self._noted = "", 0
        self._cloud: CloudJob | None = None

    def streams(self) -> list[Stream]:
        """The streams known now."""
        return self._places.streams

    async def close(self) -> None:
        """Stop; a question that waits for its answer is left alone."""
        self._closed.set()
        self._service.close()

    @property
    def behind(self) -> str:
        """Why not all that was logged could be asked for, "" where it could."""
        return self._service.behind

    @property
    def caught_up(self) -> bool:
        """Whether it was asked for everything once, or could not be."""
        return self._asked_before

    @property
    def cloud(self) -> CloudJob | None:
        """The job as its platform describes it, where one runs it."""
        return self._cloud

    @property
    def said(self) -> Ending | None:
        """How the run ended, by the service's word; a platform's word that it goes on counts."""
        return None if self.job is None else self.job.said

    async def look(self) -> Tracked:
        """The run as it was seen last, as who stands beside the log wants it."""
        assert self.job is not None
        return self.job

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """What the service has behind the cursors, and whatever is logged from now on."""
        self._places, pause = Places(self._service, self._kind, cursors), self._turn
        self._cursors = cursors
        while not self._closed.is_set():
            try:
                async for chunk in self._asked(quiet):
                    yield chunk
            except UnreachableError as error:
                self._lost(error)
                self._asked_before = True
                pause = min(2 * pause, _LONGEST)
            else:
                pause = self._turn
            async for chunk in self._rest(pause, quiet):
                yield chunk

    async def _asked(self, quiet: float) -> AsyncIterator[Chunk]:
        """One round: how the run is, and what it has logged since."""
        job: Tracked | None = None
        asked = time.monotonic()
        async for step in self._waited(self._service.look, quiet):
            if isinstance(step, Chunk):
                yield step
            else:
                job = step
                self._cloud = job.cloud
                if self._service.title != self._places.title:
                    self._places = Places(self._service, self._kind, self._cursors)
        pages = self._service.pages(self._places.seen)
        while not self._closed.is_set():
            page: Page | None = None
            async for told in self._waited(lambda: next(pages, None), quiet):
                if isinstance(told, Chunk):
                    yield told
                else:
                    page = told
            if page is None:
                break
            yield self._places.after(page)
        self._answered(job, asked)

    async def _waited(self, ask: Callable[[], _T], quiet: float) -> AsyncIterator[_T | Chunk]:
        """The answer to a question, after empty chunks while it takes its time."""
        asking = in_thread(ask)
        while not asking.done():
            await asyncio.wait({asking}, timeout=quiet)
            if self._closed.is_set() and not asking.done():
                return
            if not asking.done() and self._asked_before:
                yield self._places.nothing()
        yield asking.result()

    async def _rest(self, pause: float, quiet: float) -> AsyncIterator[Chunk]:
        """Wait for the next round, or until the service knows of something new."""
        until = time.monotonic() + pause
        while not self._closed.is_set() and (left := until - time.monotonic()) > 0:
            if self._service.fresh():
                return
            yield self._places.nothing()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(quiet, left)):
                    await self._closed.wait()

    def _answered(self, job: Tracked | None, asked: float) -> None:
        if job is None:
            return
        self._asked_before = True
        behind = self.behind
        if not behind:
            self.answered = asked
        elif behind != self._behind:
            self.events.append(behind)
        self._behind = behind
        notes = self._service.notes
        self.events += notes[self._noted :]
        self._noted = len(notes)
        if not self.reach.ok:
            self.events.append(f"{self._service.title} is reachable again")
        if self.job is None:
            about = f" ({job.name})" if job.name else ""
            is_ = "" if job.cloud else f" is {job.state}"  # that is told with all else of it
            self.events.append(f"{job.title}{about}{is_} {job.url}".rstrip())
        elif self.job.state != job.state and job.cloud is None:
            self.events.append(f"{job.title} is {job.state}")
        self.job, self.reach = job, Reach(True, behind, self._clock())

    def _lost(self, error: UnreachableError) -> None:
        since = time.strftime("%H:%M:%S", time.localtime(self.reach.at))
        words = str(error).removesuffix("; state unknown")
        hint = f" ({error.hint})" if error.hint else ""
        self.reach = Reach(False, f"{words}{hint}, since {since}, state unknown", self.reach.at)
