"""Jobs and pipelines of Vertex AI: Google's real clients, against a gRPC server on loopback."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from runwatch.chunk import Cursor
from runwatch.errors import InputError, UnreachableError
from runwatch.ingest.service import Tracker
from runwatch.ingest.service_follow import Tracking
from runwatch.ingest.vertex_service import Pace, Service
from runwatch.judgement import TerminalState
from runwatch.target import Kind, Target
from tests.ingest import vertex_server as vertex
from tests.ingest.following import Reader
from tests.ingest.logs import read

WORKER = "workerpool0-0"
JOB = f"{vertex.PARENT}/customJobs/456"
QUICK = Pace(look=0.0, log=0.0, tailed=0.0, late=0.0)


@pytest.fixture
def server() -> Iterator[vertex.Server]:
    """Both services, with a custom job that runs."""
    for name in ("grpc", "google.cloud.aiplatform_v1", "google.cloud.logging_v2"):
        pytest.importorskip(name)
    server = vertex.Server(jobs={JOB: vertex.custom_job("456")})
    server.start()
    yield server
    server.stop()


def target(server: vertex.Server, job: str = "456", kind: Kind = Kind.VERTEX_TRAINING) -> Target:
    return Target.of_vertex(
        kind, job, project=vertex.PROJECT, region=vertex.REGION, vertex=server.url,
        logging=server.url,
    )  # fmt: skip


def rest(server: vertex.Server, job: str = "456", pace: Pace = QUICK) -> Tracker:
    """It at rest."""
    return Tracker(Service(target(server, job), pace=pace), "vertex", wait=0.0)


def follow(server: vertex.Server, pace: Pace = QUICK) -> Tracking:
    """It followed, asked without a pause."""
    return Tracking(Service(target(server), pace=pace), "vertex", turn=0.05)


def steps(first: int, last: int, **more: Any) -> list[Any]:
    """What a training writes, ten seconds a step."""
    return [
        vertex.entry(f"Step {step}/500 | loss={3 - step / 500:.3f}", step * 10, **more)
        for step in range(first, last)
    ]


def told(text: bytes) -> list[str]:
    """The lines behind their times."""
    return [line.partition(" ")[2] for line in text.decode().splitlines()]


def test_a_worker_is_a_stream_of_what_it_wrote(server: vertex.Server) -> None:
    """Each line behind its time, several of one entry one by one, in order of their times."""
    entries = [
        vertex.entry("Step 1/9 | loss=2.5", 1),
        vertex.entry("Traceback (most recent call last):\n  File \"t.py\", line 8\n", 3),
        vertex.entry("Step 2/9 | loss=2.4", 2),
    ]  # fmt: skip
    server.log(*entries)
    assert (
        b"2026-05-01T10:00:01.000000Z Step 1/9 | loss=2.5\n"
        b"2026-05-01T10:00:02.000000Z Step 2/9 | loss=2.4\n"
        b"2026-05-01T10:00:03.000000Z Traceback (most recent call last):\n"
        b'2026-05-01T10:00:03.000000Z   File "t.py", line 8\n'
    ) == read(rest(server))[WORKER]


def test_an_object_is_its_message_unless_it_measures(server: vertex.Server) -> None:
    """What a logger says of itself is no measurement; numbers beside a message are."""
    server.log(
        vertex.entry({"message": "epoch 1 loss 2", "levelname": "INFO", "lineno": 7.0}, 1),
        vertex.entry({"message": "evaluated", "step": 300, "loss": 2.25}, 2),
        vertex.entry({"step": 310, "grad": {"norm": 0.5}, "tags": ["a", None, True]}, 3),
    )
    assert [
        "epoch 1 loss 2",
        '{"step": 300, "loss": 2.25, "message": "evaluated"}',
        '{"step": 310, "grad": {"norm": 0.5}, "tags": ["a", null, true]}',
    ] == [_sorted(line) for line in told(read(rest(server))[WORKER])]


def _sorted(line: str) -> str:
    """An object with its keys in the order of this test: protobuf keeps none."""
    import json

    if not line.startswith("{"):
        return line
    found, order = json.loads(line), ("step", "grad", "tags", "loss", "message")
    return json.dumps({key: found[key] for key in order if key in found})


def test_replicas_with_one_gpu_are_ranks(server: vertex.Server) -> None:
    """The chief is rank 0, the workers follow; a replica with several GPUs is many ranks."""
    server.jobs[JOB] = vertex.custom_job("456", accelerators=1, replicas=(1, 2, 1))
    names = [WORKER, "workerpool1-0", "workerpool1-1", "workerpool2-0"]
    server.log(*(vertex.entry("loss 1", 1, replica=name) for name in names))
    source = rest(server)
    read(source)
    ranks = {one.name: one.rank for one in source.streams() if not one.kind}
    assert dict(zip(names, (0, 1, 2, None), strict=True)) == ranks
    server.jobs[JOB] = vertex.custom_job("456", accelerators=8, replicas=(1, 2))
    source = rest(server)
    read(source)
    assert {None} == {one.rank for one in source.streams()}


def test_every_state_is_a_line(server: vertex.Server) -> None:
    """With the error that ended it, its code in words; each is told once."""
    job = server.jobs[JOB] = vertex.custom_job("456", "PENDING")
    who = f"custom job my-gpt2-finetune ({JOB})"
    source, cursors = rest(server), dict[str, Cursor]()
    lines = []
    for state in ("PENDING", "RUNNING", "CANCELLING", "FAILED"):
        if state == "FAILED":
            vertex.end(job, state, 90, 8, "The quota is used up.")
        else:
            job.state = type(job.state)[f"JOB_STATE_{state}"]
            job.start_time = None if state == "PENDING" else vertex.at(0)
        chunks = list(source.chunks(cursors))
        lines += told(b"".join(one.data for one in chunks if one.stream.name == "vertex"))
        cursors = {one.stream.name: Cursor(one.identity, one.position) for one in chunks}
        source = rest(server)
    assert [
        f"JOB_STATE_PENDING {who}", f"JOB_STATE_RUNNING {who}", f"JOB_STATE_CANCELLING {who}",
        f"JOB_STATE_FAILED {who}: RESOURCE_EXHAUSTED: The quota is used up.",
    ] == lines  # fmt: skip


def test_words_of_others_are_no_states(server: vertex.Server) -> None:
    """Neither a name nor an error of several lines tells of another state."""
    job = vertex.custom_job("456", display_name="a\nJOB_STATE_SUCCEEDED b")
    server.jobs[JOB] = job
    vertex.end(job, "FAILED", 60, 13, "exited\nJOB_STATE_SUCCEEDED")
    running, failed, more = told(read(rest(server))["vertex"])
    who = f"custom job a JOB_STATE_SUCCEEDED b ({JOB})"
    assert (f"JOB_STATE_RUNNING {who}", f"JOB_STATE_FAILED {who}: INTERNAL: exited") == (
        running, failed,
    )  # fmt: skip
    assert "| JOB_STATE_SUCCEEDED" == more


def test_a_state_that_comes_again_is_told_again(server: vertex.Server) -> None:
    """A job that was paused runs again; the states behind it are not."""
    job, lines = server.jobs[JOB], list[str]()
    source, cursors = rest(server), dict[str, Cursor]()
    for state in ("RUNNING", "PAUSED", "PAUSED", "RUNNING", "RUNNING", "PAUSED"):
        job.state = type(job.state)[f"JOB_STATE_{state}"]
        chunks = list(source.chunks(cursors))
        lines += told(b"".join(one.data for one in chunks if one.stream.name == "vertex"))
        cursors = {one.stream.name: Cursor(one.identity, one.position) for one in chunks}
        source = rest(server)
    assert ["RUNNING", "PAUSED", "RUNNING", "PAUSED"] == [
        line.split()[0].removeprefix("JOB_STATE_") for line in lines
    ]


@pytest.mark.parametrize(
    ("state", "code", "ends"),
    [
        ("SUCCEEDED", 0, "SUCCEEDED"), ("FAILED", 13, "FAILED"), ("FAILED", 4, "TIMEOUT"),
        ("CANCELLED", 1, "CANCELLED"), ("EXPIRED", 4, "TIMEOUT"),
        ("PARTIALLY_SUCCEEDED", 0, "FAILED"), ("QUEUED", 0, ""), ("PAUSED", 0, ""),
        ("UPDATING", 0, ""), ("CANCELLING", 0, ""), ("RUNNING", 0, ""),
    ],
)  # fmt: skip
def test_its_end_is_what_the_platform_says(
    server: vertex.Server, state: str, code: int, ends: str
) -> None:
    """It goes on in all other states; a deadline that was missed is a time-out."""
    job = server.jobs[JOB] = vertex.custom_job("456")
    vertex.end(job, state, 90, code, "words" if code else "")
    source = rest(server)
    read(source)
    assert source.said is not None
    assert TerminalState(ends or "RUNNING") is source.said.state


def test_it_goes_on_behind_what_was_seen(server: vertex.Server) -> None:
    """Law: cursors behind what was given give the rest, once, in whatever order it arrived."""
    server.page = 7
    server.log(*steps(0, 20))
    chunks = list(rest(server).chunks({}))
    cursors = {one.stream.name: Cursor(one.identity, one.position) for one in chunks}
    before = b"".join(one.data for one in chunks if one.stream.name == WORKER)
    late = vertex.entry("late", 55, received=205)
    server.log(late, *steps(20, 30))
    after = read(rest(server), cursors)
    assert ["late", *told(b"".join(_lines(after)))[1:]] == told(after[WORKER])
    assert 20 + 11 == (before + after[WORKER]).count(b"\n")
    assert b"" == after["vertex"]
    for at in range(1, len(chunks)):  # stopped anywhere in the first reading
        texts, places = _until(chunks[:at])
        more = read(rest(server), places)
        whole = texts.get(WORKER, b"") + more.get(WORKER, b"")
        assert sorted(told(read(rest(server))[WORKER])) == sorted(told(whole))


def _lines(texts: dict[str, bytes]) -> Iterator[bytes]:
    yield from texts[WORKER].splitlines(keepends=True)


def _until(chunks: list[Any]) -> tuple[dict[str, bytes], dict[str, Cursor]]:
    texts: dict[str, bytes] = {}
    for one in chunks:
        texts[one.stream.name] = texts.get(one.stream.name, b"") + one.data
    places = {one.stream.name: Cursor(one.identity, one.position) for one in chunks}
    return texts, places


def test_a_cursor_of_another_place_starts_over(server: vertex.Server) -> None:
    """What was seen of one stream says what was seen of all."""
    server.log(*steps(0, 5))
    whole = read(rest(server))
    chunks = list(rest(server).chunks({}))
    cursors = {one.stream.name: Cursor(one.identity, one.position) for one in chunks}
    wrong = {**cursors, WORKER: Cursor(cursors[WORKER].identity, 3)}
    assert whole == read(rest(server), wrong)
    assert whole == read(rest(server), {WORKER: Cursor("", 5)})


def test_what_comes_late_or_twice_is_given_once(server: vertex.Server) -> None:
    """Followed: an entry of two minutes ago joins, one that was given stays away."""
    server.log(*steps(0, 20))

    async def follow_it() -> bytes:
        async with Reader(follow(server)) as reader:
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 20)
            server.log(vertex.entry("late", 70, received=195), server.entries[19])
            await reader.until(lambda: b"late" in reader.whole(WORKER))
            server.log(*steps(20, 22))
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 23)
            await reader.turns(3)
            return reader.whole(WORKER)

    lines = told(asyncio.run(follow_it()))
    assert 23 == len(lines) == len(set(lines))
    assert "late" == lines[20]


def test_a_name_that_people_gave_finds_the_latest(server: vertex.Server) -> None:
    """Whatever characters it has, in whatever order and in how many pages the service lists them;
    what no job is called is no outage."""
    server.page = 2
    for number, seconds in (("7", 10), ("9", 20), ("8", 30), ("6", 5)):
        server.jobs[f"{vertex.PARENT}/customJobs/{number}"] = vertex.custom_job(
            number, display_name='my "best" run', create_time=vertex.at(seconds)
        )
    server.log(vertex.entry("loss 8", 40, job="8"), vertex.entry("loss 9", 40, job="9"))
    assert ["loss 8"] == told(read(rest(server, 'my "best" run'))[WORKER])
    with pytest.raises(InputError, match="knows no custom job nothing"):
        read(rest(server, "nothing"))


def test_a_name_may_stand_for_another_job(server: vertex.Server) -> None:
    """For the same it goes on; for a later one of that name it starts over."""

    def places(job: str) -> dict[str, Cursor]:
        chunks = list(rest(server, job).chunks({}))
        return {one.stream.name: Cursor(one.identity, one.position) for one in chunks}

    name = "my-gpt2-finetune"
    server.log(*steps(0, 5))
    before = places(name)
    server.log(*steps(5, 7))
    assert 2 == read(rest(server, name), before)[WORKER].count(b"\n")
    server.jobs[f"{vertex.PARENT}/customJobs/9"] = vertex.custom_job("9", create_time=vertex.at(80))
    server.log(*steps(9, 12, job="9"))
    chunks = [one for one in rest(server, name).chunks(before) if one.stream.name == WORKER]
    assert (0, 3) == (chunks[0].offset, chunks[0].data.count(b"\n"))

    async def follow_it() -> bytes:
        source = Tracking(Service(target(server, name), pace=QUICK), "vertex", turn=0.05)
        async with Reader(source, places(name)) as reader:
            server.log(*steps(12, 14, job="9"))
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 2)
            await reader.turns(2)
            return reader.whole(WORKER)

    assert 2 == asyncio.run(follow_it()).count(b"\n")


def test_a_login_that_has_expired_leaves_the_state_unknown(server: vertex.Server) -> None:
    """What to run is said; the next question is asked with whatever is there then."""
    server.faults["GetCustomJob"] = vertex.Fault("UNAUTHENTICATED", "token expired", 1)
    source = rest(server)
    with pytest.raises(UnreachableError, match="state unknown") as raised:
        read(source)
    assert "gcloud auth application-default login" in raised.value.hint
    server.log(*steps(0, 3))
    assert 3 == read(source)[WORKER].count(b"\n")


def test_a_log_that_is_asked_for_too_often_waits(server: vertex.Server) -> None:
    """States are told meanwhile; the quota is back, and nothing is lost or doubled."""
    server.page = 2
    server.log(*steps(0, 5))
    server.faults["ListLogEntries"] = vertex.Fault("RESOURCE_EXHAUSTED", "Quota exceeded", 3)
    texts = read(rest(server))
    assert (5, 1) == (texts[WORKER].count(b"\n"), texts["vertex"].count(b"\n"))
    server.faults["ListLogEntries"] = vertex.Fault("RESOURCE_EXHAUSTED", "Quota exceeded")
    with pytest.raises(UnreachableError, match="asked too much"):
        read(rest(server))

    async def follow_it() -> tuple[bytes, list[str], float]:
        source = follow(server, Pace(0.0, 0.01, 0.01, 0.0))
        begun = source.answered
        async with Reader(source) as reader:
            await reader.until(lambda: b"RUNNING" in reader.whole("vertex"))
            await reader.told("has to wait")
            assert (True, begun) == (source.reach.ok, source.answered)
            assert "Quota exceeded" in source.reach.note
            del server.faults["ListLogEntries"]
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 5)
            await reader.turns(2)
            return reader.whole(WORKER), source.events, source.answered - begun

    text, events, answered = asyncio.run(follow_it())
    assert 5 == text.count(b"\n")
    assert 1 == sum("has to wait" in event for event in events)
    assert answered > 0


def test_a_log_that_does_not_answer_leaves_the_states(server: vertex.Server) -> None:
    """The job ends, and that is known; what it wrote is not lost."""
    server.log(*steps(0, 5))
    server.faults["ListLogEntries"] = vertex.Fault("UNAVAILABLE", "go away")
    vertex.end(server.jobs[JOB], "FAILED", 60, 13, "exited")

    async def follow_it() -> bytes:
        source = follow(server, Pace(0.0, 0.01, 0.01, 0.0))
        async with Reader(source) as reader:
            await reader.until(lambda: source.said is not None)
            assert source.said is not None
            assert (TerminalState.FAILED, True) == (source.said.state, source.reach.ok)
            assert "go away" in source.behind
            del server.faults["ListLogEntries"]
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 5)
            return reader.whole(WORKER)

    assert 5 == asyncio.run(follow_it()).count(b"\n")


def test_a_state_that_the_client_does_not_know_is_no_end(server: vertex.Server) -> None:
    """One of a later version of the service is told as the number that it is."""
    job = type(server.jobs[JOB]).pb(server.jobs[JOB])
    job.state = 99
    source = rest(server)
    assert "JOB_STATE_99 custom job" in read(source)["vertex"].decode()
    assert source.said is not None
    assert TerminalState.RUNNING is source.said.state


def test_a_log_that_may_not_be_seen_leaves_the_states(server: vertex.Server) -> None:
    """Which role it takes is said; silence of what cannot be seen says nothing."""
    server.faults["ListLogEntries"] = vertex.Fault("PERMISSION_DENIED", "no")

    async def follow_it() -> tuple[bool, str, bool]:
        source = follow(server)
        begun = source.answered
        async with Reader(source) as reader:
            await reader.until(lambda: b"RUNNING" in reader.whole("vertex"))
            await reader.turns(2)
            return source.reach.ok, source.reach.note, source.answered == begun

    ok, note, frozen = asyncio.run(follow_it())
    assert (True, True) == (ok, frozen)
    assert "Logs Viewer" in note


def test_a_question_for_the_log_that_is_not_taken_says_nothing_of_the_job(
    server: vertex.Server,
) -> None:
    """The job is known: it is watched on, and its log is asked for again."""
    server.faults["ListLogEntries"] = vertex.Fault("INVALID_ARGUMENT", "bad filter", 2)
    server.log(*steps(0, 3))

    async def follow_it() -> list[str]:
        async with Reader(follow(server)) as reader:
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 3)
            return reader.source.events

    assert [] == [event for event in asyncio.run(follow_it()) if "no such" in event]
    server.faults["GetCustomJob"] = vertex.Fault("NOT_FOUND", "gone")
    server.faults["ListCustomJobs"] = vertex.Fault("INVALID_ARGUMENT", "bad region")
    with pytest.raises(InputError, match=r"no such project or region: .*bad region"):
        read(rest(server))


def test_pages_of_any_size_are_read(server: vertex.Server) -> None:
    """Also those above the 4 MB that gRPC takes where nobody says more."""
    server.log(*(vertex.entry(str(n) * 700_000, n) for n in range(1, 8)))
    assert [str(n) * 700_000 for n in range(1, 8)] == told(read(rest(server))[WORKER])


@pytest.mark.parametrize("over", [False, True])
def test_a_quota_that_is_used_up_is_left_alone(server: vertex.Server, over: bool) -> None:
    """Whatever the log owes, and when the job is over, too: asked again after the pause only."""
    now = [0.0]
    service = Service(target(server), pace=Pace(look=0.0), steady=lambda: now[0])

    def asked_at(seconds: float) -> int:
        now[0], before = seconds, len(server.asked)
        list(service.pages({}))
        return sum(name == "ListLogEntries" for name, _ in server.asked[before:])

    server.log(*steps(0, 3))
    assert [1, 0] == [asked_at(0.0), asked_at(1.0)]
    vertex.wait(lambda: server.tails == 1)
    server.suppresses = True
    server.faults["ListLogEntries"] = vertex.Fault("RESOURCE_EXHAUSTED", "Quota exceeded")
    server.log(*steps(3, 5))
    vertex.wait(service.fresh)
    assert 1 == asked_at(2.0)
    if over:
        vertex.end(server.jobs[JOB], "FAILED", 60, 13, "exited")
    server.log(*steps(5, 7))
    vertex.wait(lambda: over or service.fresh())
    assert [0, 0] == [asked_at(3.0), asked_at(11.0)]
    assert 1 == asked_at(12.5 if over else 22.5)
    service.close()


@pytest.mark.parametrize("code", [-1, 16, 99])
def test_a_code_that_nobody_knows_is_its_number(server: vertex.Server, code: int) -> None:
    """And no other code's name."""
    vertex.end(server.jobs[JOB], "FAILED", 90, code, "words")
    name = {16: "UNAUTHENTICATED"}.get(code, str(code))
    assert f"): {name}: words" in read(rest(server))["vertex"].decode()


@pytest.mark.parametrize("status", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL"])
def test_an_outage_is_no_word_on_the_run(server: vertex.Server, status: str) -> None:
    """Whatever the service answers with."""
    server.faults["GetCustomJob"] = vertex.Fault(status, "go away")
    with pytest.raises(UnreachableError, match="state unknown"):
        read(rest(server))


def test_down_in_the_middle_loses_and_doubles_nothing(server: vertex.Server) -> None:
    """Its connections are cut while it is read; it comes back, and reading goes on."""
    server.page = 3
    server.log(*steps(0, 10))

    async def follow_it() -> tuple[bytes, list[str]]:
        source = follow(server)
        async with Reader(source) as reader:
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 10)
            await asyncio.to_thread(server.stop)
            await asyncio.wait_for(_until_true(lambda: not source.reach.ok), 30)
            assert "state unknown" in source.reach.note
            server.entries += steps(10, 20)
            server.start()
            await asyncio.wait_for(_until_true(lambda: reader.whole(WORKER).count(b"\n") >= 20), 30)
            return reader.whole(WORKER), source.events

    text, events = asyncio.run(follow_it())
    assert told(read(rest(server))[WORKER]) == told(text)
    assert any("reachable again" in event for event in events)


async def _until_true(happened: Callable[[], bool]) -> None:
    while not happened():
        await asyncio.sleep(0.01)


# What is told as it arrives


class Tailed:
    """A job followed, whose log is asked for once at the beginning and then hardly ever."""

    def __init__(self, server: vertex.Server, pace: Pace) -> None:
        self.server, self.source = server, follow(server, pace)
        self.reader = Reader(self.source)

    async def __aenter__(self) -> "Tailed":
        await self.reader.__aenter__()
        await self.lines(3)
        await self.reader.until(lambda: self.server.tails > 0 or self.source.events[1:] != [])
        return self

    async def __aexit__(self, *about: Any) -> None:
        await self.reader.__aexit__(*about)

    async def lines(self, count: int) -> list[str]:
        """The log, once it has so many lines."""
        await self.reader.until(lambda: self.reader.whole(WORKER).count(b"\n") >= count)
        return told(self.reader.whole(WORKER))

    def asked(self, name: str) -> int:
        """How often the service was asked so."""
        return sum(asked == name for asked, _ in self.server.asked)


SELDOM = Pace(look=0.0, log=3600.0, tailed=3600.0, late=0.0)


def tailed(
    server: vertex.Server, walk: Callable[[Tailed], Any], pace: Pace = SELDOM
) -> tuple[list[str], list[str]]:
    """What came and what was told, after a walk."""
    server.log(*steps(0, 3))

    async def follow_it() -> tuple[list[str], list[str]]:
        async with Tailed(server, pace) as job:
            await walk(job)
            await job.reader.turns(2)
            return told(job.reader.whole(WORKER)), job.source.events

    return asyncio.run(follow_it())


def test_what_arrives_is_told_at_once(server: vertex.Server) -> None:
    """Late and doubled entries included, and nobody has asked for them."""

    async def walk(job: Tailed) -> None:
        server.log(*steps(3, 5), server.entries[1])
        await job.lines(5)
        server.log(vertex.entry("late", 5, received=60), *steps(5, 6))
        await job.lines(7)
        assert 1 == job.asked("ListLogEntries")

    lines, _ = tailed(server, walk)
    assert 7 == len(lines) == len(set(lines))
    assert "late" == lines[5]


def test_what_the_service_leaves_out_is_asked_for(server: vertex.Server) -> None:
    """It says that there was too much, and the whole is asked for."""

    async def walk(job: Tailed) -> None:
        server.suppresses = True
        server.log(*steps(3, 50))
        await job.lines(50)
        server.suppresses = False
        server.log(*steps(50, 52))
        await job.lines(52)
        assert 2 == job.asked("ListLogEntries")

    lines, _ = tailed(server, walk)
    assert [line.split()[1] for line in lines] == [f"{step}/500" for step in range(52)]


def test_a_stream_that_ends_is_opened_again(server: vertex.Server) -> None:
    """As it does after an hour; what came between is asked for."""

    async def walk(job: Tailed) -> None:
        server.cuts = 1
        server.log(*steps(3, 4))
        await job.lines(4)
        await job.reader.until(lambda: server.tails == 2)
        server.log(*steps(4, 6))
        await job.lines(6)

    lines, events = tailed(server, walk)
    assert 6 == len(lines) == len(set(lines))
    assert [] == [event for event in events if "of itself" in event]


def test_a_stream_that_has_gone_deaf_is_found_out(server: vertex.Server) -> None:
    """What it should have told is found by asking, and another stream is opened."""

    async def walk(job: Tailed) -> None:
        server.deaf = True
        server.log(*steps(3, 9))
        await job.lines(9)
        await job.reader.until(lambda: job.asked("TailLogEntries") >= 2)

    lines, _ = tailed(server, walk, Pace(look=0.0, log=0.2, tailed=0.2, late=0.0))
    assert 9 == len(lines) == len(set(lines))


@pytest.mark.parametrize("status", ["UNIMPLEMENTED", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED"])
def test_where_nothing_comes_of_itself_it_is_asked_for(server: vertex.Server, status: str) -> None:
    """A proxy without streams, a missing right, too many streams: said once."""
    server.faults["TailLogEntries"] = vertex.Fault(status, "not here")

    async def walk(job: Tailed) -> None:
        await job.reader.told("of itself")
        server.log(*steps(3, 9))
        await job.lines(9)

    lines, events = tailed(server, walk, Pace(look=0.0, log=0.1, tailed=3600.0, late=0.0))
    assert 9 == len(lines)
    assert 1 == sum("of itself" in event for event in events)
    assert 1 == sum(asked == "TailLogEntries" for asked, _ in server.asked)


# Pipelines

NAME = "my-pipeline-20260501"
PIPELINE = f"{vertex.PARENT}/pipelineJobs/{NAME}"


def piped(server: vertex.Server, job: str = NAME) -> Tracker:
    """A pipeline at rest."""
    named = target(server, job, Kind.VERTEX_PIPELINE)
    return Tracker(Service(named, pace=QUICK), "vertex", wait=0.0)


def test_each_task_has_its_streams(server: vertex.Server) -> None:
    """Those of its custom jobs, former tries included; other jobs are not read."""
    server.pipelines[PIPELINE] = vertex.pipeline(
        NAME, "RUNNING",
        vertex.task(2, "prepare", "SUCCEEDED", job="71", ended=30),
        vertex.task(3, "train", "RUNNING", job="73", failed=("72",), begun=30),
    )  # fmt: skip
    server.log(
        vertex.entry("rows ok", 5, job="71"), vertex.entry("lost", 31, job="72"),
        vertex.entry("Step 1/9 | loss=2", 41, job="73"),
        vertex.entry("Step 1/9 | loss=3", 42, job="73", replica="workerpool1-0"),
        vertex.entry("of another", 43, job="99"),
    )  # fmt: skip
    texts = read(piped(server))
    del texts["vertex"]
    assert {
        "prepare/workerpool0-0": ["rows ok"],
        "train/workerpool0-0": ["lost", "Step 1/9 | loss=2"],
        "train/workerpool1-0": ["Step 1/9 | loss=3"],
    } == {name: told(text) for name, text in texts.items()}


def test_custom_jobs_whose_logs_are_not_read_are_told(server: vertex.Server) -> None:
    """A filter has room for so many: the latest are read, and how many are not is said."""
    tasks = [vertex.task(n, f"t{n}", "SUCCEEDED", job=str(n)) for n in range(1_000, 1_503)]
    server.pipelines[PIPELINE] = vertex.pipeline(NAME, "RUNNING", *tasks[:500])
    server.log(*(vertex.entry("Step 1/9 | loss=2", 5, job=str(n)) for n in (1_002, 1_003)))
    source = piped(server)
    assert {"t1002/workerpool0-0", "t1003/workerpool0-0", "vertex"} == set(read(source))
    assert [] == source.skipped
    server.pipelines[PIPELINE] = vertex.pipeline(NAME, "RUNNING", *tasks)
    source = piped(server)
    assert {"t1003/workerpool0-0", "vertex"} == set(read(source))
    assert [("custom job 1000 and 2 more", 3)] == [(one.name, one.count) for one in source.skipped]

    async def follow_it() -> list[str]:
        named = target(server, NAME, Kind.VERTEX_PIPELINE)
        async with Reader(Tracking(Service(named, pace=QUICK), "vertex", turn=0.05)) as reader:
            await reader.told("not those of 3 before them")
            await reader.turns(2)
            return reader.source.events

    assert 1 == sum("not those of" in event for event in asyncio.run(follow_it()))


def test_states_of_tasks_and_their_events_are_lines(server: vertex.Server) -> None:
    """In the order of their times, those that only hold others left out, errors in words."""
    server.pipelines[PIPELINE] = job = vertex.pipeline(
        NAME, "FAILED",
        vertex.task(2, "prepare", "SUCCEEDED", job="71", ended=30),
        vertex.task(3, "loop", "FAILED", begun=30, ended=50),
        vertex.task(4, "train", "FAILED", job="72", parent=3, begun=31, ended=49, error="exited"),
        vertex.task(5, "deploy", "NOT_TRIGGERED", begun=None),
    )  # fmt: skip
    vertex.end(job, "FAILED", 60, 9, "The DAG failed.")
    server.log(
        vertex.task_event("train", "started", 31, job=NAME, severity="INFO"),
        vertex.task_event("train", "no image", 32, job=NAME, severity="ERROR"),
        vertex.task_event("other", "no image", 32, job="other", severity="ERROR"),
    )
    lines = told(read(piped(server))["vertex"])
    who = f"pipeline my-llm-pipeline ({PIPELINE})"
    assert [
        'INFO pipeline_job_task_events train: started',
        'ERROR pipeline_job_task_events train: no image',
        f"PIPELINE_STATE_RUNNING {who}", "TASK_STATE_RUNNING task prepare",
        "TASK_STATE_SUCCEEDED task prepare", "TASK_STATE_RUNNING task train",
        "TASK_STATE_FAILED task train: INTERNAL: exited",
        f"PIPELINE_STATE_FAILED {who}: FAILED_PRECONDITION: The DAG failed.",
    ] == [line for line in lines if "NOT_TRIGGERED" not in line]  # fmt: skip
    assert 1 == sum("TASK_STATE_NOT_TRIGGERED task deploy" in line for line in lines)


def test_tasks_that_are_still_to_come_are_pending(server: vertex.Server) -> None:
    """As the plan of the pipeline has them; once it is over, nothing is to come."""
    task = vertex.task(2, "prepare", "RUNNING", job="71", begun=5)
    server.pipelines[PIPELINE] = job = vertex.pipeline(
        NAME, "RUNNING", task, plan=("prepare", "train")
    )
    service = Service(target(server, NAME, Kind.VERTEX_PIPELINE), pace=QUICK)
    found = service.look().cloud
    assert found is not None
    assert [("prepare", "RUNNING"), ("train", "PENDING")] == [
        (t.name, t.state) for t in found.tasks
    ]
    assert vertex.at(5).timestamp() == found.tasks[0].began
    vertex.end(job, "CANCELLED", 60)
    found = service.look().cloud
    assert found is not None
    assert ["prepare"] == [task.name for task in found.tasks]


@pytest.mark.parametrize(
    ("state", "ends"),
    [
        ("SUCCEEDED", "SUCCEEDED"), ("FAILED", "FAILED"), ("CANCELLED", "CANCELLED"),
        ("QUEUED", ""), ("PENDING", ""), ("RUNNING", ""), ("CANCELLING", ""), ("PAUSED", ""),
    ],
)  # fmt: skip
def test_the_end_of_a_pipeline_is_what_the_platform_says(
    server: vertex.Server, state: str, ends: str
) -> None:
    """It goes on in all other states."""
    server.pipelines[PIPELINE] = vertex.pipeline(NAME, state)
    if ends:
        server.pipelines[PIPELINE].end_time = vertex.at(90)
    source = piped(server)
    text = read(source)["vertex"]
    assert f"PIPELINE_STATE_{state}".encode() in text
    assert source.said is not None
    assert TerminalState(ends or "RUNNING") is source.said.state


def test_a_pipeline_is_found_by_the_name_that_people_gave(server: vertex.Server) -> None:
    """The latest of that name, which goes by its full name from then on."""
    earlier = f"{PIPELINE}-earlier"
    server.pipelines[earlier] = vertex.pipeline(
        f"{NAME}-earlier", "RUNNING", create_time=vertex.at(-90)
    )
    server.pipelines[PIPELINE] = vertex.pipeline(NAME, "RUNNING")
    text = read(piped(server, "my-llm-pipeline"))["vertex"].decode()
    assert (True, False) == (f"({PIPELINE})" in text, earlier in text)
    with pytest.raises(InputError, match="knows no pipeline nothing"):
        read(piped(server, "nothing"))
