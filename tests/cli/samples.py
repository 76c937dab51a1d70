"""A summary and a batch as the stages give them, for tests of what people see of them."""

from datetime import UTC, datetime
from typing import Any

from runwatch.chunk import Stream
from runwatch.finding import Finding, Role, Severity, State
from runwatch.records import LINES, POINTS, Batch
from tests.frames import frame

CAUSE = Finding(
    kind="cuda_oom",
    severity=Severity.CRITICAL,
    stream="rank_5/stderr.log",
    line=13,
    message="GPU 1 of rank 5 ran out of memory: 12.28 GiB were asked for, 9.87 GiB were free.",
    state=State.TERMINAL,
    step=840,
    rank=5,
    time="2026-03-11T14:34:01Z",
    evidence=(
        "step 840: longest sequence has 16384 tokens, planned for 4096",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.28 GiB. GPU 1 has a"
        " total capacity of 79.11 GiB of which 9.87 GiB is free.",
    ),
    advice="Cap the sequence length or split the batch; look at the batch of step 840 first.",
)
ECHOES = [
    Finding(
        kind="nccl_timeout",
        severity=Severity.HIGH,
        stream=f"rank_{rank}/stderr.log",
        line=3,
        message="A collective waited 600 s for the other ranks.",
        role=Role.FOLLOW_ON,
        state=State.TERMINAL,
        rank=rank,
        evidence=("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=21843, …)",),
    )
    for rank in range(4)
]


def summary(**changes: Any) -> dict[str, Any]:
    """A failed run of eight ranks."""
    cause = CAUSE.as_dict()
    keys = ("kind", "line", "stream", "rank", "confidence")
    return {
        "run": "3f9a1c0b7d42",
        "target": "examples/eight-ranks",
        "streams": 18,
        "lines": 781,
        "bytes": 119347,
        "steps": {"first": 10, "last": 830, "total": 5000},
        "segments": 1,
        "terminal_state": "FAILED",
        "judgement": "STOP",
        "decision": "NO-GO",
        "confidence": "high",
        "final_metrics": {"loss": 3.2140123, "grad_norm": 0.355, "lr": 3e-4},
        "best_checkpoint": "checkpoints/step-800",
        "root_cause": {key: cause[key] for key in keys},
        "reason": "rank 5 ended with an exception; nothing was trained after step 830",
        "findings": [echo.as_dict() for echo in ECHOES] + [cause],
        "checks": [
            {"name": "nan_loss", "ran": True, "why": ""},
            {"name": "diverged", "ran": True, "why": ""},
            {"name": "text_faults", "ran": True, "why": ""},
            {"name": "overfit", "ran": False, "why": "no evaluation loss in the log"},
            {"name": "eval_worse", "ran": False, "why": "no evaluation loss in the log"},
            {"name": "lr_schedule", "ran": False, "why": "the log announces no schedule"},
        ],
        "coverage": {
            "lines": 781,
            "bytes": 119347,
            "metric_lines": 668,
            "skipped": 0,
            "not_understood": 2,
            "examples": ["rank_0/stdout.log:3: config: hidden_size=2048 num_layers=24"],
            "files_skipped": [{"name": "core.41875", "why": "a binary file"}],
        },
        "next_steps": ["Look at the batch of step 840.", "Resume from checkpoints/step-800."],
        **changes,
    }


MOMENT = datetime(2026, 3, 11, 14, 2, 5, 123456, UTC)


def batch(values: list[float], *, metric: str = "loss", unit: str | None = None) -> Batch:
    """One point a line, from line 1."""
    count, lines = len(values), list(range(1, len(values) + 1))
    points = {
        "line": lines, "time": [MOMENT] * count, "rank": [None] * count, "step": lines,
        "epoch": [0.5] * count, "metric": [metric] * count, "value": values,
        "unit": [unit] * count, "quantity": [None] * count, "segment": [0] * count,
    }  # fmt: skip
    return Batch(
        Stream("train.log"),
        frame(POINTS, points),
        frame(LINES, {name: [] for name in LINES}),
        1,
        len(values),
    )
