"""A job that a platform runs, as reports show it: its state, its tasks, what it wrote last."""

from collections.abc import Iterator
from datetime import datetime

from runwatch.cli.report.text import clean
from runwatch.cli.report.units import span
from runwatch.cloud import CloudJob, CloudTask

_FIRST, _LAST = ("SUCCEEDED", "FAILED", "RUNNING"), ("NOT_TRIGGERED", "PENDING")
_NAMED = ("RUNNING", "FAILED", "CANCELLED", "CANCELLING", "CANCEL_PENDING")
_MOST = 3  # names of tasks in one state


def heading(job: CloudJob) -> str:
    """`Custom job: my-gpt2-finetune (projects/my-proj/locations/us-central1/customJobs/456)`."""
    return f"{job.noun}: {clean(job.name)} ({clean(job.path)})"


def course(job: CloudJob, at: datetime, recent: str) -> Iterator[str]:
    """State, tasks, and the `recent` progress that its log tells."""
    parts = [f"State: {clean(job.state)}"]
    if job.began is not None:
        ended = at.timestamp() if job.ended is None else job.ended
        word = "Elapsed" if job.ended is None else "Duration"
        parts.append(f"{word}: {span(max(0.0, ended - job.began))}")
    if job.machine:
        parts.append(f"Worker: {clean(job.machine)}")
    yield " | ".join(parts)
    if job.tasks:
        yield f"Tasks: {tasks(job.tasks)}"
    running = [one for one in job.tasks if one.state == "RUNNING" and one.began is not None]
    for one in running[:_MOST]:
        since = max(0.0, at.timestamp() - (one.began or 0.0))
        yield f"Running task: {clean(one.name)} — started {span(since)} ago"
    if recent:
        yield f"{'Final log' if job.over else 'Recent logs'}: {recent}"


def tasks(told: tuple[CloudTask, ...]) -> str:
    """`3 SUCCEEDED, 1 RUNNING (data-preprocessing), 2 PENDING`."""
    names: dict[str, list[str]] = {}
    for one in told:
        names.setdefault(one.state, []).append(clean(one.name))
    others = sorted(set(names) - {*_FIRST, *_LAST})
    parts = []
    for state in (*_FIRST, *others, *_LAST):
        if found := names.get(state):
            more = ", …" if len(found) > _MOST else ""
            named = f" ({', '.join(found[:_MOST])}{more})" if state in _NAMED else ""
            parts.append(f"{len(found)} {clean(state)}{named}")
    return ", ".join(parts)
