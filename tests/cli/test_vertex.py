"""`runwatch watch` and `check` of jobs and pipelines of Vertex AI, as people call them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ingest import vertex_server as vertex
from tests.monitor.live import Watcher, finding, progress, state

JOB = f"{vertex.PARENT}/customJobs/456"
OOM = (
    "Traceback (most recent call last):\n"
    '  File "/app/train.py", line 88, in train\n    loss.backward()\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 24.50 GiB. GPU 0 has a total "
    "capacity of 23.80 GiB of which 1.00 MiB is free."
)
EXITED = "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error."


@pytest.fixture
def server() -> Iterator[vertex.Server]:
    """Both services, with a custom job that runs."""
    for name in ("grpc", "google.cloud.aiplatform_v1", "google.cloud.logging_v2"):
        pytest.importorskip(name)
    server = vertex.Server(jobs={JOB: vertex.custom_job("456")})
    server.start()
    yield server
    server.stop()


def at(server: vertex.Server) -> list[str]:
    """Where it is, in words."""
    return [
        "--project", vertex.PROJECT, "--vertex-endpoint", server.url,
        "--logging-endpoint", server.url,
    ]  # fmt: skip


def runwatch(*words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "runwatch", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def steps(first: int, last: int, **more: Any) -> list[Any]:
    return [
        vertex.entry(f"Step {step}/100 | loss={3 - step / 50:.3f}", step, **more)
        for step in range(first, last)
    ]


def test_a_custom_job_is_watched_through_an_outage_to_its_failure(
    server: vertex.Server, tmp_path: Path
) -> None:
    """While the service is away the state is unknown, never bad; then the log says what broke."""
    server.log(*steps(0, 40))
    watcher = Watcher(
        "--vertex-training", "456", *at(server), "--interval", "1", "--max-interval", "1",
        folder=tmp_path,
    )  # fmt: skip
    try:
        told = watcher.until(lambda e: progress(39)(e) and e["job"] is not None)["job"]
        assert ("RUNNING", "n1-standard-8 + 4x T4") == (told["state"], told["machine"])
        server.stop()
        watcher.until(state("unreachable"))
        server.entries += steps(40, 60)
        server.start()
        watcher.until(progress(59))
        server.log(vertex.entry(OOM, 61, severity="ERROR"))
        vertex.end(server.jobs[JOB], "FAILED", 62, 13, EXITED)
        found = watcher.until(finding("cuda_oom"))
        assert ("critical", "workerpool0-0") == (found["severity"], found["stream"])
        assert 1 == watcher.end()
        last = watcher.events[-1]
        assert ("FAILED", "NO-GO", "cuda_oom") == (
            last["terminal_state"], last["decision"], last["root_cause"]["kind"],
        )  # fmt: skip
        assert EXITED in last["why"]
        assert [("cuda_oom", "root"), ("job_failed", "follow-on")] == [
            (one["kind"], one["role"]) for one in last["findings"]
        ]
        assert "vertex_training" == watcher.artifact["target_type"]
    finally:
        watcher.close()


def test_down_from_the_start_the_state_is_unknown(server: vertex.Server, tmp_path: Path) -> None:
    """Code 3 and no word against the training, watched or checked."""
    server.stop()
    words = ["--vertex-training", "456", *at(server), "--json"]
    done = runwatch("watch", *words, "--once", "--no-store", cwd=tmp_path)
    last = json.loads(done.stdout.splitlines()[-1])
    assert (3, "UNKNOWN", "WAIT", []) == (
        done.returncode, last["terminal_state"], last["judgement"], last["findings"],
    )  # fmt: skip
    done = runwatch("check", *words, cwd=tmp_path)
    assert (3, None) == (done.returncode, json.loads(done.stdout)["judgement"])


def test_without_the_clients_the_command_names_the_extra(tmp_path: Path) -> None:
    """A Python where they are not installed: what to install is said, and it is no outage."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    names = ("google.auth", "google.cloud", "grpc")
    text = f"import sys\nsys.modules.update(dict.fromkeys({names}))\n"
    (hidden / "sitecustomize.py").write_text(text)
    path = os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", str(Path.cwd()))])
    for option in ("--vertex-training", "--vertex-pipeline"):
        done = runwatch(
            "watch", option, "456", "--project", "p", "--once", "--no-store", cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        assert 2 == done.returncode
        assert "pip install 'runwatch[vertex]'" in done.stderr
