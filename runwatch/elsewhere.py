"""The process of a run on another host: found, looked at and, where that is asked for, ended and
started again over the connection that its log is read through.

Nothing is installed there, and nothing is written but what the training itself writes. Words of
others (commands, folders, environments, paths) are quoted, each a word of its own.
"""

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any

from runwatch.errors import RunwatchError
from runwatch.ingest.process import Process
from runwatch.ingest.process_remote import RemoteProcesses
from runwatch.ingest.ssh import Host
from runwatch.judgement import Ending
from runwatch.origin import Origin, begun, origin_of, starting
from runwatch.remedy import CANCEL, CLEAR, RESTART, REVIVE, Remedy
from runwatch.repair import in_thread, run
from runwatch.termination import end_there, outcome

FAR = 5.0  # seconds between looks
_SEARCH, _RARELY = 2.0, 60.0  # the same for whoever writes the log, at first and in the end
_PATIENCE = 30  # times that a decision asks for a look, once a second


class Elsewhere:
    """A run of which no process can be touched: a job of a scheduler, a run that a service keeps.

    `said` is what a scheduler says of its end.
    """

    away = "it runs elsewhere"

    def __init__(self) -> None:
        self.seen: Process | None = None
        self.said: Ending | None = None
        self.looked = True  # there is nothing to look for
        self._wake = asyncio.Event()

    def look(self) -> Process | None:
        """How it was seen last."""
        return self.seen

    def is_fresh(self) -> bool:
        """Whether it was seen since this was asked first; asking brings the next look forward."""
        return True

    async def rest(self, pause: float) -> None:
        """Until the next look, or until one is asked for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._wake.wait()
        self._wake.clear()

    def carry_out(self, chosen: Remedy) -> "Future[str] | asyncio.Future[str]":
        """The user's own command runs here; nothing else is done."""
        if chosen.kind == CLEAR:
            return in_thread(lambda: run(chosen.command)[1])
        return in_thread(lambda: f"not done: {self.away}")

    async def attend(self, source: Any) -> float:
        """See how the job is that the source found; seconds until the next look."""
        if getattr(source, "job", None) is None:
            return 0.0
        job = await source.look()
        code = 0 if job.state == "COMPLETED" else job.exit_code
        self.seen = Process(0, job.title, "gone" if job.over else "running", code)
        self.said = self.said or job.ending
        return FAR


class Distant(Elsewhere):
    """The process behind a log on a host, or the one that was named there.

    `touch` says that it may be ended and started again; else that is only proposed.
    """

    def __init__(self, *, touch: bool) -> None:
        super().__init__()
        self.looked = False
        self._touch = touch
        self._origin = Origin()
        self._processes: RemoteProcesses | None = None
        self._host: Host | None = None
        self._paths: list[str] = []
        self._pause = _SEARCH
        self._looks = self._done = 0  # looks that were begun, and the last that is over
        self._wanted: int | None = None  # the look that a decision waits for
        self._patience = _PATIENCE

    def is_fresh(self) -> bool:
        """See `Elsewhere`. A host that tells nothing is not waited for for ever."""
        if self.seen is None:
            return True
        if self._wanted is None or self._done > self._wanted:  # asked for another decision
            self._wanted, self._patience = self._looks + 1, _PATIENCE
        if self._done >= self._wanted or self._patience <= 0:
            self._wanted = None
            return True
        self._patience -= 1
        self._wake.set()
        return False

    @property
    def away(self) -> str:  # type: ignore[override]
        """Why nothing is done to it; "" where it may be."""
        if not self._touch:
            return "it runs on another host (`--fix-remote` allows it)"
        return self._origin.barred

    async def attend(self, source: Any) -> float:
        """Find the process, then see how it is; seconds until the next look."""
        self._host = source.host
        self._paths = list(source.paths)
        if not source.host.reach.ok:
            return FAR  # who reads the log tries to reach it again, and one is enough
        if not self._paths:
            return 0.0
        processes = self._processes = self._processes or RemoteProcesses(source.host)
        try:
            if self.seen is None:
                await self._search(source, processes)
                if self.seen is None:
                    self._pause = min(2 * self._pause, _RARELY)
                    return self._pause
            self._looks += 1
            self.seen = await processes.look(self.seen)
            self._done = self._looks
        finally:
            self.looked = True
        return FAR

    async def _search(self, source: Any, processes: RemoteProcesses) -> None:
        found: Process | None = getattr(source, "process", None)
        found = found or await processes.writer(self._paths)
        if found is not None:
            self._origin = await origin_of(source.host, found)
            self.seen = found

    # What is done about it

    def carry_out(self, chosen: Remedy) -> "Future[str] | asyncio.Future[str]":
        """Begin it; what came of it, in words, once it is done. Fails with a RunwatchError where
        the host does not answer, with an OSError where it cannot be done."""
        if chosen.kind == CLEAR or self.away or self._host is None:
            return super().carry_out(chosen)
        return asyncio.ensure_future(self._carried_out(chosen, self._host))

    async def _carried_out(self, chosen: Remedy, host: Host) -> str:
        told = []
        if chosen.kind in (REVIVE, CANCEL):
            told.append(await self._end(host))
        if chosen.kind in (RESTART, REVIVE):
            told.append(await self._start(host, chosen.command))
        return "; ".join(told)

    async def _end(self, host: Host) -> str:
        """End it and all it started: asked first, then made to."""
        assert self._processes is not None
        if self.seen is None:
            return "no process is known"
        family = await self._processes.family(self.seen.pid)
        self.seen, left = await end_there(host, self._processes, self.seen, family)
        return outcome(self.seen.pid, left)

    async def _start(self, host: Host, command: str) -> str:
        """Start it again, unless somebody writes the log already."""
        assert self._processes is not None
        writer = await self._processes.writer(self._paths)
        if writer is not None:
            self.seen, self._origin = writer, await origin_of(host, writer)
            return f"not started: process {writer.pid} writes the log already"
        before, log = self.seen, self._paths[0] if len(self._paths) == 1 else ""
        answer = await host.run(starting(command, before, self._origin, log))
        pid, told = begun(answer)
        started = Process(pid)
        try:
            started = await self._processes.find(pid=started.pid)
        except RunwatchError:  # it has ended already, or the host does not answer
            started = replace(started, state="gone")
        if before is not None:
            started = replace(
                started, name=before.name, folder=before.folder,
                command=before.command or started.command,
            )  # fmt: skip
        self.seen, self._wanted = started, None  # what was seen before says nothing of it
        return told
