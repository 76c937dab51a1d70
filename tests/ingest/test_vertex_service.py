"""Custom jobs by their names, and services that are away, ask for a login or lack a quota."""

import asyncio
from collections.abc import Callable

import pytest

from runwatch.chunk import Cursor
from runwatch.errors import InputError, UnreachableError
from runwatch.ingest.service_follow import Tracking
from runwatch.ingest.vertex_service import Pace, Service
from runwatch.judgement import TerminalState
from tests.ingest import vertex_messages as vertex
from tests.ingest.following import Reader
from tests.ingest.logs import read
from tests.ingest.vertex_run import QUICK, WORKER, cursors_of, follow, rest, steps, target, told
from tests.ingest.vertex_server import Fault, Server, wait


def test_a_name_that_people_gave_finds_the_latest(cloud: Server) -> None:
    """Whatever characters it has, in whatever order and in how many pages the service lists them;
    what no job is called is no outage."""
    cloud.page = 2
    for number, seconds in (("7", 10), ("9", 20), ("8", 30), ("6", 5)):
        cloud.jobs[f"{vertex.PARENT}/customJobs/{number}"] = vertex.custom_job(
            number, display_name='my "best" run', create_time=vertex.at(seconds)
        )
    cloud.log(vertex.entry("loss 8", 40, job="8"), vertex.entry("loss 9", 40, job="9"))
    assert ["loss 8"] == told(read(rest(cloud, 'my "best" run'))[WORKER])
    with pytest.raises(InputError, match="knows no custom job nothing"):
        read(rest(cloud, "nothing"))


def test_a_name_may_stand_for_another_job(cloud: Server) -> None:
    """For the same it goes on; for a later one of that name it starts over."""

    def places(job: str) -> dict[str, Cursor]:
        chunks = list(rest(cloud, job).chunks({}))
        return cursors_of(chunks)

    name = "my-gpt2-finetune"
    cloud.log(*steps(0, 5))
    before = places(name)
    cloud.log(*steps(5, 7))
    assert 2 == read(rest(cloud, name), before)[WORKER].count(b"\n")
    cloud.jobs[f"{vertex.PARENT}/customJobs/9"] = vertex.custom_job("9", create_time=vertex.at(80))
    cloud.log(*steps(9, 12, job="9"))
    chunks = [one for one in rest(cloud, name).chunks(before) if one.stream.name == WORKER]
    assert (0, 3) == (chunks[0].offset, chunks[0].data.count(b"\n"))

    async def follow_it() -> bytes:
        source = Tracking(Service(target(cloud, name), pace=QUICK), "vertex", turn=0.05)
        async with Reader(source, places(name)) as reader:
            cloud.log(*steps(12, 14, job="9"))
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 2)
            await reader.turns(2)
            return reader.whole(WORKER)

    assert 2 == asyncio.run(follow_it()).count(b"\n")


def test_a_login_that_has_expired_leaves_the_state_unknown(cloud: Server) -> None:
    """What to run is said; the next question is asked with whatever is there then."""
    cloud.faults["GetCustomJob"] = Fault("UNAUTHENTICATED", "token expired", 1)
    source = rest(cloud)
    with pytest.raises(UnreachableError, match="state unknown") as raised:
        read(source)
    assert "gcloud auth application-default login" in raised.value.hint
    cloud.log(*steps(0, 3))
    assert 3 == read(source)[WORKER].count(b"\n")


def test_a_log_that_is_asked_for_too_often_waits(cloud: Server) -> None:
    """States are told meanwhile; the quota is back, and nothing is lost or doubled."""
    cloud.page = 2
    cloud.log(*steps(0, 5))
    cloud.faults["ListLogEntries"] = Fault("RESOURCE_EXHAUSTED", "Quota exceeded", 3)
    texts = read(rest(cloud))
    assert (5, 1) == (texts[WORKER].count(b"\n"), texts["vertex"].count(b"\n"))
    cloud.faults["ListLogEntries"] = Fault("RESOURCE_EXHAUSTED", "Quota exceeded")
    with pytest.raises(UnreachableError, match="asked too much"):
        read(rest(cloud))

    async def follow_it() -> tuple[bytes, list[str], float]:
        source = follow(cloud, Pace(0.0, 0.01, 0.01, 0.0))
        begun = source.answered
        async with Reader(source) as reader:
            await reader.until(lambda: b"RUNNING" in reader.whole("vertex"))
            await reader.told("has to wait")
            assert (True, begun) == (source.reach.ok, source.answered)
            assert "Quota exceeded" in source.reach.note
            del cloud.faults["ListLogEntries"]
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 5)
            await reader.turns(2)
            return reader.whole(WORKER), source.events, source.answered - begun

    text, events, answered = asyncio.run(follow_it())
    assert 5 == text.count(b"\n")
    assert 1 == sum("has to wait" in event for event in events)
    assert answered > 0


def test_a_log_that_does_not_answer_leaves_the_states(cloud: Server) -> None:
    """The job ends, and that is known; what it wrote is not lost."""
    cloud.log(*steps(0, 5))
    cloud.faults["ListLogEntries"] = Fault("UNAVAILABLE", "go away")
    vertex.end(cloud.jobs[vertex.JOB], "FAILED", 60, 13, "exited")

    async def follow_it() -> bytes:
        source = follow(cloud, Pace(0.0, 0.01, 0.01, 0.0))
        async with Reader(source) as reader:
            await reader.until(lambda: source.said is not None)
            assert source.said is not None
            assert (TerminalState.FAILED, True) == (source.said.state, source.reach.ok)
            assert "go away" in source.behind
            del cloud.faults["ListLogEntries"]
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 5)
            return reader.whole(WORKER)

    assert 5 == asyncio.run(follow_it()).count(b"\n")


def test_a_log_that_may_not_be_seen_leaves_the_states(cloud: Server) -> None:
    """Which role it takes is said; silence of what cannot be seen says nothing."""
    cloud.faults["ListLogEntries"] = Fault("PERMISSION_DENIED", "no")

    async def follow_it() -> tuple[bool, str, bool]:
        source = follow(cloud)
        begun = source.answered
        async with Reader(source) as reader:
            await reader.until(lambda: b"RUNNING" in reader.whole("vertex"))
            await reader.turns(2)
            return source.reach.ok, source.reach.note, source.answered == begun

    ok, note, frozen = asyncio.run(follow_it())
    assert (True, True) == (ok, frozen)
    assert "Logs Viewer" in note


def test_a_question_for_the_log_that_is_not_taken_says_nothing_of_the_job(
    cloud: Server,
) -> None:
    """The job is known: it is watched on, and its log is asked for again."""
    cloud.faults["ListLogEntries"] = Fault("INVALID_ARGUMENT", "bad filter", 2)
    cloud.log(*steps(0, 3))

    async def follow_it() -> list[str]:
        async with Reader(follow(cloud)) as reader:
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 3)
            return reader.source.events

    assert [] == [event for event in asyncio.run(follow_it()) if "no such" in event]
    cloud.faults["GetCustomJob"] = Fault("NOT_FOUND", "gone")
    cloud.faults["ListCustomJobs"] = Fault("INVALID_ARGUMENT", "bad region")
    with pytest.raises(InputError, match=r"no such project or region: .*bad region"):
        read(rest(cloud))


@pytest.mark.parametrize("over", [False, True])
def test_a_quota_that_is_used_up_is_left_alone(cloud: Server, over: bool) -> None:
    """Whatever the log owes, and when the job is over, too: asked again after the pause only."""
    now = [0.0]
    service = Service(target(cloud), pace=Pace(look=0.0), steady=lambda: now[0])

    def asked_at(seconds: float) -> int:
        now[0], before = seconds, len(cloud.asked)
        list(service.pages({}))
        return sum(name == "ListLogEntries" for name, _ in cloud.asked[before:])

    cloud.log(*steps(0, 3))
    assert [1, 0] == [asked_at(0.0), asked_at(1.0)]
    wait(lambda: cloud.tails == 1)
    cloud.suppresses = True
    cloud.faults["ListLogEntries"] = Fault("RESOURCE_EXHAUSTED", "Quota exceeded")
    cloud.log(*steps(3, 5))
    wait(service.fresh)
    assert 1 == asked_at(2.0)
    if over:
        vertex.end(cloud.jobs[vertex.JOB], "FAILED", 60, 13, "exited")
    cloud.log(*steps(5, 7))
    wait(lambda: over or service.fresh())
    assert [0, 0] == [asked_at(3.0), asked_at(11.0)]
    assert 1 == asked_at(12.5 if over else 22.5)
    service.close()


@pytest.mark.parametrize("status", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL"])
def test_an_outage_is_no_word_on_the_run(cloud: Server, status: str) -> None:
    """Whatever the service answers with."""
    cloud.faults["GetCustomJob"] = Fault(status, "go away")
    with pytest.raises(UnreachableError, match="state unknown"):
        read(rest(cloud))


def test_down_in_the_middle_loses_and_doubles_nothing(cloud: Server) -> None:
    """Its connections are cut while it is read; it comes back, and reading goes on."""
    cloud.page = 3
    cloud.log(*steps(0, 10))

    async def follow_it() -> tuple[bytes, list[str]]:
        source = follow(cloud)
        async with Reader(source) as reader:
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 10)
            await asyncio.to_thread(cloud.stop)
            await asyncio.wait_for(_until_true(lambda: not source.reach.ok), 30)
            assert "state unknown" in source.reach.note
            cloud.entries += steps(10, 20)
            cloud.start()
            await asyncio.wait_for(_until_true(lambda: reader.whole(WORKER).count(b"\n") >= 20), 30)
            return reader.whole(WORKER), source.events

    text, events = asyncio.run(follow_it())
    assert told(read(rest(cloud))[WORKER]) == told(text)
    assert any("reachable again" in event for event in events)


async def _until_true(happened: Callable[[], bool]) -> None:
    while not happened():
        await asyncio.sleep(0.01)
