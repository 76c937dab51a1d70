"""Acting on a stop, with real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runwatch.errors import UsageError
from runwatch.owner import Owner
from runwatch.stopping import act, check_order, end_session
from runwatch.target import Target
from tests.ingest.server import at_home

PATIENCE = 30.0
# Says that it is ready, then waits; a second process of its group, a third in a session of its own.
FAMILY = """
import os, signal, subprocess, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
one, two = subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)
print("step 1 loss 2.0", one.pid, two.pid, flush=True)
time.sleep(600)
"""
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the family with its log; whatever is left of it is gone afterwards."""
    made = []

    def starting(*words: str, session: bool = True) -> "subprocess.Popen[bytes]":
        with (tmp_path / "train.log").open("wb") as out:
            child = subprocess.Popen(
                [sys.executable, "-c", FAMILY, *words], stdout=out, start_new_session=session
            )
        made.append(child)
        family(tmp_path / "train.log")
        return child

    yield starting
    for child in made:
        for pid in (child.pid, *family(tmp_path / "train.log")):
            if lives(pid):
                os.kill(pid, signal.SIGKILL)
        child.wait()


def family(log: Path) -> list[int]:
    """The two others, once they are there."""
    until(lambda: log.read_bytes().endswith(b"\n"))
    return [int(word) for word in log.read_text().split()[-2:]]


def until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_the_whole_session_is_ended(start: Start, tmp_path: Path) -> None:
    """The writer of the log, its group, and what it started in another session."""
    child = start()
    others = family(tmp_path / "train.log")
    done, told = act("kill", Target.parse(str(tmp_path / "train.log")), {})
    assert done
    assert told.startswith(f"ended process {child.pid}")
    assert [False] * 3 == [lives(pid) for pid in (child.pid, *others)]


@pytest.mark.parametrize("named", ["path", "folder", "pid"])
def test_the_session_on_another_host_is_ended(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Over a real SSH server, found by what it writes or by its id; a host that does not answer is
    told, and nothing is ended."""
    pytest.importorskip("asyncssh")
    child = start()
    others = family(tmp_path / "train.log")
    place = tmp_path if named == "folder" else tmp_path / "train.log"
    target = Target.parse(f"gpu-box:{place}")
    target = Target.of_pid(child.pid, "gpu-box") if named == "pid" else target
    with at_home(tmp_path, monkeypatch):
        done, told = act("kill", target, {})
        assert (True, f"ended process {child.pid} ") == (done, told.partition("(")[0]), told
        assert [False] * 3 == [lives(pid) for pid in (child.pid, *others)]
    done, told = act("kill", target, {})
    assert (False, "nothing was ended") == (done, told.partition(":")[0])


def test_who_does_not_listen_is_made_to(start: Start) -> None:
    """SIGTERM first, SIGKILL after the time for it."""
    child = start("deaf")
    owner = Owner.of(child.pid)
    assert owner is not None
    assert end_session(owner, grace=0.3)[0]
    assert child.wait() == -signal.SIGKILL


def test_our_own_group_is_left_alone(start: Start, tmp_path: Path) -> None:
    """A training started from the same script as we were: it is ended, and we are not."""
    child = start(session=False)
    assert os.getpgid(child.pid) == os.getpgrp()
    done, told = act("kill", Target.of_pid(child.pid), {})
    assert (done, told.split(" (")[0]) == (True, f"ended process {child.pid}")
    assert not lives(child.pid)


def test_a_group_is_ended_through_the_pipe_that_writes_its_log(tmp_path: Path) -> None:
    """`train | tee log`: the log is written by tee, and the training is in its group."""
    log = tmp_path / "train.log"
    script = f"{sys.executable} -c 'import time; print(1, flush=True); time.sleep(600)' | tee {log}"
    shell = subprocess.Popen(
        ["sh", "-c", script], start_new_session=True, stdout=subprocess.DEVNULL
    )
    until(lambda: log.exists() and log.read_bytes() == b"1\n")
    assert act("kill", Target.parse(str(log)), {})[0]
    assert shell.wait(PATIENCE) != 0


def test_a_lonely_pipe_is_not_the_training(tmp_path: Path) -> None:
    """Ending `tee` would end nothing but the log."""
    log = tmp_path / "train.log"
    tee = subprocess.Popen(
        ["tee", str(log)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    )
    assert tee.stdin is not None
    until(log.exists)
    try:
        done, told = act("kill", Target.parse(str(log)), {})
        assert (done, "only tee writes the log" in told) == (False, True)
        assert tee.poll() is None
    finally:
        tee.stdin.close()
        tee.wait()


def test_a_log_that_nobody_writes(tmp_path: Path) -> None:
    """Nothing is ended, and that is said."""
    log = tmp_path / "train.log"
    log.write_text("step 1 loss 2.0\n")
    assert act("kill", Target.parse(str(log)), {}) == (
        False,
        "nothing was ended: no process is known to write the log",
    )


def test_a_command_is_the_users_own_words(tmp_path: Path) -> None:
    """What it is told stands in its environment; a name that looks like a command runs nothing."""
    evil = f"x; touch {tmp_path}/evil #"
    out = tmp_path / "out"
    told = act(f'printf "%s" "$RUNWATCH_RUN" > {out}', Target.parse("x"), {"RUNWATCH_RUN": evil})
    assert (told, out.read_text()) == ((True, "the command was run"), evil)
    assert not (tmp_path / "evil").exists()


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    """With its last line."""
    told = act("echo first; echo no such job >&2; exit 3", Target.parse("x"), {})
    assert told == (False, "the command failed with code 3: no such job")


@pytest.mark.parametrize("target", [Target.of_slurm("7"), Target.parse("-")], ids=str)
def test_what_has_no_process_cannot_be_killed(target: Target) -> None:
    """Said before anything is read."""
    with pytest.raises(UsageError, match="no process is known"):
        check_order("kill", target)
    check_order("scancel 7", target)
