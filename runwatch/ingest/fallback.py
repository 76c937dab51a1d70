"""A service with a log to fall back on: while the service does not answer, the log is followed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.cloud import CloudJob
from runwatch.errors import RunwatchError, UsageError
from runwatch.ingest.following import Following, Reach, ended
from runwatch.ingest.service import Tracked, is_tracked
from runwatch.ingest.service_follow import Tracking
from runwatch.judgement import Ending

_AHEAD = 4  # chunks that wait for a slow reader


class Fallback:
    """The history of a run at its service, and its log once that was out of reach.

    See `Following`. The log is then read to its end even if the service comes back: what both say
    is judged once, and what only one of them says is not lost. Out of reach is the run only where
    both are.
    """

    def __init__(self, service: Tracking, log: Callable[[], Following], name: str) -> None:
        self.events: list[str] = []
        self._service, self._open, self._name = service, log, name
        self._log: Following | None = None
        self._why = ""  # no log either
        self._caught_up = False  # with the log
        self._told: dict[int, int] = {}
        self._queue: asyncio.Queue[Chunk | RunwatchError | None] = asyncio.Queue(_AHEAD)

    @property
    def job(self) -> Tracked | None:
        """The run as its service told last."""
        return self._service.job

    @property
    def answered(self) -> float | None:
        """Up to when silence is the run's own; a log that is read is asked all the time."""
        return self._service.answered if self._log is None else None

    @property
    def caught_up(self) -> bool:
        """Whether the service was asked for everything once, or could not be."""
        return self._service.caught_up

    @property
    def cloud(self) -> CloudJob | None:
        """The job as its platform told last, where one runs it."""
        return self._service.cloud

    @property
    def said(self) -> Ending | None:
        """How the run ended, by its service's word."""
        return self._service.said

    @property
    def reach(self) -> Reach:
        """Whether one of both answers."""
        reach = self._service.reach
        if reach.ok:
            return reach
        note = reach.note.removesuffix(", state unknown")
        if self._log is not None and self._log.reach.ok and not self._why:
            return Reach(True, f"{note}; reading {self._name}", self._log.reach.at)
        why = self._why or (self._log.reach.note if self._log is not None else "")
        beside = f"; {self._name}: {why}" if why else ""
        return Reach(False, f"{note}{beside}, state unknown", reach.at)

    def streams(self) -> list[Stream]:
        """Those of the service, and of the log once it is read."""
        return [*self._service.streams(), *(self._log.streams() if self._log else [])]

    async def look(self) -> Tracked:
        """The run as its service told last."""
        return await self._service.look()

    async def close(self) -> None:
        """Stop both."""
        await self._service.close()
        if self._log is not None:
            await self._log.close()

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """What the service gives, and the log from the moment that the service does not."""
        tasks = [asyncio.create_task(self._pump(self._service, cursors, quiet))]
        if any(cursor.identity and not is_tracked(cursor) for cursor in cursors.values()):
            tasks += self._fall(cursors, quiet)  # it was read before
        left = 1
        try:
            while left:
                told = await self._queue.get()
                self._listen()
                if isinstance(told, RunwatchError):
                    raise told
                if told is None:
                    left -= 1
                    continue
                if not self._service.reach.ok and self._log is None and not self._why:
                    tasks += self._fall(cursors, quiet)
                if told.data or told.last or self._log is None or self._why or self._caught_up:
                    yield told
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _fall(self, cursors: Mapping[str, Cursor], quiet: float) -> list["asyncio.Task[None]"]:
        """Begin to read the log."""
        try:
            self._log = self._open()
        except UsageError:
            raise
        except RunwatchError as error:
            self._why = str(error)
            self.events.append(f"{self._name}: {error}")
            return []
        self.events.append(f"{self._service.reach.note}: reading {self._name} instead")
        return [asyncio.create_task(self._pump(self._log, cursors, quiet))]

    async def _pump(self, source: Following, cursors: Mapping[str, Cursor], quiet: float) -> None:
        """Pass on what a source gives; the log may fail or end without ending the run."""
        chunks = source.chunks(cursors, quiet=quiet)
        told: RunwatchError | None = None
        try:
            async for chunk in chunks:
                answered = getattr(source, "settled", None) is not False
                self._caught_up |= source is self._log and not chunk.data and answered
                await self._queue.put(chunk)
        except RunwatchError as error:
            if source is self._service:
                told = error
            else:
                self._why = str(error)
                self.events.append(f"{self._name}: {error}")
        finally:
            await ended(chunks)
        if source is self._service:
            await self._queue.put(told)

    def _listen(self) -> None:
        """Pass on what happened to both."""
        for at, source in enumerate([self._service, self._log]):
            if source is not None:
                heard = self._told.get(at, 0)
                self.events += source.events[heard:]
                self._told[at] = len(source.events)
