"""Short logs of every kind of fault, and of what only looks like one, kept as data.

A case in `cases/*.toml` has a `log`; where something is to blame, words of its `root` line ("|"
between lines that are equally right), the `kind` (others are right as well in `accept`) and the
`rank` ("none" where the log cannot tell); what the answer `says`; and the `state` the run ended in.
"""

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runwatch.scanning import scan
from tests.detect.text.feeder import verdict

FOLDER = Path(__file__).parent / "cases"
CASES = [
    pytest.param(case, id=f"{file.stem}-{case['name']}")
    for file in sorted(FOLDER.glob("*.toml"))
    for case in tomllib.loads(file.read_text(encoding="utf-8"))["case"]
]


def told(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What `scan --json` says of the log of a case."""
    log = folder / f"{case['name']}.log"
    log.write_text(case["log"], encoding="utf-8")
    return scan(str(log), clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)).as_dict()


def lines(case: dict[str, Any]) -> set[int]:
    """The lines that may be called the root."""
    log = case["log"].split("\n")
    return {
        next(number for number, line in enumerate(log, 1) if words in line)
        for words in case["root"].split("|")
    }


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    """Root line, kind, rank, answer and ending are those of the case; an innocent alarms nobody."""
    said = told(case, tmp_path)
    root = said["root_cause"] or {}
    if "root" in case:
        assert root.get("line") in lines(case)
        assert root["kind"] in {*case["kind"].split("|"), *case.get("accept", "").split("|")}
    else:
        loud = [f for f in said["findings"] if f["severity"] in ("critical", "high")]
        assert [f for f in loud if f["state"] != "recovered"] == []
        assert said["judgement"] != "STOP"
        assert said["decision"] != "NO-GO"
    if "rank" in case:
        assert root["rank"] == (None if case["rank"] == "none" else case["rank"])
    says = case.get("says", "STOP" if "root" in case else "CONTINUE")
    assert {said["judgement"], said["decision"]} & {*says.split("|")}
    if "state" in case:
        assert said["terminal_state"] == case["state"]


def test_every_kind_that_words_can_tell_has_cases() -> None:
    """Of each kind of fault that a log tells in words there are at least three cases."""
    kinds = [k for p in CASES for k in str(p.values[0].get("kind", "")).split("|") if k]
    wanted = {
        "cuda_oom", "host_oom", "sigkill_unknown", "sigabrt_unknown", "segfault", "bus_error_shm",
        "process_crash", "worker_died_unknown", "nccl_timeout", "nccl_system_error", "gpu_ecc",
        "gpu_lost", "gpu_hardware", "illegal_memory_access", "device_side_assert", "cublas_error",
        "cudnn_error", "disk_full", "stale_nfs", "checkpoint_failure", "checkpoint_corrupt",
        "network", "permission", "config_error", "data_error", "tracker_kills_training",
        "slurm_time_limit", "slurm_preemption", "slurm_cancelled", "node_failure", "k8s_evicted",
        "vertex_start_error", "tpu_oom", "tpu_worker_lost", "false_success", "python_exception",
        "interrupted", "terminated", "job_failed",
    }  # fmt: skip
    assert {kind for kind in wanted if kinds.count(kind) < 3} == set()


# Those that the text alone tells.
NUMBERS = {
    "nan_loss", "nan_grad", "loss_vanished", "loss_scale_collapse", "throughput_drop", "diverged",
    "stalled",
}  # fmt: skip
IN_WORDS = [
    p
    for p in CASES
    if not NUMBERS & {*dict(p.values[0]).get("kind", "").split("|")}  # type: ignore[call-overload]
]
WRAPPERS = {
    "srun": "3: ",
    "torchrun": "[rank3]: ",
    "mpirun": "[1,3]<stderr>:",
    "docker": "2024-05-01T10:00:00.123456789Z ",
    "kubectl": "[pod/train-0/trainer] ",
    "ray": "(RayTrainWorker pid=4242, ip=10.0.0.7) ",
    "compose": "trainer-1  | ",
    "logging": "2024-05-01 10:00:00,123 - INFO - ",
    "syslog": "May  1 10:00:00 gpu1 train[4242]: ",
}


@pytest.mark.parametrize("number", range(len(IN_WORDS)), ids=[str(p.id) for p in IN_WORDS])
def test_what_wraps_the_lines_does_not_matter(number: int) -> None:
    """A log that a launcher or a collector has prefixed tells the same root."""
    case: Any = IN_WORDS[number].values[0]
    wrapper = [*WRAPPERS.values()][number % len(WRAPPERS)]
    root = verdict("".join(f"{wrapper}{line}\n" for line in case["log"].splitlines())).root_cause
    if "root" in case:
        assert root
        assert root.line in lines(case)
        assert root.kind in {*case["kind"].split("|"), *case.get("accept", "").split("|")}
    else:
        assert root is None or root.severity.weight < 2


RAISED = [p for p in IN_WORDS if '\n  File "' in dict(p.values[0])["log"]]  # type: ignore[call-overload]


@pytest.mark.parametrize("number", range(0, len(RAISED), 3), ids=lambda n: str(RAISED[n].id))
def test_a_prefix_that_nobody_knows_does_not_matter(number: int) -> None:
    """A traceback whose lines have a prefix of their own is read behind that prefix."""
    case: Any = RAISED[number].values[0]
    log = "".join(f"<< job 7 / main >> {line}\n" for line in case["log"].splitlines())
    root = verdict(log).root_cause
    if "root" in case:
        assert root
        assert root.line in lines(case)
        assert root.kind in {*case["kind"].split("|"), *case.get("accept", "").split("|")}
