"""What Vertex AI and Cloud Logging tell of jobs: the messages of the client libraries."""

from datetime import UTC, datetime, timedelta
from typing import Any

BEGUN = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
PROJECT, REGION = "my-proj", "us-central1"
PARENT = f"projects/{PROJECT}/locations/{REGION}"
JOB = f"{PARENT}/customJobs/456"
"""The custom job of most tests."""


def at(seconds: float) -> datetime:
    """So long after the beginning."""
    return BEGUN + timedelta(seconds=seconds)


def custom_job(number: str, state: str = "RUNNING", **more: Any) -> Any:
    """A custom job on one machine with four GPUs, begun at BEGUN."""
    from google.cloud import aiplatform_v1 as ai

    machine = ai.MachineSpec(
        machine_type=more.pop("machine", "n1-standard-8"),
        accelerator_type=ai.AcceleratorType.NVIDIA_TESLA_T4,
        accelerator_count=more.pop("accelerators", 4),
    )
    replicas = more.pop("replicas", (1,))
    pools = [ai.WorkerPoolSpec(machine_spec=machine, replica_count=count) for count in replicas]
    given = {
        "display_name": "my-gpt2-finetune", "create_time": at(-60), "update_time": at(0),
        **({} if state in ("QUEUED", "PENDING") else {"start_time": at(0)}), **more,
    }  # fmt: skip
    return ai.CustomJob(
        name=f"{PARENT}/customJobs/{number}", state=ai.JobState[f"JOB_STATE_{state}"],
        job_spec=ai.CustomJobSpec(worker_pool_specs=pools), **given,
    )  # fmt: skip


def task(
    number: int, name: str, state: str, *, job: str = "", parent: int = 1, begun: float | None = 0,
    ended: float | None = None, error: str = "", failed: tuple[str, ...] = (),
) -> Any:  # fmt: skip
    """A task of a pipeline, which runs as a custom job."""
    from google.cloud import aiplatform_v1 as ai
    from google.rpc.status_pb2 import Status

    jobs = f"{PARENT}/customJobs/"
    container = ai.PipelineTaskExecutorDetail.ContainerDetail(
        main_job=jobs + job if job else "", failed_main_jobs=[jobs + one for one in failed]
    )
    return ai.PipelineTaskDetail(
        task_id=number, parent_task_id=parent, task_name=name,
        state=ai.PipelineTaskDetail.State[state],
        executor_detail=ai.PipelineTaskExecutorDetail(container_detail=container),
        error=Status(code=13, message=error) if error else None,
        **({} if begun is None else {"create_time": at(begun), "start_time": at(begun)}),
        **({} if ended is None else {"end_time": at(ended)}),
    )  # fmt: skip


def pipeline(name: str, state: str, *tasks: Any, plan: tuple[str, ...] = (), **more: Any) -> Any:
    """A pipeline job: the task that holds the others, and those that it has come to of its plan."""
    from google.cloud import aiplatform_v1 as ai

    begun = {} if state in ("QUEUED", "PENDING") else {"start_time": at(0)}
    times = {"create_time": at(-60), "update_time": at(0), **begun}
    given = {"display_name": "my-llm-pipeline", **times, **more}
    whole = task(1, name, "RUNNING", parent=0)
    return ai.PipelineJob(
        name=f"{PARENT}/pipelineJobs/{name}", state=ai.PipelineState[f"PIPELINE_STATE_{state}"],
        job_detail=ai.PipelineJobDetail(task_details=[whole, *tasks] if tasks else []),
        pipeline_spec={"root": {"dag": {"tasks": {one: {} for one in plan}}}}, **given,
    )  # fmt: skip


def task_event(name: str, message: str, seconds: float, *, job: str, severity: str) -> Any:
    """What Vertex AI logs of a pipeline's task itself."""
    return entry(
        {"message": f"{name}: {message}", "taskName": name}, seconds, severity=severity,
        kind="aiplatform.googleapis.com/PipelineJob",
        labels={"pipeline_job_id": job, "location": REGION},
        log=f"projects/{PROJECT}/logs/aiplatform.googleapis.com%2Fpipeline_job_task_events",
    )  # fmt: skip


def end(job: Any, state: str, seconds: float, code: int = 0, error: str = "") -> None:
    """A job, or a pipeline, comes to its end."""
    prefix = "PIPELINE_STATE_" if type(job).__name__ == "PipelineJob" else "JOB_STATE_"
    job.state = type(job.state)[prefix + state]
    job.end_time = job.update_time = at(seconds)
    if error:
        job.error.code, job.error.message = code, error


def entry(
    text: str | dict[str, Any], seconds: float, *, job: str = "456", replica: str = "workerpool0-0",
    severity: str = "INFO", received: float | None = None, insert: str = "", **more: Any,
) -> Any:  # fmt: skip
    """An entry as a worker of a custom job writes it, received a second later."""
    from google.api.monitored_resource_pb2 import MonitoredResource
    from google.cloud.logging_v2.types import log_entry

    payload = {"text_payload": text} if isinstance(text, str) else {"json_payload": text}
    labels = more.pop("labels", {"job_id": job, "task_name": replica, "project_id": PROJECT})
    kind = more.pop("kind", "ml_job")
    return log_entry.LogEntry(
        log_name=more.pop("log", f"projects/{PROJECT}/logs/{replica}"),
        resource=MonitoredResource(type=kind, labels=labels), severity=severity,
        timestamp=at(seconds), receive_timestamp=at(seconds + 1 if received is None else received),
        insert_id=insert or f"{seconds:.6f}-{abs(hash(str(text))):x}", **payload, **more,
    )  # fmt: skip
