"""What jobs of Slurm print, followed; a job that waits is waited for.

Slurm's commands are run here, or on another host over the connection that follows its logs.
"""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from shlex import quote

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import InputError, UsageError
from runwatch.ingest.following import Following, Reach
from runwatch.ingest.process_shell import Run, here
from runwatch.ingest.slurm_job import Job, find, look
from runwatch.ingest.ssh import Host
from runwatch.target import Kind, Target


def open_following(
    target: Target, *, host: "Host | None" = None, clock: Callable[[], float] = time.time
) -> "SlurmLogs":
    """Follow what a job prints. Raises UsageError where there is no Slurm."""
    own = host is None
    if target.host and host is None:
        host = Host.of(target, clock=clock)
    if host is None and not shutil.which("scontrol"):
        raise UsageError(
            f"{target}: no scontrol here", hint="name the login node: --slurm 123 user@host"
        )
    return SlurmLogs(target, host.run if host else here, host, clock=clock, own=own)


class SlurmLogs:
    """What a job prints, followed: see `Following`. A job that waits is waited for.

    `job` is as it was looked at last. `chunks` raises InputError where Slurm knows no such job.
    """

    def __init__(
        self, target: Target, run: Run, host: Host | None, *,
        clock: Callable[[], float] = time.time, turn: float = 10.0, own: bool = True,
    ) -> None:  # fmt: skip
        self.job: Job | None = None
        self.host, self.run = host, run
        self._target, self._clock, self._turn = target, clock, turn
        self._logs: Following | None = None
        self._own = own
        self._told: list[str] = []
        self._closed = asyncio.Event()

    @property
    def reach(self) -> Reach:
        """Whether the logs can be read, or what the job waits for."""
        if self._logs is not None:
            return self._logs.reach
        if self.job is None:
            return Reach(True, "", self._clock())
        why = f" ({self.job.reason})" if self.job.reason else ""
        return Reach(True, f"job {self.job.number} is {self.job.state}{why}", self._clock())

    @property
    def events(self) -> list[str]:
        """What happened to the logs."""
        return self._logs.events if self._logs else self._told

    @property
    def settled(self) -> bool | None:
        """Whether all that was there has been given; a job that waits has nothing yet."""
        return self.job is not None if self._logs is None else getattr(self._logs, "settled", None)

    def streams(self) -> list[Stream]:
        """The streams known now."""
        return self._logs.streams() if self._logs else []

    async def close(self) -> None:
        """Stop."""
        self._closed.set()
        if self._logs is not None:
            await self._logs.close()
        if self.host is not None and self._own:
            await self.host.close()

    async def look(self) -> Job:
        """How the job is now. Raises InputError, UnreachableError."""
        number = self._target.path
        self.job = await (look(self.job, self.run) if self.job else find(number, self.run))
        return self.job

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """What the job prints, from when its files are there."""
        job = await self.look()
        if not job.logs and job.over:
            raise InputError(f"{self._target}: Slurm does not say where it printed to")
        looked = time.monotonic()
        while not await self._begun(job):
            if self._closed.is_set():
                return
            yield Chunk(Stream(""), b"", 0)
            with suppress(TimeoutError):
                async with asyncio.timeout(min(quiet, self._turn)):
                    await self._closed.wait()
            if time.monotonic() - looked >= self._turn:
                job, looked = await self.look(), time.monotonic()
        self._logs = self._following(job)
        async for chunk in self._logs.chunks(cursors, quiet=quiet):
            yield chunk

    async def _begun(self, job: Job) -> bool:
        """Whether there is a file to read; that of a job that waits does not exist yet."""
        if not job.logs:
            return False
        tests = " || ".join(f"[ -e {quote(path)} ]" for path in job.logs)
        return bool(await self.run(f"{tests} && echo yes"))

    def _following(self, job: Job) -> Following:
        target = self._target
        if self.host is not None:
            from runwatch.ingest.ssh_follow import Remote

            there = Target(
                Kind.SSH, target.text, job.logs[0], target.host, target.user, target.port
            )
            return Remote(there, self.host, clock=self._clock, paths=job.logs, own=False)
        from runwatch.ingest.follow import Files

        here_ = Target(Kind.FILE, target.text, job.logs[0])
        return Files(here_, clock=self._clock, listed=lambda: job.logs)
