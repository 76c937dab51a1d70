"""How a job that a platform runs is shown."""

import io
from datetime import UTC, datetime

import pytest

from runwatch.cli.report.cloud import tasks
from runwatch.cli.report.lines import Lines
from runwatch.cloud import CloudJob, CloudTask
from runwatch.event import Progressed

AT = datetime(2026, 3, 1, 10, 3, 1).astimezone(UTC)
NOW = AT.timestamp()
PATH = "projects/my-proj/locations/us-central1"
JOB = CloudJob(
    "Custom job", "my-gpt2-finetune", f"{PATH}/customJobs/456", "RUNNING", began=NOW - 7800,
    machine="n1-standard-8 + 4x T4",
)  # fmt: skip
PIPELINE = CloudJob(
    "Pipeline", "my-training-pipeline", f"{PATH}/pipelineJobs/123", "RUNNING", began=NOW - 4980,
    tasks=(
        CloudTask("a", "SUCCEEDED"), CloudTask("b", "PENDING"),
        CloudTask("model-training", "RUNNING", NOW - 2700), CloudTask("c", "SUCCEEDED"),
        CloudTask("d", "SUCCEEDED"), CloudTask("e", "PENDING"),
    ),
)  # fmt: skip


def shown(job: CloudJob, **more: object) -> list[str]:
    out = io.StringIO()
    given = {"state": job.state, "next_in": 90, "before": 60, "cloud": job, **more}
    Lines(out).show(Progressed("t", AT, **given))  # type: ignore[arg-type]
    return out.getvalue().splitlines()


def test_a_custom_job_shows_its_machine_and_what_it_logged_last() -> None:
    """Name and full name, state, time, worker, step and loss, and the pace."""
    metrics = {"loss": ("loss", 0.842)}
    assert [
        f"[10:03:01] Custom job: my-gpt2-finetune ({PATH}/customJobs/456)",
        "  State: RUNNING | Elapsed: 2h 10m | Worker: n1-standard-8 + 4x T4",
        "  Recent logs: Step 4200/10000 (42%) | loss=0.842",
        "  next poll in 90s ← backed off 60s→90s",
    ] == shown(JOB, step=4200, total=10000, metrics=metrics)


def test_a_pipeline_shows_its_tasks() -> None:
    """Counted by state, those that run by name with since when."""
    assert [
        f"[10:03:01] Pipeline: my-training-pipeline ({PATH}/pipelineJobs/123)",
        "  State: RUNNING | Elapsed: 1h 23m",
        "  Tasks: 3 SUCCEEDED, 1 RUNNING (model-training), 2 PENDING",
        "  Running task: model-training — started 45m ago",
        "  next poll in 90s ← backed off 60s→90s",
    ] == shown(PIPELINE)


def test_what_is_over_shows_how_long_it_took() -> None:
    """And its last words, and no next poll."""
    job = CloudJob("Custom job", "a", "p", "SUCCEEDED", True, NOW - 20000, NOW - 4880)
    assert [
        "[10:03:01] Custom job: a (p)",
        "  State: SUCCEEDED | Duration: 4h 12m",
        "  Final log: Step 9/9 (100%)",
    ] == shown(job, step=9, total=9)


def test_what_has_not_begun_shows_its_state_only() -> None:
    """Nothing is made up of a job that waits."""
    assert ["[10:03:01] Custom job: a (p)", "  State: PENDING", "  next poll in 60s"] == shown(
        CloudJob("Custom job", "a", "p", "PENDING"), next_in=60
    )


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ("FAILED SUCCEEDED PENDING", "1 SUCCEEDED, 1 FAILED (t0), 1 PENDING"),
        ("RUNNING " * 5, "5 RUNNING (t0, t1, t2, …)"),
        (
            "NOT_TRIGGERED CANCEL_PENDING SKIPPED CANCELLING CANCELLED",
            "1 CANCELLED (t4), 1 CANCELLING (t3), 1 CANCEL_PENDING (t1), 1 SKIPPED, "
            "1 NOT_TRIGGERED",
        ),
    ],
)  # fmt: skip
def test_every_state_of_tasks_is_counted(states: str, text: str) -> None:
    """What went well first, what is still to come last; names where they matter."""
    named = tuple(CloudTask(f"t{at}", state) for at, state in enumerate(states.split()))
    assert text == tasks(named)


def test_what_others_named_is_data() -> None:
    """Escape sequences of a display name do not reach the terminal."""
    text = "\n".join(shown(CloudJob("Custom job", "a\x1b[2J", "p", "RUN\x1bNING")))
    assert "\x1b" not in text
