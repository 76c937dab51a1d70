"""The process that writes a log, found, ended and started again: with real processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runwatch import repair
from runwatch.owner import Owner, descendants, trainings, writer_of
from runwatch.repair import Local
from runwatch.termination import end, outcome

WRITES = "import sys,time; print('step 1 loss 2', flush=True); sys.stdin.read()"

if not Path("/proc/self/fdinfo").exists():
    pytest.skip("this system has no /proc", allow_module_level=True)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the process writes."""
    return tmp_path / "train.log"


@pytest.fixture
def writer(log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A shell that has a log open, and the Python that it started."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'"$0" -c "{WRITES}"; true', sys.executable],
            stdin=subprocess.PIPE, stdout=out, stderr=out, cwd=log.parent,
            env={**os.environ, "SEEN": "a=b"},
        )  # fmt: skip
    assert process.stdin is not None
    while not log.read_bytes():
        pass
    yield process
    process.stdin.close()
    process.wait(30)


def test_the_writer_is_the_one_that_started_the_others(
    log: Path, writer: "subprocess.Popen[bytes]"
) -> None:
    """By its file, or by the folder of its files; with all that it takes to start it again."""
    for place in (log, log.parent):
        owner = writer_of([str(place)])
        assert owner is not None
        assert writer.pid == owner.pid
    assert owner is not None
    assert str(log.parent) == owner.process.folder
    assert ("/bin/sh", (str(log), str(log)), "a=b") == (
        owner.process.command[0], owner.outputs, owner.environment["SEEN"]
    )  # fmt: skip
    assert owner.look().alive
    assert writer_of([str(log.parent / "other.log")]) is None


def test_a_reader_is_no_writer(log: Path) -> None:
    """Neither is this very process."""
    log.write_text("step 1 loss 2\n")
    with log.open() as text:
        reader = subprocess.Popen(["/bin/sh", "-c", "read x; true"], stdin=text)
    assert writer_of([str(log)]) is None
    reader.wait(30)
    with log.open("a"):
        assert writer_of([str(log)]) is None


def test_all_that_a_process_started_ends_with_it(
    log: Path, writer: "subprocess.Popen[bytes]"
) -> None:
    """Nothing is left that has the log open."""
    owner = writer_of([str(log)])
    assert owner is not None
    owner.child = writer
    assert "ended" == outcome(owner.pid, end(owner, descendants(owner.pid)))
    assert writer_of([str(log)]) is None


def test_a_process_starts_again_as_it_was(log: Path, writer: "subprocess.Popen[bytes]") -> None:
    """The same command, in its folder, with its environment, appending to its log."""
    body = Local([str(log)])
    before = body.look()
    assert before is not None
    assert "not started: process" in body.start("")
    assert writer.stdin is not None
    writer.stdin.close()
    writer.wait(30)
    gone = body.look()
    assert gone is not None
    assert "gone" == gone.state
    import shlex

    assert body.start(shlex.join(before.command)).startswith("started as process")
    after = body.look()
    while after is not None and after.alive:
        after = body.look()
    assert after is not None
    assert 0 == after.exit_code
    assert "step 1 loss 2\n" * 2 == log.read_text()
    assert before.command == after.command


def test_an_output_that_goes_nowhere_is_told(tmp_path: Path) -> None:
    """Of several logs none is that of a process whose pipe is gone; a single one is."""
    logs = [tmp_path / name for name in ("one.log", "two.log")]
    for path in logs:
        path.touch()
    told = []
    for paths in (logs, logs[:1]):
        body = Local([str(path) for path in paths])
        told.append(body.start("true").partition(", ")[2])
        while (process := body.look()) is not None and process.alive:
            pass
    assert ["its output goes nowhere", ""] == told


def test_the_users_command_tells_what_came_of_it() -> None:
    """Done, or its code and last words."""
    assert (True, "done") == repair.run('test "$SAID" = a', {"SAID": "a"})
    failed = repair.run("echo no such thing >&2; exit 3")
    assert (False, "failed with code 3: no such thing") == failed


def test_trainings_are_offered_with_their_logs(tmp_path: Path) -> None:
    """A process with `train` in its name, and the file that its output goes to."""
    script = tmp_path / "train_it.py"
    script.write_text(WRITES)
    log = tmp_path / "run.log"
    with log.open("w") as out:
        process = subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=out)
    while not log.read_bytes():
        pass
    offered = {pid: (words[-1], place) for pid, words, place in trainings(("train",))}
    assert (str(script), str(log)) == offered[process.pid]
    assert process.stdin is not None
    process.stdin.close()
    process.wait(30)


def test_a_number_that_was_given_away_is_gone() -> None:
    """A process is known by its start, not by its number alone."""
    process = subprocess.Popen(["sleep", "60"])
    owner = Owner.of(process.pid)
    assert owner is not None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not owner.look().alive


def test_a_process_of_another_user_is_not_started_again_as_us(log: Path) -> None:
    """It is watched, and what it takes to start it is not known."""
    if os.geteuid():
        pytest.skip("only root can start one")
    with log.open("ab") as out:
        process = subprocess.Popen(["sleep", "60"], stdout=out, user=65534)
    try:
        owner = writer_of([str(log)])
        assert owner is not None
        assert (process.pid, ()) == (owner.pid, owner.process.command)
    finally:
        process.kill()
        process.wait()
