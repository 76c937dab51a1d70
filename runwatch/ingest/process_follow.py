"""The logs of a process, followed: found through what it has open, here or on another host."""

import time
from collections.abc import AsyncIterator, Callable, Mapping

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import InputError
from runwatch.ingest.follow import Files
from runwatch.ingest.following import Following, Reach
from runwatch.ingest.process import Process, Processes
from runwatch.ingest.process_local import local
from runwatch.ingest.ssh import Host
from runwatch.target import Kind, Target


def open_following(
    target: Target, *, host: "Host | None" = None, clock: Callable[[], float] = time.time
) -> "ProcessLogs":
    """Follow the logs of a process. What it is is known once `chunks` has begun."""
    if not target.host:
        return ProcessLogs(target, local(), None, clock=clock)
    from runwatch.ingest.process_remote import RemoteProcesses

    own = host is None
    host = host or Host.of(target, clock=clock)
    return ProcessLogs(target, RemoteProcesses(host), host, clock=clock, own=own)


class ProcessLogs:
    """A process and its logs: see `Following`. `process` is as it was when it was found.

    `chunks` raises InputError where there is no such process, or none of its output goes to a
    file that can be read.
    """

    def __init__(
        self, target: Target, processes: Processes, host: Host | None, *,
        clock: Callable[[], float] = time.time, own: bool = True,
    ) -> None:  # fmt: skip
        self.processes, self.host = processes, host
        self.process: Process | None = None
        self._target, self._clock = target, clock
        self._logs: Following | None = None
        self._closed, self._own = False, own

    @property
    def reach(self) -> Reach:
        """Whether the logs can be read."""
        return self._logs.reach if self._logs else Reach(True, "", self._clock())

    @property
    def events(self) -> list[str]:
        """What happened to the logs."""
        return self._logs.events if self._logs else []

    @property
    def settled(self) -> bool | None:
        """Whether all that was there has been given."""
        return False if self._logs is None else getattr(self._logs, "settled", None)

    def streams(self) -> list[Stream]:
        """The streams known now, none before the process was found."""
        return self._logs.streams() if self._logs else []

    @property
    def paths(self) -> list[str]:
        """Where the streams lie; known on another host only."""
        return getattr(self._logs, "paths", [])

    async def close(self) -> None:
        """Stop."""
        self._closed = True
        if self._logs is not None:
            await self._logs.close()
        if self.host is not None and self._own:
            await self.host.close()

    async def find(self) -> Process:
        """The process of the target. Raises InputError, UnreachableError."""
        if self.process is None:
            by_id = self._target.kind is Kind.PID
            self.process = (
                await self.processes.find(pid=int(self._target.path))
                if by_id
                else await self.processes.find(name=self._target.path)
            )
        return self.process

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """What its logs give."""
        process = await self.find()
        paths = await self.processes.logs(process)
        if not paths:
            raise InputError(
                f"{self._target}: process {process.pid} writes to no file",
                hint="name its log too, or pipe its output in: … 2>&1 | runwatch watch -",
            )
        if self._closed:
            return
        self._logs = self._following(paths, process)
        async for chunk in self._logs.chunks(cursors, quiet=quiet):
            yield chunk

    def _following(self, paths: list[str], process: Process) -> Following:
        target = self._target
        if self.host is not None:
            from runwatch.ingest.ssh_follow import Remote

            there = Target(Kind.SSH, target.text, paths[0], target.host, target.user, target.port)
            return Remote(there, self.host, clock=self._clock, paths=paths, own=False)
        here = Target(Kind.FILE, target.text, paths[0])
        machine = local()

        def again() -> list[str]:
            """Files of ranks that were started since."""
            return list(dict.fromkeys([*paths, *machine.log_files(process.pid)]))

        return Files(here, clock=self._clock, listed=again)
