"""The watching loop beside sources of ours, with a clock that moves as it is read."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.event import Began, Progressed
from runwatch.ingest.following import Reach
from runwatch.monitor import Watched, Wishes
from runwatch.target import Target

STREAM = Stream("train.log")


class Endless:
    """A log that is written faster than it is read: its end is never reached."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.reach = Reach(True)

    def streams(self) -> list[Stream]:
        """The one stream."""
        return [STREAM]

    async def close(self) -> None:
        """Nothing is open."""

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """The next step, and more behind it."""
        offset = 0
        for step in count(1):
            data = b"step %d | loss 2.0\n" % step
            yield Chunk(STREAM, data, offset, "", 1 << 40, offset + len(data))
            offset += len(data)
            await asyncio.sleep(0)


def test_a_log_that_is_never_read_to_its_end_is_reported_on(tmp_path: Path) -> None:
    """The baseline waits for all that is there, but not for ever."""
    log = tmp_path / "train.log"
    log.write_bytes(b"")
    clock = count()

    async def first() -> list[type]:
        watched = Watched(
            Target.parse(str(log)), Wishes(), store=None, clock=lambda: datetime.now(UTC),
            steady=lambda: next(clock) / 10,
        )  # fmt: skip
        watched.source = Endless()
        events = watched.events()
        found = [type(await anext(events)) for _ in range(2)]
        await events.aclose()
        return found

    assert [Began, Progressed] == asyncio.run(asyncio.wait_for(first(), 60))
