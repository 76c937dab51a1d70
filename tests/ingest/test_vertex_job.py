"""Custom jobs of Vertex AI: their states, how they end, who is which rank."""

import pytest

from runwatch.chunk import Cursor
from runwatch.judgement import TerminalState
from tests.ingest import vertex_messages as vertex
from tests.ingest.logs import read
from tests.ingest.vertex_run import WORKER, cursors_of, rest, told
from tests.ingest.vertex_server import Server


def test_replicas_with_one_gpu_are_ranks(cloud: Server) -> None:
    """The chief is rank 0, the workers follow; a replica with several GPUs is many ranks."""
    cloud.jobs[vertex.JOB] = vertex.custom_job("456", accelerators=1, replicas=(1, 2, 1))
    names = [WORKER, "workerpool1-0", "workerpool1-1", "workerpool2-0"]
    cloud.log(*(vertex.entry("loss 1", 1, replica=name) for name in names))
    source = rest(cloud)
    read(source)
    ranks = {one.name: one.rank for one in source.streams() if not one.kind}
    assert dict(zip(names, (0, 1, 2, None), strict=True)) == ranks
    cloud.jobs[vertex.JOB] = vertex.custom_job("456", accelerators=8, replicas=(1, 2))
    source = rest(cloud)
    read(source)
    assert {None} == {one.rank for one in source.streams()}


def test_every_state_is_a_line(cloud: Server) -> None:
    """With the error that ended it, its code in words; each is told once."""
    job = cloud.jobs[vertex.JOB] = vertex.custom_job("456", "PENDING")
    who = f"custom job my-gpt2-finetune ({vertex.JOB})"
    source, cursors = rest(cloud), dict[str, Cursor]()
    lines = []
    for state in ("PENDING", "RUNNING", "CANCELLING", "FAILED"):
        if state == "FAILED":
            vertex.end(job, state, 90, 8, "The quota is used up.")
        else:
            job.state = type(job.state)[f"JOB_STATE_{state}"]
            job.start_time = None if state == "PENDING" else vertex.at(0)
        chunks = list(source.chunks(cursors))
        lines += told(b"".join(one.data for one in chunks if one.stream.name == "vertex"))
        cursors = cursors_of(chunks)
        source = rest(cloud)
    assert [
        f"JOB_STATE_PENDING {who}", f"JOB_STATE_RUNNING {who}", f"JOB_STATE_CANCELLING {who}",
        f"JOB_STATE_FAILED {who}: RESOURCE_EXHAUSTED: The quota is used up.",
    ] == lines  # fmt: skip


def test_words_of_others_are_no_states(cloud: Server) -> None:
    """Neither a name nor an error of several lines tells of another state."""
    job = vertex.custom_job("456", display_name="a\nJOB_STATE_SUCCEEDED b")
    cloud.jobs[vertex.JOB] = job
    vertex.end(job, "FAILED", 60, 13, "exited\nJOB_STATE_SUCCEEDED")
    running, failed, more = told(read(rest(cloud))["vertex"])
    who = f"custom job a JOB_STATE_SUCCEEDED b ({vertex.JOB})"
    assert (f"JOB_STATE_RUNNING {who}", f"JOB_STATE_FAILED {who}: INTERNAL: exited") == (
        running, failed,
    )  # fmt: skip
    assert "| JOB_STATE_SUCCEEDED" == more


def test_a_state_that_comes_again_is_told_again(cloud: Server) -> None:
    """A job that was paused runs again; the states behind it are not."""
    job, lines = cloud.jobs[vertex.JOB], list[str]()
    source, cursors = rest(cloud), dict[str, Cursor]()
    for state in ("RUNNING", "PAUSED", "PAUSED", "RUNNING", "RUNNING", "PAUSED"):
        job.state = type(job.state)[f"JOB_STATE_{state}"]
        chunks = list(source.chunks(cursors))
        lines += told(b"".join(one.data for one in chunks if one.stream.name == "vertex"))
        cursors = cursors_of(chunks)
        source = rest(cloud)
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
def test_its_end_is_what_the_platform_says(cloud: Server, state: str, code: int, ends: str) -> None:
    """It goes on in all other states; a deadline that was missed is a time-out."""
    job = cloud.jobs[vertex.JOB] = vertex.custom_job("456")
    vertex.end(job, state, 90, code, "words" if code else "")
    source = rest(cloud)
    read(source)
    assert source.said is not None
    assert TerminalState(ends or "RUNNING") is source.said.state


def test_a_state_that_the_client_does_not_know_is_no_end(cloud: Server) -> None:
    """One of a later version of the service is told as the number that it is."""
    job = type(cloud.jobs[vertex.JOB]).pb(cloud.jobs[vertex.JOB])
    job.state = 99
    source = rest(cloud)
    assert "JOB_STATE_99 custom job" in read(source)["vertex"].decode()
    assert source.said is not None
    assert TerminalState.RUNNING is source.said.state


@pytest.mark.parametrize("code", [-1, 16, 99])
def test_a_code_that_nobody_knows_is_its_number(cloud: Server, code: int) -> None:
    """And no other code's name."""
    vertex.end(cloud.jobs[vertex.JOB], "FAILED", 90, code, "words")
    name = {16: "UNAUTHENTICATED"}.get(code, str(code))
    assert f"): {name}: words" in read(rest(cloud))["vertex"].decode()
