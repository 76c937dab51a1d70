"""Jobs of Vertex AI as its clients describe them, in plain values: states, tasks, machines.

The words of the states are those of the client library's own enumerations.
"""

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from runwatch.cloud import CloudJob, CloudTask
from runwatch.judgement import TerminalState
from runwatch.pattern import compiled
from runwatch.slotted import frozen

JOB, PIPELINE, TASK = "JOB_STATE_", "PIPELINE_STATE_", "TASK_STATE_"
OVER = {
    "SUCCEEDED": TerminalState.SUCCEEDED,
    "FAILED": TerminalState.FAILED,
    "CANCELLED": TerminalState.CANCELLED,
    "EXPIRED": TerminalState.TIMEOUT,
    "PARTIALLY_SUCCEEDED": TerminalState.FAILED,  # some results may be missing
}
# https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto
_CODES = (
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
    "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
)  # fmt: skip
_REPLICA = compiled(r"workerpool(\d+)-(\d+)")


@frozen
class Turn:
    """A state that something has come to: `who` is what reports call it, `at` when, in seconds
    since 1970, None where that is not known. `error` says why, where it went wrong."""

    word: str
    who: str
    at: float | None
    error: str = ""


@frozen
class Described:
    """A job with all that is asked of it. `made` is when it was created; `jobs` are the ids of the
    custom jobs that write its log, each with the task that it is of, "" for the job's own; `ranks`
    are those of replicas that are one process each."""

    cloud: CloudJob
    error: str
    code: str
    made: float
    turns: tuple[Turn, ...]
    jobs: dict[str, str]
    ranks: dict[str, int] = field(default_factory=dict)

    @property
    def ending(self) -> TerminalState | None:
        """How it ended; a job that ran into its limit has failed with that error."""
        state = OVER.get(self.cloud.state)
        late = state is TerminalState.FAILED and self.code == "DEADLINE_EXCEEDED"
        return TerminalState.TIMEOUT if late else state


def described_job(job: Any) -> Described:
    """A custom job."""
    state = _word(job, "state", JOB)
    began, ended = _seconds(job.start_time), _seconds(job.end_time)
    cloud = CloudJob(
        "Custom job", job.display_name, job.name, state, state in OVER, began, ended,
        _machines(job.job_spec.worker_pool_specs),
    )  # fmt: skip
    error, code = _error(job.error)
    who = f"custom job {job.display_name} ({job.name})"
    at = _seconds(job.update_time)
    turns = tuple(_turns(JOB, who, state, (began, ended, at), error))
    made = _seconds(job.create_time) or at or 0.0
    ranks = _ranks(job.job_spec.worker_pool_specs)
    return Described(cloud, error, code, made, turns, {_last(job.name): ""}, ranks)


def described_pipeline(job: Any) -> Described:
    """A pipeline job with its tasks."""
    state = _word(job, "state", PIPELINE)
    began, ended = _seconds(job.start_time), _seconds(job.end_time)
    tasks = list(_tasks(job))
    cloud = CloudJob(
        "Pipeline", job.display_name, job.name, state, state in OVER, began, ended,
        tasks=tuple(task for task, _ in tasks) + tuple(_waiting(job)),
    )  # fmt: skip
    error, code = _error(job.error)
    who = f"pipeline {job.display_name} ({job.name})"
    at = _seconds(job.update_time)
    turns = list(_turns(PIPELINE, who, state, (began, ended, at), error))
    for task, detail in tasks:
        times = (task.began, task.ended, task.ended or task.began or at)
        turns += _turns(TASK, f"task {task.name}", task.state, times, _error(detail.error)[0])
    turns.sort(key=lambda turn: turn.at or 0.0)
    made = _seconds(job.create_time) or at or 0.0
    return Described(cloud, error, code, made, tuple(turns), _jobs(tasks))


def _turns(
    prefix: str, who: str, state: str, times: tuple[float | None, float | None, float | None],
    error: str,
) -> Iterator[Turn]:  # fmt: skip
    """What is known of the states so far: when it began to run, and the state that it has now."""
    began, ended, at = times
    if began is not None:
        yield Turn(f"{prefix}RUNNING", who, began)
    if state in OVER or state in ("SKIPPED", "NOT_TRIGGERED"):
        yield Turn(prefix + state, who, ended or at, error)
    elif state != "RUNNING" or began is None:
        yield Turn(prefix + state, who, at, error)


def _tasks(job: Any) -> Iterator[tuple[CloudTask, Any]]:
    """The tasks that do something; those that only hold others, as the whole does, are none."""
    details = list(job.job_detail.task_details)
    holders = {detail.parent_task_id for detail in details}
    root = _last(job.name)
    for one in details:
        if one.task_id in holders or (not one.parent_task_id and one.task_name == root):
            continue
        state = _word(one, "state", TASK)
        times = _seconds(one.start_time) or _seconds(one.create_time), _seconds(one.end_time)
        yield CloudTask(one.task_name, state, *times), one


def _waiting(job: Any) -> Iterator[CloudTask]:
    """Tasks of the plan that the pipeline has not come to."""
    begun = {detail.task_name for detail in job.job_detail.task_details}
    plan: Any = job.pipeline_spec or {}
    for key in ("root", "dag", "tasks"):
        plan = plan.get(key) if hasattr(plan, "get") else None
        plan = plan if hasattr(plan, "get") else {}
    if _word(job, "state", PIPELINE) in OVER:
        return
    for name in plan:
        if name not in begun:
            yield CloudTask(str(name), "PENDING")


def _jobs(tasks: list[tuple[CloudTask, Any]]) -> dict[str, str]:
    """The custom jobs that tasks run as, those of former tries, too."""
    found: dict[str, str] = {}
    for task, detail in tasks:
        container = detail.executor_detail.container_detail
        own = detail.executor_detail.custom_job_detail
        names = [container.main_job, *container.failed_main_jobs, own.job, *own.failed_jobs]
        found |= {_last(name): task.name for name in names if name}
    return found


def _machines(pools: Any) -> str:
    """`n1-standard-8 + 4x T4`, each kind of worker with how many there are."""
    told = []
    for pool in pools:
        spec = pool.machine_spec
        if not spec.machine_type:
            continue
        name = _word(spec, "accelerator_type", "NVIDIA_").removeprefix("TESLA_")
        gpus = f" + {spec.accelerator_count}x {name}" if spec.accelerator_count else ""
        many = f"{pool.replica_count}x " if pool.replica_count > 1 else ""
        told.append(f"{many}({spec.machine_type}{gpus})" if many else spec.machine_type + gpus)
    return ", ".join(told)


def _ranks(pools: Any) -> dict[str, int]:
    """The ranks of replicas that have one accelerator at most: those of the first two pools, as
    the others are parameter servers and evaluators. A replica with several is many ranks."""
    training = list(pools)[:2]
    if any(pool.machine_spec.accelerator_count > 1 for pool in training):
        return {}
    names = [
        f"workerpool{at}-{replica}"
        for at, pool in enumerate(training)
        for replica in range(int(pool.replica_count))
    ]
    return {name: rank for rank, name in enumerate(names)}


def _word(message: Any, field_: str, prefix: str) -> str:
    """The name of a field's value; one that the client does not know yet is its number."""
    plain = type(message).pb(message)
    number = getattr(plain, field_)
    known = plain.DESCRIPTOR.fields_by_name[field_].enum_type.values_by_number.get(number)
    return (known.name if known else str(number)).removeprefix(prefix)


def _error(status: Any) -> tuple[str, str]:
    """What went wrong, its code in front, and the code alone."""
    code = int(getattr(status, "code", 0) or 0)
    name = (_CODES[code] if 0 < code < len(_CODES) else str(code)) if code else ""
    return ": ".join(word for word in (name, str(getattr(status, "message", ""))) if word), name


def _seconds(time: Any) -> float | None:
    return None if time is None else float(time.timestamp())


def _last(path: str) -> str:
    return path.rsplit("/", 1)[-1]
