"""What stands beside a log while it is watched: its process, its job, its GPUs."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Mapping, Sequence
from glob import glob
from typing import Any

from runwatch.chunk import Chunk, Cursor
from runwatch.elsewhere import FAR, Distant, Elsewhere
from runwatch.errors import RunwatchError
from runwatch.ingest.following import Following
from runwatch.ingest.gpu import Gpus, Look
from runwatch.ingest.gpu_nvml import Local as LocalGpus
from runwatch.ingest.gpu_reading import Reading
from runwatch.ingest.gpu_smi import Asked
from runwatch.repair import Local
from runwatch.target import SERVICES, Kind, Target
from runwatch.vitals import Gpu

SOON = 0.05  # seconds between looks for what the source has not found yet
_AWAY = (Kind.SLURM, *SERVICES)  # runs on machines that we do not see
GLANCE = 0.5  # seconds that one look at the GPUs may take


class Attendance:
    """Looks now and then; `body` is the process behind the target, `gpu` how the GPUs were last,
    `measured` what they told of themselves and nobody has taken yet."""

    def __init__(self, target: Target, *, touch: bool = False) -> None:
        self.target = target
        self.body = _body(target, touch=touch)
        self.gpu: Gpu | None = None
        self.measured: deque[Chunk] = deque()
        self._gauged = target.kind in _AWAY

    @property
    def looked(self) -> bool:
        """Whether process and GPUs were looked for, be they there or not."""
        return self._gauged and self._searched

    @property
    def _searched(self) -> bool:
        return self.body is None or self.body.looked

    async def glance(self) -> None:
        """One look at the GPUs of this machine."""
        with contextlib.suppress(TimeoutError):
            found = await asyncio.wait_for(LocalGpus()(), GLANCE)
            self.gpu = total(found) if found else None

    async def see(self, source: Following, cursors: Mapping[str, Cursor]) -> None:
        """Look until cancelled; what GPUs tell goes on behind the cursors."""
        await asyncio.gather(self._attend(source), self._gauge(source, cursors))

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
        """The process that the source found, if it looks for one; seconds until the next look."""
        process = getattr(source, "process", None)
        if process is not None:
            body.adopt(process)
        return 0.0 if process is None and hasattr(source, "process") else FAR

    async def _gauge(self, source: Following, cursors: Mapping[str, Cursor]) -> None:
        """Look at the GPUs of the machine that the run is on, where there are any."""
        if self.target.kind in _AWAY:
            return
        look: Look = LocalGpus()
        if self.target.host:
            host = getattr(source, "host", None)
            while not source.streams():
                await asyncio.sleep(SOON)
            look = Asked(host.run) if host is not None else _nothing
        found = await look()
        self.gpu, self._gauged = total(found) if found else None, True
        if not found:
            return
        while not self._searched:
            await asyncio.sleep(SOON)
        gpus = Gpus(look, concerned=self._is_there)
        async for chunk in gpus.chunks(cursors, quiet=FAR):
            self.gpu = total(gpus.last)
            if chunk.data:
                self.measured.append(chunk)

    def _is_there(self) -> bool:
        """Whether the run is on the machine whose GPUs are looked at: a log may be written from
        anywhere. Whoever writes into our pipe is here."""
        if self.body is None:
            return True
        process = self.body.look()
        return process is not None and process.alive


async def _nothing() -> list[Reading]:
    return []


def total(found: Sequence[Reading]) -> Gpu:
    """All GPUs as one: mean utilisation, memory together."""
    busy = [one.util for one in found if one.util is not None]
    used, size = (sum(getattr(one, n) or 0.0 for one in found) for n in ("used", "total"))
    mean = sum(busy) / len(busy) if busy else None
    return Gpu(mean, used * (1 << 30), size * (1 << 30), len(found))


def _body(target: Target, *, touch: bool) -> Local | Elsewhere | None:
    """The process behind a target: named, or whoever writes the file."""
    if target.kind in _AWAY:
        return Elsewhere()
    if target.host:
        return Distant(touch=touch)
    if target.kind in (Kind.PID, Kind.PROC):
        return Local([])
    if target.kind is Kind.GLOB:
        return Local(glob(target.path, recursive=True))
    return None if target.kind is Kind.STANDARD_INPUT else Local([target.path])
