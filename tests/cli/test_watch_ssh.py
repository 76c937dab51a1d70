"""`runwatch watch` of a log on another host, whose SSH server is killed and started again."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from runwatch.home import default_path
from runwatch.store import Store
from tests.ingest.nvidia_smi import installed
from tests.ingest.server import Server, at_home
from tests.monitor.live import Training, Watcher, finding, progress, state, steps

pytest.importorskip("asyncssh")


@contextmanager
def followed(folder: Path, *plan: Any) -> Iterator[Watcher]:
    """A watcher that reaches a training through the server."""
    training = Training(folder, [*plan])
    training.start()
    watcher = Watcher(
        f"gpu-box:{training.log}", "--interval", "0.5", "--max-interval", "1",
        folder=folder / "out", reap=training.process.poll if training.process else None,
    )  # fmt: skip
    try:
        yield watcher
    finally:
        watcher.close()
        training.stop()


def test_a_lost_connection_is_unknown_and_then_goes_on(server: Server, tmp_path: Path) -> None:
    """No line is lost or doubled over the break, and meanwhile nothing is called bad."""
    one, two = tmp_path / "one", tmp_path / "two"
    plan = [
        *steps(1, 30), {"wait": str(one)}, *steps(31, 60), {"wait": str(two)},
        *steps(61, 100), "Training finished",
    ]  # fmt: skip
    with followed(tmp_path, *plan) as watcher:
        assert "Connecting to gpu-box" in watcher.until(state("note"))["why"]
        watcher.until(progress(30))
        server.kill()
        watcher.until(state("unreachable"))
        one.touch()
        server.start()
        watcher.until(progress(60))
        two.touch()
        assert watcher.end() == 0
        last = watcher.events[-1]
        assert (101, "GO", []) == (last["lines"], last["decision"], last["findings"])


def test_one_look_at_a_host_that_does_not_answer_is_unknown(server: Server, tmp_path: Path) -> None:
    """Code 3, and never a stop."""
    server.kill()
    watcher = Watcher("gpu-box:/var/log/train.log", "--once", folder=tmp_path / "out")
    try:
        assert watcher.end() == 3
        last = watcher.events[-1]
        assert ("UNKNOWN", "WAIT") == (last["terminal_state"], last["judgement"])
        assert "state unknown" in json.dumps(watcher.events)
    finally:
        watcher.close()


def test_one_look_at_a_slow_host_sees_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence before the host has answered says nothing: every rank is read to its end."""
    runs = tmp_path / "runs"
    for rank in range(4):
        (runs / f"rank_{rank}").mkdir(parents=True)
        (runs / f"rank_{rank}" / "train.log").write_text("\n".join(steps(1, 50)) + "\n")
    with at_home(tmp_path, monkeypatch, "ForceCommand sleep 6; exec sh"):
        watcher = Watcher(f"gpu-box:{runs}", "--once", "--no-store", folder=tmp_path / "out")
        try:
            watcher.end()
            last = watcher.events[-1]
            assert (4, 200) == (last["streams"], last["lines"])
        finally:
            watcher.close()


def test_the_gpus_there_are_told_with_each_report_and_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`nvidia-smi` over the same connection: mean utilisation, memory together; what is wrong with
    one is a finding that cites what it told."""
    programs = tmp_path / "programs"
    gpu = {"utilization.gpu": 96, "memory.used": 18637, "memory.total": 24564}
    broken = {"utilization.gpu": 90, "gpu_recovery_action": "Reset"}
    installed(programs, [gpu | {"index": 0}, gpu | broken | {"index": 1}])
    cue = tmp_path / "cue"
    with (
        at_home(tmp_path, monkeypatch, PATH=f"{programs}:{os.environ['PATH']}"),
        followed(
            tmp_path, *steps(1, 50), {"wait": str(cue)}, *steps(51, 100), "Training finished"
        ) as watcher,
    ):
        told = watcher.until(progress(1))["gpu"]
        assert (93, 2) == (told["utilisation"], told["count"])
        assert (2 * 18.2, 2 * 23.99) == (told["used"] / 2**30, told["total"] / 2**30)
        found = next((one for one in watcher.events if one.get("kind") == "gpu_hardware"), None)
        found = found or watcher.until(finding("gpu_hardware"))
        assert "GPU 1: the driver asks for a reset of the GPU" == found["message"]
        assert '"gpu":1,"gpus":2,"gpu_util":90.0' in found["evidence"][0]
        cue.touch()
        assert watcher.end() == 0
    rows = Store(default_path(os.environ)).query(
        "SELECT DISTINCT metric, value FROM points WHERE stream = 'gpu telemetry' AND metric IN"
        " ('gpu_util', 'mem_used_gb') ORDER BY ALL"
    )
    expected = [("gpu_util", 90), ("gpu_util", 96), ("mem_used_gb", 18.2)]
    assert expected == [tuple(row.values()) for row in rows.to_pylist()]
