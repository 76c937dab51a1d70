"""Pipelines of Vertex AI: their tasks, states and logs."""

import asyncio

import pytest

from runwatch.errors import InputError
from runwatch.ingest.service import Tracker
from runwatch.ingest.service_follow import Tracking
from runwatch.ingest.vertex_service import Service
from runwatch.judgement import TerminalState
from runwatch.target import Kind
from tests.ingest import vertex_messages as vertex
from tests.ingest.following import Reader
from tests.ingest.logs import read
from tests.ingest.vertex_run import QUICK, target, told
from tests.ingest.vertex_server import Server

NAME = "my-pipeline-20260501"
PIPELINE = f"{vertex.PARENT}/pipelineJobs/{NAME}"


def piped(cloud: Server, job: str = NAME) -> Tracker:
    """A pipeline at rest."""
    named = target(cloud, job, Kind.VERTEX_PIPELINE)
    return Tracker(Service(named, pace=QUICK), "vertex", wait=0.0)


def test_each_task_has_its_streams(cloud: Server) -> None:
    """Those of its custom jobs, former tries included; other jobs are not read."""
    cloud.pipelines[PIPELINE] = vertex.pipeline(
        NAME, "RUNNING",
        vertex.task(2, "prepare", "SUCCEEDED", job="71", ended=30),
        vertex.task(3, "train", "RUNNING", job="73", failed=("72",), begun=30),
    )  # fmt: skip
    cloud.log(
        vertex.entry("rows ok", 5, job="71"), vertex.entry("lost", 31, job="72"),
        vertex.entry("Step 1/9 | loss=2", 41, job="73"),
        vertex.entry("Step 1/9 | loss=3", 42, job="73", replica="workerpool1-0"),
        vertex.entry("of another", 43, job="99"),
    )  # fmt: skip
    texts = read(piped(cloud))
    del texts["vertex"]
    assert {
        "prepare/workerpool0-0": ["rows ok"],
        "train/workerpool0-0": ["lost", "Step 1/9 | loss=2"],
        "train/workerpool1-0": ["Step 1/9 | loss=3"],
    } == {name: told(text) for name, text in texts.items()}


def test_custom_jobs_whose_logs_are_not_read_are_told(cloud: Server) -> None:
    """A filter has room for so many: the latest are read, and how many are not is said."""
    tasks = [vertex.task(n, f"t{n}", "SUCCEEDED", job=str(n)) for n in range(1_000, 1_503)]
    cloud.pipelines[PIPELINE] = vertex.pipeline(NAME, "RUNNING", *tasks[:500])
    cloud.log(*(vertex.entry("Step 1/9 | loss=2", 5, job=str(n)) for n in (1_002, 1_003)))
    source = piped(cloud)
    assert {"t1002/workerpool0-0", "t1003/workerpool0-0", "vertex"} == set(read(source))
    assert [] == source.skipped
    cloud.pipelines[PIPELINE] = vertex.pipeline(NAME, "RUNNING", *tasks)
    source = piped(cloud)
    assert {"t1003/workerpool0-0", "vertex"} == set(read(source))
    assert [("custom job 1000 and 2 more", 3)] == [(one.name, one.count) for one in source.skipped]

    async def follow_it() -> list[str]:
        named = target(cloud, NAME, Kind.VERTEX_PIPELINE)
        async with Reader(Tracking(Service(named, pace=QUICK), "vertex", turn=0.05)) as reader:
            await reader.told("not those of 3 before them")
            await reader.turns(2)
            return reader.source.events

    assert 1 == sum("not those of" in event for event in asyncio.run(follow_it()))


def test_states_of_tasks_and_their_events_are_lines(cloud: Server) -> None:
    """In the order of their times, those that only hold others left out, errors in words."""
    cloud.pipelines[PIPELINE] = job = vertex.pipeline(
        NAME, "FAILED",
        vertex.task(2, "prepare", "SUCCEEDED", job="71", ended=30),
        vertex.task(3, "loop", "FAILED", begun=30, ended=50),
        vertex.task(4, "train", "FAILED", job="72", parent=3, begun=31, ended=49, error="exited"),
        vertex.task(5, "deploy", "NOT_TRIGGERED", begun=None),
    )  # fmt: skip
    vertex.end(job, "FAILED", 60, 9, "The DAG failed.")
    cloud.log(
        vertex.task_event("train", "started", 31, job=NAME, severity="INFO"),
        vertex.task_event("train", "no image", 32, job=NAME, severity="ERROR"),
        vertex.task_event("other", "no image", 32, job="other", severity="ERROR"),
    )
    lines = told(read(piped(cloud))["vertex"])
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


def test_tasks_that_are_still_to_come_are_pending(cloud: Server) -> None:
    """As the plan of the pipeline has them; once it is over, nothing is to come."""
    task = vertex.task(2, "prepare", "RUNNING", job="71", begun=5)
    cloud.pipelines[PIPELINE] = job = vertex.pipeline(
        NAME, "RUNNING", task, plan=("prepare", "train")
    )
    service = Service(target(cloud, NAME, Kind.VERTEX_PIPELINE), pace=QUICK)
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
    cloud: Server, state: str, ends: str
) -> None:
    """It goes on in all other states."""
    cloud.pipelines[PIPELINE] = vertex.pipeline(NAME, state)
    if ends:
        cloud.pipelines[PIPELINE].end_time = vertex.at(90)
    source = piped(cloud)
    text = read(source)["vertex"]
    assert f"PIPELINE_STATE_{state}".encode() in text
    assert source.said is not None
    assert TerminalState(ends or "RUNNING") is source.said.state


def test_a_pipeline_is_found_by_the_name_that_people_gave(cloud: Server) -> None:
    """The latest of that name, which goes by its full name from then on."""
    earlier = f"{PIPELINE}-earlier"
    cloud.pipelines[earlier] = vertex.pipeline(
        f"{NAME}-earlier", "RUNNING", create_time=vertex.at(-90)
    )
    cloud.pipelines[PIPELINE] = vertex.pipeline(NAME, "RUNNING")
    text = read(piped(cloud, "my-llm-pipeline"))["vertex"].decode()
    assert (True, False) == (f"({PIPELINE})" in text, earlier in text)
    with pytest.raises(InputError, match="knows no pipeline nothing"):
        read(piped(cloud, "nothing"))
