"""`runwatch watch` and `check` of jobs and pipelines of Vertex AI, as people call them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.ingest import vertex_messages as vertex
from tests.ingest.vertex_server import Fault, Server
from tests.monitor.live import Watcher, finding, progress, state

OOM = (
    "Traceback (most recent call last):\n"
    '  File "/app/train.py", line 88, in train\n    loss.backward()\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 24.50 GiB. GPU 0 has a total "
    "capacity of 23.80 GiB of which 1.00 MiB is free."
)
EXITED = "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error."


def at(cloud: Server) -> list[str]:
    """Where it is, in words."""
    return [
        "--project", vertex.PROJECT, "--vertex-endpoint", cloud.url,
        "--logging-endpoint", cloud.url,
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
    cloud: Server, tmp_path: Path
) -> None:
    """While the service is away the state is unknown, never bad; then the log says what broke."""
    cloud.log(*steps(0, 40))
    watcher = Watcher(
        "--vertex-training", "456", *at(cloud), "--interval", "1", "--max-interval", "1",
        folder=tmp_path,
    )  # fmt: skip
    try:
        told = watcher.until(lambda e: progress(39)(e) and e["job"] is not None)["job"]
        assert ("RUNNING", "n1-standard-8 + 4x T4") == (told["state"], told["machine"])
        cloud.stop()
        watcher.until(state("unreachable"))
        cloud.entries += steps(40, 60)
        cloud.start()
        watcher.until(progress(59))
        cloud.log(vertex.entry(OOM, 61, severity="ERROR"))
        vertex.end(cloud.jobs[vertex.JOB], "FAILED", 62, 13, EXITED)
        found = watcher.until(finding("cuda_oom"))
        assert ("critical", "workerpool0-0") == (found["severity"], found["stream"])
        assert 1 == watcher.end()
        last = watcher.events[-1]
        assert ("FAILED", "NO-GO", "cuda_oom") == (
            last["terminal_state"], last["decision"], last["root_cause"]["kind"],
        )  # fmt: skip
        assert EXITED in last["why"]
        assert [("cuda_oom", "root"), ("job_failed", "follow-on")] == [
            (one["kind"], one["role"]) for one in last["findings"] if one["role"] != "symptom"
        ]
        assert "vertex_training" == watcher.artifact["target_type"]
    finally:
        watcher.close()


def test_down_from_the_start_the_state_is_unknown(cloud: Server, tmp_path: Path) -> None:
    """Code 3 and no word against the training, watched or checked."""
    cloud.stop()
    words = ["--vertex-training", "456", *at(cloud), "--json"]
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


PIPELINE = "my-pipeline-20260501"


def test_a_pipeline_whose_task_runs_out_of_memory_says_so(cloud: Server, tmp_path: Path) -> None:
    """The diagnosis names the cause in the task's log, and the tasks stand in the last word."""
    ready = vertex.task(2, "prepare", "SUCCEEDED", job="71", ended=30)
    plan = ("prepare", "train", "deploy")

    def stands(state: str, **more: Any) -> None:
        task = vertex.task(3, "train", state, job="72", begun=30, **more)
        job = vertex.pipeline(PIPELINE, "RUNNING", ready, task, plan=plan)
        cloud.pipelines[f"{vertex.PARENT}/pipelineJobs/{PIPELINE}"] = job

    stands("RUNNING")
    cloud.log(vertex.entry("rows ok", 5, job="71"), *steps(31, 60, job="72"))
    watcher = Watcher(
        "--vertex-pipeline", "my-llm-pipeline", *at(cloud), "--interval", "1",
        "--max-interval", "1", folder=tmp_path,
    )  # fmt: skip
    try:
        told = watcher.until(progress(59))["job"]
        assert [("prepare", "SUCCEEDED"), ("train", "RUNNING"), ("deploy", "PENDING")] == [
            (task["name"], task["state"]) for task in told["tasks"]
        ]
        retried = vertex.task_event("train", "retrying", 60, job=PIPELINE, severity="ERROR")
        cloud.log(retried, vertex.entry(OOM, 61, job="72", severity="ERROR"))
        watcher.until(finding("cuda_oom"))
        stands("FAILED", ended=62, error=EXITED)
        watcher.until(state("train FAILED"))
        job = cloud.pipelines[f"{vertex.PARENT}/pipelineJobs/{PIPELINE}"]
        vertex.end(job, "FAILED", 65, 9, "The DAG failed because some tasks failed: [train].")
        assert 1 == watcher.end()
        last = watcher.events[-1]
        assert ("FAILED", "NO-GO", "cuda_oom", "train/workerpool0-0") == (
            last["terminal_state"], last["decision"], last["root_cause"]["kind"],
            last["root_cause"]["stream"],
        )  # fmt: skip
        assert {"cuda_oom", "task_failed", "pipeline_failed", "task_log_error"} <= {
            one["kind"] for one in last["findings"]
        }
        assert ["SUCCEEDED", "FAILED"] == [
            task["state"] for task in watcher.artifact["job"]["tasks"]
        ]
    finally:
        watcher.close()


def test_a_pipeline_that_ended_is_read_at_once(cloud: Server, tmp_path: Path) -> None:
    """One look: state, tasks and duration as the reports have them; what a task's log says of its
    own end is not the pipeline's."""
    job = vertex.pipeline(
        PIPELINE, "RUNNING", vertex.task(2, "train", "SUCCEEDED", job="71", ended=120),
        vertex.task(3, "deploy", "SKIPPED", begun=None),
    )  # fmt: skip
    cloud.pipelines[f"{vertex.PARENT}/pipelineJobs/{PIPELINE}"] = job
    cloud.log(*steps(1, 101, job="71"), vertex.entry("Training finished", 101, job="71"))
    words = ["--vertex-pipeline", PIPELINE, *at(cloud), "--no-store"]
    for command in (["watch", "--once"], ["scan"]):
        done = runwatch(*command, *words, cwd=tmp_path)
        assert "Terminal state:   RUNNING" in done.stdout
    vertex.end(job, "SUCCEEDED", 3 * 3600 + 720)
    done = runwatch("scan", *words, "--json", cwd=tmp_path)
    (run,) = json.loads(done.stdout)["runs"]
    assert (0, "SUCCEEDED", "GO", 100) == (
        done.returncode, run["terminal_state"], run["decision"], run["steps"]["last"],
    )  # fmt: skip
    done = runwatch("watch", "--once", *words, cwd=tmp_path)
    assert 0 == done.returncode
    for line in (
        f"Pipeline: my-llm-pipeline ({vertex.PARENT}/pipelineJobs/{PIPELINE})",
        "  State: SUCCEEDED | Duration: 3h 12m", "  Tasks: 1 SUCCEEDED, 1 SKIPPED",
        "  Final log: Step 100/100 (100%) | loss=1", "Tasks:            1 SUCCEEDED, 1 SKIPPED",
        "Terminal state:   SUCCEEDED", "Decision:         GO",
    ):  # fmt: skip
        assert line in done.stdout


def test_a_timer_checks_a_custom_job(cloud: Server, tmp_path: Path) -> None:
    """It reads on from where it was, and takes the log named instead while nobody answers."""
    cloud.log(*steps(1, 60))
    (tmp_path / "train.log").write_text("step 1 loss nan\n" * 2)
    words = ["check", "--vertex-training", "456", *at(cloud), "--log", "train.log", "--json"]
    done = runwatch(*words, cwd=tmp_path)
    assert (0, "CONTINUE") == (done.returncode, json.loads(done.stdout)["judgement"])
    cloud.log(*steps(60, 90))
    told = json.loads(runwatch(*words, cwd=tmp_path).stdout)
    assert 89 == told["steps"]["last"]
    cloud.faults["ListLogEntries"] = Fault("UNAVAILABLE", "go away")
    done = runwatch(*words[:-3], "--json", "--no-store", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert (3, None) == (done.returncode, told["judgement"])
    assert "go away" in told["reason"]
    cloud.faults["GetCustomJob"] = Fault("UNAUTHENTICATED", "expired")
    done = runwatch(*words, "--no-store", cwd=tmp_path)
    assert "gcloud auth application-default login" in done.stdout
    assert "train.log was read instead" in done.stdout
