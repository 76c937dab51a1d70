"""What a service tells as it arrives, taken while more of it comes."""

import asyncio
import sys
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from runwatch.ingest.vertex_service import Pace
from runwatch.ingest.vertex_tail import Tail
from tests.ingest import vertex_messages as vertex
from tests.ingest.following import Reader
from tests.ingest.vertex_run import WORKER, follow, steps, told
from tests.ingest.vertex_server import Fault, Server

COUNT, AT_ONCE = 4_000, 8


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("_hasty")
@pytest.mark.parametrize("kept", [3, 50, 1_000_000])
def test_what_is_taken_is_all_or_said_to_be_less(kept: int) -> None:
    """Law: taken in the order of arrival, nothing twice; what is missing was told of."""
    logs = pytest.importorskip("google.cloud.logging_v2.types.logging")
    entry = pytest.importorskip("google.cloud.logging_v2.types.log_entry").LogEntry

    def answers(_: Event) -> Any:
        for first in range(0, COUNT, AT_ONCE):
            entries = [entry(insert_id=str(n)) for n in range(first, first + AT_ONCE)]
            yield logs.TailLogEntriesResponse(entries=entries)

    tail, taken, missed = Tail(answers, "all", kept=kept), list[int](), False
    over = False
    while not over:
        over = tail.ended  # what is taken after that is the last
        some, less = tail.take()
        assert len(some) <= kept
        taken += [int(one.insert_id) for one in some]
        missed |= less
    assert sorted(set(taken)) == taken
    assert missed == (len(taken) < COUNT)


# A job followed, whose service tells


SELDOM = Pace(look=0.0, log=3600.0, tailed=3600.0, late=0.0)


class Tailed:
    """A job followed, whose log is asked for once at the beginning and then hardly ever."""

    def __init__(self, cloud: Server, pace: Pace) -> None:
        self.cloud, self.source = cloud, follow(cloud, pace)
        self.reader = Reader(self.source)

    async def __aenter__(self) -> "Tailed":
        await self.reader.__aenter__()
        await self.lines(3)
        await self.reader.until(lambda: self.cloud.tails > 0 or self.source.events[1:] != [])
        return self

    async def __aexit__(self, *about: Any) -> None:
        await self.reader.__aexit__(*about)

    async def lines(self, count: int) -> list[str]:
        """The log, once it has so many lines."""
        await self.reader.until(lambda: self.reader.whole(WORKER).count(b"\n") >= count)
        return told(self.reader.whole(WORKER))

    def asked(self, name: str) -> int:
        """How often the service was asked so."""
        return sum(asked == name for asked, _ in self.cloud.asked)


def tailed(
    cloud: Server, walk: Callable[[Tailed], Any], pace: Pace = SELDOM
) -> tuple[list[str], list[str]]:
    """What came and what was told, after a walk."""
    cloud.log(*steps(0, 3))

    async def follow_it() -> tuple[list[str], list[str]]:
        async with Tailed(cloud, pace) as job:
            await walk(job)
            await job.reader.turns(2)
            return told(job.reader.whole(WORKER)), job.source.events

    return asyncio.run(follow_it())


def test_what_arrives_is_told_at_once(cloud: Server) -> None:
    """Late and doubled entries included, and nobody has asked for them."""

    async def walk(job: Tailed) -> None:
        cloud.log(*steps(3, 5), cloud.entries[1])
        await job.lines(5)
        cloud.log(vertex.entry("late", 5, received=60), *steps(5, 6))
        await job.lines(7)
        assert 1 == job.asked("ListLogEntries")

    lines, _ = tailed(cloud, walk)
    assert 7 == len(lines) == len(set(lines))
    assert "late" == lines[5]


def test_what_the_service_leaves_out_is_asked_for(cloud: Server) -> None:
    """It says that there was too much, and the whole is asked for."""

    async def walk(job: Tailed) -> None:
        cloud.suppresses = True
        cloud.log(*steps(3, 50))
        await job.lines(50)
        cloud.suppresses = False
        cloud.log(*steps(50, 52))
        await job.lines(52)
        assert 2 == job.asked("ListLogEntries")

    lines, _ = tailed(cloud, walk)
    assert [line.split()[1] for line in lines] == [f"{step}/500" for step in range(52)]


def test_a_stream_that_ends_is_opened_again(cloud: Server) -> None:
    """As it does after an hour; what came between is asked for."""

    async def walk(job: Tailed) -> None:
        cloud.cuts = 1
        cloud.log(*steps(3, 4))
        await job.lines(4)
        await job.reader.until(lambda: cloud.tails == 2)
        cloud.log(*steps(4, 6))
        await job.lines(6)

    lines, events = tailed(cloud, walk)
    assert 6 == len(lines) == len(set(lines))
    assert [] == [event for event in events if "of itself" in event]


def test_a_stream_that_has_gone_deaf_is_found_out(cloud: Server) -> None:
    """What it should have told is found by asking, and another stream is opened."""

    async def walk(job: Tailed) -> None:
        cloud.deaf = True
        cloud.log(*steps(3, 9))
        await job.lines(9)
        await job.reader.until(lambda: job.asked("TailLogEntries") >= 2)

    lines, _ = tailed(cloud, walk, Pace(look=0.0, log=0.2, tailed=0.2, late=0.0))
    assert 9 == len(lines) == len(set(lines))


@pytest.mark.parametrize("status", ["UNIMPLEMENTED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED"])
def test_where_nothing_comes_of_itself_it_is_asked_for(cloud: Server, status: str) -> None:
    """A proxy without streams, a missing right, too many streams: said once."""
    cloud.faults["TailLogEntries"] = Fault(status, "not here")

    async def walk(job: Tailed) -> None:
        await job.reader.told("of itself")
        cloud.log(*steps(3, 9))
        await job.lines(9)

    lines, events = tailed(cloud, walk, Pace(look=0.0, log=0.1, tailed=3600.0, late=0.0))
    assert 9 == len(lines)
    assert 1 == sum("of itself" in event for event in events)
    assert 1 == sum(asked == "TailLogEntries" for asked, _ in cloud.asked)
