"""Several runs watched in one process: their events in one stream, each to its own end."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from runwatch.errors import RunwatchError
from runwatch.event import Event
from runwatch.monitor import Watched


class Stop:
    """Ends all watches, once it is `asked`; `why` goes into their last words."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.why = ""

    def ask(self, why: str) -> None:
        """The first reason counts."""
        self.why = self.why or why
        self.asked.set()


async def watch_all(watched: Sequence[Watched], stop: Stop) -> AsyncIterator[Event]:
    """The events of all targets as they happen; after `stop`, the last words of each.

    A target that fails says so and the others go on. What no source should raise is raised, after
    the last words of the others.
    """
    queue: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
    tasks = [asyncio.ensure_future(_pump(one, queue)) for one in watched]
    stopping = asyncio.ensure_future(stop.asked.wait())
    left = len(tasks)
    broken: Exception | None = None
    try:
        while left and broken is None:
            getting = asyncio.ensure_future(queue.get())
            await asyncio.wait({getting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not getting.done():
                getting.cancel()
                break
            told = getting.result()
            if told is None:
                left -= 1
            elif isinstance(told, Exception):
                broken = told
                stop.ask("another watch broke")
            else:
                yield told
    finally:
        stopping.cancel()
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    while not queue.empty():  # told, but not passed on yet
        if isinstance(told := queue.get_nowait(), Event):
            yield told
    for one, end in zip(watched, ends, strict=True):
        if stop.asked.is_set() and not isinstance(end, Exception):
            for event in one.stop(stop.why):
                yield event
    if broken is not None:
        raise broken


async def _pump(one: Watched, queue: "asyncio.Queue[Event | Exception | None]") -> None:
    try:
        async for event in one.events():
            queue.put_nowait(event)
    except RunwatchError as error:
        for event in one.fail(error):
            queue.put_nowait(event)
    except Exception as error:
        queue.put_nowait(error)
        raise
    queue.put_nowait(None)
