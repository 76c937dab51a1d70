"""Runs at W&B and MLflow on the command line: watched, checked, scanned and parsed."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runwatch.cli.words.services import add_services, services
from runwatch.errors import UsageError
from tests.ingest import mlflow_server, wandb_server
from tests.monitor.live import Watcher, progress, state


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[wandb_server.Server]:
    """A server of W&B's API with one run, and a login that it knows."""
    pytest.importorskip("wandb")
    server = wandb_server.Server()
    server.start()
    monkeypatch.setenv("WANDB_BASE_URL", server.url)
    monkeypatch.setenv("WANDB_API_KEY", server.key)
    monkeypatch.setenv("WANDB_HTTP_TIMEOUT", "2")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    server.runs["team/proj/abc"] = wandb_server.Kept(config={"max_steps": 100})
    yield server
    server.stop()


def runwatch(*words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "runwatch", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def falling(step: int) -> float:
    return 3 - step / 100


def test_a_run_of_wandb_is_watched_through_an_outage_to_its_end(
    wandb: wandb_server.Server, tmp_path: Path
) -> None:
    """While the service is away the state is unknown, never bad; then every step comes once."""
    run = wandb.runs["team/proj/abc"]
    run.log(0, 40, loss=falling)
    watcher = Watcher(
        "--wandb", "team/proj/abc", "--interval", "0.5", "--max-interval", "1", folder=tmp_path
    )
    try:
        watcher.until(progress(39))
        wandb.stop()
        watcher.until(state("unreachable"))
        run.log(40, 100, loss=falling)
        wandb.start()
        watcher.until(progress(99))
        run.state = "finished"
        assert 0 == watcher.end()
        last = watcher.events[-1]
        assert (100, "GO", "SUCCEEDED", []) == (
            last["lines"], last["decision"], last["terminal_state"], last["findings"],
        )  # fmt: skip
        assert "wandb" == watcher.artifact["target_type"]
    finally:
        watcher.close()


@pytest.mark.parametrize(("log", "code"), [("train.log", 0), ("missing.log", 3), ("", 3)])
def test_down_from_the_start_the_log_is_read(
    wandb: wandb_server.Server, tmp_path: Path, log: str, code: int
) -> None:
    """When both are out of reach, that is said, with code 3 and no word against the training."""
    lines = [f"step {step}/100 loss {falling(step)}\n" for step in range(90)]
    (tmp_path / "train.log").write_text("".join(lines))
    wandb.stop()
    words = ["--log", str(tmp_path / log)] if log else []
    done = runwatch("watch", "--wandb", "team/proj/abc", *words, "--once", "--json", cwd=tmp_path)
    last = json.loads(done.stdout.splitlines()[-1])
    assert (code, []) == (done.returncode, last["findings"])
    if code:
        assert ("UNKNOWN", "WAIT") == (last["terminal_state"], last["judgement"])
        assert "state unknown" in done.stdout
    else:
        assert (89, "RUNNING") == (last["steps"]["last"], last["terminal_state"])
        assert "train.log instead" in done.stdout


def test_a_timer_checks_a_run_of_wandb(wandb: wandb_server.Server, tmp_path: Path) -> None:
    """Judged by its history; with an expired login by its log, and that is told."""
    wandb.runs["team/proj/abc"].log(0, 90, loss=falling)
    (tmp_path / "train.log").write_text("step 1 loss nan\n" * 2)
    words = ["check", "--wandb", "team/proj/abc", "--log", str(tmp_path / "train.log"), "--json"]
    done = runwatch(*words)
    assert (0, "CONTINUE") == (done.returncode, json.loads(done.stdout)["judgement"])
    wandb.key = "another"
    done = runwatch(*words, "--no-store")
    assert "wandb login" in done.stdout
    assert "train.log was read instead" in done.stdout


def test_a_run_of_mlflow_is_watched_to_its_end(tmp_path: Path) -> None:
    """A real server, a real client that logs, and a training that fails."""
    for name in ("mlflow", "flask", "sqlalchemy"):
        pytest.importorskip(name)
    server = mlflow_server.Server(tmp_path)
    server.start()
    watcher = None
    try:
        run = server.run(max_steps=100)
        run.log([("loss", falling(step), step) for step in range(40)])
        watcher = Watcher(
            "--mlflow", run.id, "--tracking-uri", server.uri, "--interval", "0.5",
            "--max-interval", "1", folder=tmp_path,
        )  # fmt: skip
        watcher.until(progress(39))
        run.log([("loss", falling(step), step) for step in range(40, 60)])
        watcher.until(progress(59))
        run.end("FAILED")
        assert 1 == watcher.end()
        last = watcher.events[-1]
        assert (60, "NO-GO", "FAILED") == (
            last["lines"], last["decision"], last["terminal_state"],
        )  # fmt: skip
    finally:
        if watcher is not None:
            watcher.close()
        server.stop()


@pytest.mark.parametrize("words", [["scan", "--json"], ["watch", "--once"]])
def test_the_password_of_an_address_is_not_told(words: list[str], tmp_path: Path) -> None:
    """Nobody listens there, and what the client says of it holds the whole address."""
    pytest.importorskip("mlflow")
    address = "http://me:SECRETPW@127.0.0.1:9/"
    env = {**os.environ, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
    done = runwatch(*words, "--mlflow", "abc", "--tracking-uri", address, cwd=tmp_path, env=env)
    assert 3 == done.returncode
    assert "127.0.0.1" in done.stdout + done.stderr
    assert "SECRETPW" not in done.stdout + done.stderr
    assert [] == [one for one in tmp_path.rglob("*.json") if "SECRETPW" in one.read_text()]


def test_a_finished_run_of_wandb_is_scanned_once(wandb: wandb_server.Server) -> None:
    """Judged by what the service says of its end, kept for SQL, and read on where it is scanned
    again; one that goes on may still become anything."""
    run = wandb.runs["team/proj/abc"]
    run.config = {"max_steps": 200}
    run.log(0, 100, loss=falling)
    done = runwatch("scan", "--wandb", "team/proj/abc", "--json")
    (told,) = json.loads(done.stdout)["runs"]
    assert (0, "RUNNING", 99) == (done.returncode, told["terminal_state"], told["steps"]["last"])
    run.log(100, 110, loss=float("nan"))
    run.state = "failed"
    wandb.asked.clear()
    done = runwatch("scan", "--wandb", "team/proj/abc", "--json")
    (told,) = json.loads(done.stdout)["runs"]
    (found,) = told["findings"]
    assert (1, "FAILED", "NO-GO", 110) == (
        done.returncode, told["terminal_state"], told["decision"], told["lines"],
    )  # fmt: skip
    assert ("nan_loss", 101) == (found["kind"], found["line"])
    assert '"loss":NaN' in found["evidence"][0]
    assert {100} == {first for first, _ in wandb.pages()}
    query = "SELECT count(*) AS points, max(step) AS step FROM points WHERE metric = 'loss'"
    done = runwatch("sql", query, "--format", "json")
    assert [{"points": 110, "step": 109}] == json.loads(done.stdout)


def test_a_run_of_wandb_is_parsed(wandb: wandb_server.Server, tmp_path: Path) -> None:
    """Its numbers as those of a log, also beside one; out of reach is code 3, and no rows."""
    wandb.runs["team/proj/abc"].log(0, 3, loss=falling)
    log = tmp_path / "train.log"
    log.write_text("step 7 loss 2.5\n")
    done = runwatch("parse", str(log), "--wandb", "team/proj/abc", "--to", "jsonl")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (0, [7, 0, 1, 2], [2.5, 3.0, 2.99, 2.98]) == (
        done.returncode,
        [row["step"] for row in found if row["metric"] == "loss"],
        [row["value"] for row in found if row["metric"] == "loss"],
    )
    assert found[-1]["stream"].startswith("--wandb team/proj/abc")
    wandb.stop()
    done = runwatch("parse", "--wandb", "team/proj/abc", "--summary")
    assert (3, "") == (done.returncode, done.stdout)
    assert "state unknown" in done.stderr


def test_a_finished_run_of_mlflow_is_scanned(tmp_path: Path) -> None:
    """A real server that keeps a run of a real client."""
    for name in ("mlflow", "flask", "sqlalchemy"):
        pytest.importorskip(name)
    server = mlflow_server.Server(tmp_path)
    server.start()
    try:
        run = server.run(max_steps=40)
        run.log([("loss", falling(step), step) for step in range(41)])
        run.end("FINISHED")
        done = runwatch("scan", "--mlflow", run.id, "--tracking-uri", server.uri, "--json")
        (told,) = json.loads(done.stdout)["runs"]
        assert (0, "SUCCEEDED", "GO", {"first": 0, "last": 40, "total": 40}) == (
            done.returncode, told["terminal_state"], told["decision"], told["steps"],
        )  # fmt: skip
    finally:
        server.stop()


@pytest.mark.parametrize("command", ["scan", "parse"])
def test_nothing_to_read_is_wrong_usage(command: str) -> None:
    """Neither a path nor a run of a service."""
    done = runwatch(command)
    assert (2, "") == (done.returncode, done.stdout)
    assert "nothing to read" in done.stderr


@pytest.mark.parametrize("library", ["wandb", "mlflow"])
def test_without_the_client_the_command_names_the_extra(library: str, tmp_path: Path) -> None:
    """A Python where it is not installed: what to install is said, and it is no outage."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / f"{library}.py").write_text(f"raise ImportError('no {library}')\n")
    path = os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", str(Path.cwd()))])
    words = ["--wandb", "a/b/c"] if library == "wandb" else ["--mlflow", "0", "--tracking-uri", "x"]
    done = runwatch("watch", *words, "--once", env={**os.environ, "PYTHONPATH": path})
    assert 2 == done.returncode
    assert f"pip install 'runwatch[{library}]'" in done.stderr


# How runs are named


def named(*words: str) -> list[str]:
    parser = argparse.ArgumentParser()
    add_services(parser, several=True)
    return [target.text for target in services(parser.parse_args(words))]


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without any settings around it."""
    for name in ("WANDB_ENTITY", "WANDB_PROJECT", "WANDB_CONFIG_DIR", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_full_name_and_the_address_of_a_page_name_a_run(nowhere: Path) -> None:
    """As copied from the browser."""
    assert ["--wandb a/b/c"] == named("--wandb", "a/b/c")
    for page in ("https://wandb.ai/a/b/runs/c", "https://my.own:8080/a/b/runs/c?nw=nwuser"):
        assert ["--wandb a/b/c"] == named("--wandb", page)


@pytest.mark.parametrize("option", ["--wandb", "--mlflow", "--vertex-training"])
@pytest.mark.parametrize("several", [False, True])
def test_an_empty_name_is_wrong(nowhere: Path, option: str, several: bool) -> None:
    """As of a variable of the shell that is not set: nothing else is read instead."""
    parser = argparse.ArgumentParser()
    add_services(parser, several=several)
    words = [option, "", *(["--project", "p"] if option == "--vertex-training" else [])]
    with pytest.raises(UsageError, match=r"^(an empty name|'') (names no|is no id)"):
        services(parser.parse_args(words))


def test_a_bare_id_takes_the_rest_from_where_it_is_said_first(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option, the environment, W&B's settings, then what a project notes for its tools."""
    with pytest.raises(UsageError, match="names no run"):
        named("--wandb", "c")
    notes = "# Project\n\n- **WANDB_ENTITY**: `noted`\n* wandb_project = things\n"
    (nowhere / "AGENTS.md").write_text("export WANDB_PROJECT=agents/of\n")
    assert ["--wandb agents/of/c"] == named("--wandb", "c")
    (nowhere / "CLAUDE.md").write_text(notes)
    assert ["--wandb noted/things/c"] == named("--wandb", "c")
    (nowhere / "wandb").mkdir()
    (nowhere / "wandb" / "settings").write_text("[default]\nentity = set\nproject = up\n")
    assert ["--wandb set/up/c"] == named("--wandb", "c")
    monkeypatch.setenv("WANDB_PROJECT", "env")
    assert ["--wandb set/env/c"] == named("--wandb", "c")
    assert ["--wandb x/y/c"] == named("--wandb", "c", "--wandb-project", "x/y")
    assert ["--wandb set/y/c"] == named("--wandb", "c", "--wandb-project", "y")


def test_a_run_of_mlflow_needs_the_address_of_its_server(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option or MLFLOW_TRACKING_URI; no server is guessed."""
    with pytest.raises(UsageError, match="address of its server"):
        named("--mlflow", "0123")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://h:5000")
    assert ["--mlflow 0123"] == named("--mlflow", "0123")
    with pytest.raises(UsageError, match="goes with --mlflow"):
        named("--wandb", "a/b/c", "--tracking-uri", "http://h:5000")
