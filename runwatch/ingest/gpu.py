"""GPUs at work: utilisation and memory, as lines of JSON that take the road of any log.

The one home of nvidia-ml-py. On another host, and without that library, one nvidia-smi query is
asked. Where there is no GPU, or nothing that could tell, there is nothing, and no word about it.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import UnreachableError
from runwatch.ingest.following import Reach
from runwatch.ingest.process_shell import Run, here

STREAM = Stream("gpu")
QUERY = (
    "nvidia-smi --query-gpu=index,utilization.gpu,memory.used,memory.total"
    " --format=csv,noheader,nounits"
)
_GIB = 1 << 30
_MIB_IN_GIB = 1024


@dataclass(frozen=True, slots=True)
class Reading:
    """One GPU at one time. Memory in GiB; None where the GPU does not tell."""

    gpu: int
    util: float | None
    used: float | None
    total: float | None

    def line(self, when: float) -> bytes:
        """The reading as a line of a log; `when` in seconds since 1970."""
        time = datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds")
        values: dict[str, Any] = {"time": time.replace("+00:00", "Z"), "gpu": self.gpu}
        told = {"gpu_util": self.util, "mem_used_gb": self.used, "mem_total_gb": self.total}
        values |= {key: value for key, value in told.items() if value is not None}
        return json.dumps(values, separators=(",", ":")).encode() + b"\n"


def readings_of(answer: bytes) -> list[Reading]:
    """What nvidia-smi printed: `0, 94, 18637, 24564`; `[N/A]` and the like are None."""
    found = []
    for line in answer.decode("utf-8", "replace").split("\n"):
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 4 and parts[0].isdigit():
            util, used, total = (_number(part) for part in parts[1:])
            found.append(Reading(int(parts[0]), util, _in_gib(used), _in_gib(total)))
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _in_gib(mebibytes: float | None) -> float | None:
    return None if mebibytes is None else round(mebibytes / _MIB_IN_GIB, 2)


class Local:
    """The GPUs of this machine."""

    def __init__(self) -> None:
        self._library: Any = None
        with suppress(ImportError):
            library = import_module("pynvml")
            with suppress(library.NVMLError):
                library.nvmlInit()
                self._library = library

    async def __call__(self) -> list[Reading]:
        """How they are now, none where there are none."""
        if self._library is None:
            return readings_of(await here(QUERY))
        return self._now()

    def _now(self) -> list[Reading]:
        nvml, found = self._library, []
        with suppress(nvml.NVMLError):
            for at in range(nvml.nvmlDeviceGetCount()):
                with suppress(nvml.NVMLError):
                    device = nvml.nvmlDeviceGetHandleByIndex(at)
                    memory = nvml.nvmlDeviceGetMemoryInfo(device)
                    util = None
                    with suppress(nvml.NVMLError):  # a slice of a GPU tells none
                        util = float(nvml.nvmlDeviceGetUtilizationRates(device).gpu)
                    used, total = (round(n / _GIB, 2) for n in (memory.used, memory.total))
                    found.append(Reading(at, util, used, total))
        return found


def remote(run: Run) -> Callable[[], Awaitable[list[Reading]]]:
    """The GPUs of a host that runs scripts, none while it does not answer."""

    async def ask() -> list[Reading]:
        with suppress(UnreachableError):
            return readings_of(await run(QUERY))
        return []

    return ask


class Gpus:
    """A telemetry stream of GPUs: see `Following`. It ends at once where there are none.

    `last` are the readings of the last look. `every` is the seconds between looks.
    """

    def __init__(
        self, look: Callable[[], Awaitable[list[Reading]]] | None = None, *, every: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        self.events: list[str] = []
        self.reach = Reach(True, "", clock())
        self.last: list[Reading] = []
        self._look = look or Local()
        self._every, self._clock = every, clock
        self._closed = asyncio.Event()
        self._known = False

    def streams(self) -> list[Stream]:
        """The one stream, none where no GPU was found."""
        return [STREAM] if self._known else []

    async def close(self) -> None:
        """Stop."""
        self._closed.set()

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """A line for each GPU at each look; what was read before is not read again."""
        offset = 0
        while not self._closed.is_set():
            found = await self._look()
            if not found and not self._known:
                return
            self._known, self.last = True, found or self.last
            now = self._clock()
            self.reach = Reach(bool(found), "" if found else "the GPUs do not answer", now)
            data = b"".join(reading.line(now) for reading in found)
            yield Chunk(STREAM, data, offset)
            offset += len(data)
            left = self._every
            while left > 0 and not self._closed.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, quiet)):
                        await self._closed.wait()
                left -= quiet
                if left > 0 and not self._closed.is_set():
                    yield Chunk(STREAM, b"", offset)
