"""What the tests of jobs of Vertex AI share: a job at rest, followed, and what it writes."""

from collections.abc import Iterable
from typing import Any

from runwatch.chunk import Chunk, Cursor
from runwatch.ingest.service import Tracker
from runwatch.ingest.service_follow import Tracking
from runwatch.ingest.vertex_service import Pace, Service
from runwatch.target import Kind, Target
from tests.ingest import vertex_messages as vertex
from tests.ingest.vertex_server import Server

WORKER = "workerpool0-0"
QUICK = Pace(look=0.0, log=0.0, tailed=0.0, late=0.0)


def target(cloud: Server, job: str = "456", kind: Kind = Kind.VERTEX_TRAINING) -> Target:
    return Target.of_vertex(
        kind, job, project=vertex.PROJECT, region=vertex.REGION, vertex=cloud.url,
        logging=cloud.url,
    )  # fmt: skip


def rest(cloud: Server, job: str = "456", pace: Pace = QUICK) -> Tracker:
    """It at rest."""
    return Tracker(Service(target(cloud, job), pace=pace), "vertex", wait=0.0)


def follow(cloud: Server, pace: Pace = QUICK) -> Tracking:
    """It followed, asked without a pause."""
    return Tracking(Service(target(cloud), pace=pace), "vertex", turn=0.05)


def steps(first: int, last: int, **more: Any) -> list[Any]:
    """What a training writes, ten seconds a step."""
    return [
        vertex.entry(f"Step {step}/500 | loss={3 - step / 500:.3f}", step * 10, **more)
        for step in range(first, last)
    ]


def told(text: bytes) -> list[str]:
    """The lines behind their times."""
    return [line.partition(" ")[2] for line in text.decode().splitlines()]


def cursors_of(chunks: Iterable[Chunk]) -> dict[str, Cursor]:
    """Behind these chunks."""
    return {one.stream.name: Cursor(one.identity, one.position) for one in chunks}
