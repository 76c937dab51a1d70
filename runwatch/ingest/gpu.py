"""GPUs at work, as lines of JSON that take the road of any log.

Where there is no GPU, or nothing that could tell, there is nothing, and no word about it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress

from runwatch.chunk import TELEMETRY, Chunk, Cursor, Stream
from runwatch.ingest.following import Reach
from runwatch.ingest.gpu_nvml import Local
from runwatch.ingest.gpu_reading import Reading

STREAM = Stream("gpu telemetry", kind=TELEMETRY)
EVERY = 10.0  # seconds between looks

Look = Callable[[], Awaitable[list[Reading]]]


class Gpus:
    """A telemetry stream of GPUs: see `Following`. It ends at once where there are none.

    `last` are the readings of the last look. `every` is the seconds between looks. Nothing is told
    of GPUs that are not `concerned`, as no run is known to be on their machine.
    """

    def __init__(
        self, look: Look | None = None, *, every: float = EVERY,
        clock: Callable[[], float] = time.time, concerned: Callable[[], bool] = lambda: True,
    ) -> None:  # fmt: skip
        self.events: list[str] = []
        self.reach = Reach(True, "", clock())
        self.last: list[Reading] = []
        self._look = look or Local()
        self._every, self._clock, self._concerned = every, clock, concerned
        self._closed = asyncio.Event()
        self._known = False

    def streams(self) -> list[Stream]:
        """The one stream, none where no GPU was found."""
        return [STREAM] if self._known else []

    async def close(self) -> None:
        """Stop."""
        self._closed.set()

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """A line for each GPU at each look; what was told before the cursor is not told again."""
        offset = cursors[STREAM.name].offset if STREAM.name in cursors else 0
        while not self._closed.is_set():
            found = await self._look()
            if not found and not self._known:
                return
            self._known, self.last = True, found or self.last
            now = self._clock()
            self.reach = Reach(bool(found), "" if found else "the GPUs do not answer", now)
            told = found if self._concerned() else []
            data = b"".join(reading.line(now, len(told)) for reading in told)
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
