"""What stands beside a log while it is watched: its process, its job, its GPUs."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from glob import glob
from typing import Any

from runwatch.elsewhere import FAR, Distant, Elsewhere
from runwatch.errors import RunwatchError
from runwatch.ingest import gpu
from runwatch.ingest.following import Following
from runwatch.repair import Local
from runwatch.target import SERVICES, Kind, Target
from runwatch.vitals import Gpu

SOON = 0.05  # seconds between looks for what the source has not found yet
GLANCE = 0.5  # seconds that one look at the GPUs may take
Look = Callable[[], Awaitable[list[gpu.Reading]]]


class Attendance:
    """Looks now and then; `body` is the process behind the target, `gpu` how the GPUs were last."""

    def __init__(self, target: Target, *, touch: bool = False) -> None:
        self.target = target
        self.body = _body(target, touch=touch)
        self.gpu: Gpu | None = None

    @property
    def looked(self) -> bool:
        """Whether the process was looked for, be it there or not."""
        return self.body is None or self.body.looked

    async def glance(self) -> None:
        """One look at the GPUs of this machine."""
        with contextlib.suppress(TimeoutError):
            found = await asyncio.wait_for(gpu.Local()(), GLANCE)
            self.gpu = total(found) if found else None

    async def see(self, source: Following) -> None:
        """Look until cancelled."""
        await asyncio.gather(self._attend(source), self._gauge(source))

    async def _attend(self, source: Any) -> None:
        """See how the process or the job is that the source found."""
        while self.body is not None:
            if isinstance(self.body, Local):
                await asyncio.sleep(max(self._adopted(source, self.body), SOON))
                continue
            try:
                pause = await self.body.attend(source)
            except (RunwatchError, ConnectionError, ValueError, IndexError):
                pause = FAR  # the source tells of a host that is out of reach or answers strangely
            await self.body.rest(max(pause, SOON))

    def _adopted(self, source: Any, body: Local) -> float:
        """The process that the source found, if it looked for one; seconds until the next look."""
        process = getattr(source, "process", None)
        if process is not None:
            body.adopt(process)
        return FAR if process is not None else 0.0

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


def _body(target: Target, *, touch: bool) -> Local | Elsewhere | None:
    """The process behind a target: named, or whoever writes the file."""
    if target.kind in (Kind.SLURM, *SERVICES):
        return Elsewhere()
    if target.host:
        return Distant(touch=touch)
    if target.kind in (Kind.PID, Kind.PROC):
        return Local([])
    if target.kind is Kind.GLOB:
        return Local(glob(target.path, recursive=True))
    return None if target.kind is Kind.STANDARD_INPUT else Local([target.path])
