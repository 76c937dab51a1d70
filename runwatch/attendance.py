"""What stands beside a log while it is watched: its process, its job, its GPUs."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from glob import glob
from typing import Any

from runwatch.errors import RunwatchError
from runwatch.ingest import gpu
from runwatch.ingest.following import Following
from runwatch.ingest.process import Process
from runwatch.repair import Elsewhere, Local
from runwatch.target import Kind, Target
from runwatch.vitals import Gpu

FAR = 5.0  # seconds between looks
SOON = 0.05  # seconds between looks for what the source has not found yet
GLANCE = 0.5  # seconds that one look at the GPUs may take
Look = Callable[[], Awaitable[list[gpu.Reading]]]


class Attendance:
    """Looks now and then; `body` is the process behind the target, `gpu` how the GPUs were last."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.body = _body(target)
        self.gpu: Gpu | None = None

    @property
    def here(self) -> bool:
        """Whether something can be done about the process from here."""
        return not isinstance(self.body, Elsewhere)

    async def glance(self) -> None:
        """One look at the GPUs of this machine."""
        with contextlib.suppress(TimeoutError):
            found = await asyncio.wait_for(gpu.Local()(), GLANCE)
            self.gpu = total(found) if found else None

    async def see(self, source: Following) -> None:
        """Look until cancelled."""
        await asyncio.gather(self._attend(source), self._gauge(source))

    async def _attend(self, source: Following) -> None:
        """See how the process or the job is that the source found."""
        while self.body is not None:
            found = False
            with contextlib.suppress(RunwatchError, ConnectionError):  # the source tells of it
                found = await self._found(source, self.body)
            await asyncio.sleep(FAR if found else SOON)

    async def _found(self, source: Any, body: Local | Elsewhere) -> bool:
        """Whether the source has found a process or a job; how it is now."""
        process, job = getattr(source, "process", None), getattr(source, "job", None)
        if process is not None:
            body.adopt(await source.processes.look(process) if self.target.host else process)
        elif job is not None and isinstance(body, Elsewhere):
            job = await source.look()
            state = "gone" if job.over else "running"
            code = 0 if job.state == "COMPLETED" else job.exit_code
            body.adopt(Process(0, job.title, state, code))
            body.said = body.said or job.ending
        return process is not None or job is not None

    async def _gauge(self, source: Following) -> None:
        """Look at the GPUs, where there are any."""
        look: Look = gpu.Local()
        if self.target.host:
            host = getattr(source, "host", None)
            while not source.streams():
                await asyncio.sleep(SOON)
            if host is None:
                return
            look = gpu.remote(host.run)
        while found := await look():
            self.gpu = total(found)
            await asyncio.sleep(FAR)


def total(found: Sequence[gpu.Reading]) -> Gpu:
    """All GPUs as one: mean utilisation, memory together."""
    busy = [one.util for one in found if one.util is not None]
    used, size = (sum(getattr(one, n) or 0.0 for one in found) for n in ("used", "total"))
    mean = sum(busy) / len(busy) if busy else None
    return Gpu(mean, used * (1 << 30), size * (1 << 30), len(found))


def _body(target: Target) -> Local | Elsewhere | None:
    """The process behind a target: named, or whoever writes the file."""
    if target.host or target.kind in (Kind.SLURM, Kind.WANDB, Kind.MLFLOW):
        return Elsewhere()
    if target.kind in (Kind.PID, Kind.PROC):
        return Local([])
    if target.kind is Kind.GLOB:
        return Local(glob(target.path, recursive=True))
    return None if target.kind is Kind.STANDARD_INPUT else Local([target.path])
