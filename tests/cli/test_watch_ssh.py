"""`runwatch watch` of a log on another host, whose SSH server is killed and started again."""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from runwatch.ingest.gpu import QUERY
from tests.ingest.server import Server
from tests.monitor.live import Training, Watcher, progress, state, steps

pytest.importorskip("asyncssh")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that the settings of a home of our own call `gpu-box`."""
    folder = tmp_path / "server"
    folder.mkdir()
    made = Server(folder)
    made.start()
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "config").write_text(made.config.read_text())
    monkeypatch.setenv("HOME", str(tmp_path))
    yield made
    made.kill()


def test_a_lost_connection_is_unknown_and_then_goes_on(server: Server, tmp_path: Path) -> None:
    """No line is lost or doubled over the break, and meanwhile nothing is called bad."""
    one, two = tmp_path / "one", tmp_path / "two"
    training = Training(
        tmp_path,
        [*steps(1, 30), {"wait": str(one)}, *steps(31, 60), {"wait": str(two)},
         *steps(61, 100), "Training finished"],
    )  # fmt: skip
    training.start()
    watcher = Watcher(
        f"gpu-box:{training.log}", "--interval", "0.5", "--max-interval", "1",
        folder=tmp_path / "out", reap=training.process.poll if training.process else None,
    )  # fmt: skip
    try:
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
    finally:
        watcher.close()
        training.stop()


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
    folder = tmp_path / "server"
    folder.mkdir()
    server = Server(folder)
    with (folder / "sshd_config").open("a") as settings:
        settings.write("ForceCommand sleep 6; exec sh\n")
    server.start()
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "config").write_text(server.config.read_text())
    monkeypatch.setenv("HOME", str(tmp_path))
    runs = tmp_path / "runs"
    for rank in range(4):
        (runs / f"rank_{rank}").mkdir(parents=True)
        (runs / f"rank_{rank}" / "train.log").write_text("\n".join(steps(1, 50)) + "\n")
    watcher = Watcher(f"gpu-box:{runs}", "--once", "--no-store", folder=tmp_path / "out")
    try:
        watcher.end()
        last = watcher.events[-1]
        assert (4, 200) == (last["streams"], last["lines"])
    finally:
        watcher.close()
        server.kill()


def test_the_gpus_there_are_told_with_each_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One query of `nvidia-smi` over the same connection: mean utilisation, memory together."""
    folder, programs = tmp_path / "server", tmp_path / "programs"
    folder.mkdir()
    programs.mkdir()
    smi = programs / "nvidia-smi"
    wanted = shlex.join(shlex.split(QUERY)[1:])
    smi.write_text(
        f'#!/bin/sh\n[ "$*" = {shlex.quote(wanted)} ] || exit 2\n'
        "echo '0, 96, 18637, 24564'; echo '1, 90, 18637, 24564'\n"
    )
    smi.chmod(0o755)
    server = Server(folder)
    with (folder / "sshd_config").open("a") as settings:
        settings.write(f"SetEnv PATH={programs}:{os.environ['PATH']}\n")
    server.start()
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "config").write_text(server.config.read_text())
    monkeypatch.setenv("HOME", str(tmp_path))
    cue = tmp_path / "cue"
    training = Training(tmp_path, [*steps(1, 99), {"wait": str(cue)}, "Training finished"])
    training.start()
    watcher = Watcher(
        f"gpu-box:{training.log}", "--interval", "0.5", "--max-interval", "1",
        folder=tmp_path / "out", reap=training.process.poll if training.process else None,
    )  # fmt: skip
    try:
        told = watcher.until(lambda event: event["event"] == "progress" and event["gpu"])["gpu"]
        assert (93, 2) == (told["utilisation"], told["count"])
        assert (2 * 18.2, 2 * 23.99) == (told["used"] / 2**30, told["total"] / 2**30)
        cue.touch()
        assert watcher.end() == 0
    finally:
        watcher.close()
        training.stop()
        server.kill()
