"""Processes that are ended have the time to save what they must, whatever becomes of who started
them: here, by the script that runs on a host, and by the same where there is no /proc."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runwatch.owner import Owner, descendants
from runwatch.termination import end, ending, outcome, survivors

if not Path("/proc/self/stat").exists():
    pytest.skip("this system has no /proc", allow_module_level=True)
# It needs its time to save, after who started it is gone; or it hears nothing at all.
CHILD = """
import os, signal, sys, time
def save(number, frame):
    time.sleep(2.5)
    open("saved", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN if "deaf" in sys.argv else save)
print(os.getpid(), flush=True)
while True:
    time.sleep(600)
"""
Ending = Callable[[Owner, float], list[int]]


def here(owner: Owner, grace: float) -> list[int]:
    return end(owner, descendants(owner.pid), grace)


def by_script(owner: Owner, grace: float, started: str | None = None) -> list[int]:
    known = owner.process if started is None else replace(owner.process, started=started)
    family = [owner.pid, *descendants(owner.pid)]
    script = ending(known, family, grace)
    return survivors(subprocess.run(["sh"], input=script.encode(), capture_output=True).stdout)


def without_proc(owner: Owner, grace: float) -> list[int]:
    return by_script(owner, grace, "")


WAYS = pytest.mark.parametrize("way", [here, by_script, without_proc])


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., tuple[Owner, int]]]:
    """Starts a shell that starts the child; both, once the child listens."""
    made: list[subprocess.Popen[bytes]] = []
    children: list[int] = []

    def starting(*words: str) -> tuple[Owner, int]:
        shell = subprocess.Popen(
            ["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", CHILD, *words],
            stdout=subprocess.PIPE, cwd=tmp_path, start_new_session=True,
        )  # fmt: skip
        made.append(shell)
        assert shell.stdout is not None
        children.append(int(shell.stdout.readline()))
        owner = Owner.of(shell.pid)
        assert owner is not None
        return owner, children[-1]

    yield starting
    for one in made:
        if one.stdout is not None:
            one.stdout.close()
        one.wait(30)
    for pid in filter(lives, children):
        os.kill(pid, signal.SIGKILL)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@WAYS
def test_a_child_saves_its_checkpoint_after_its_shell_is_gone(
    start: Callable[..., tuple[Owner, int]], tmp_path: Path, way: Ending
) -> None:
    """The time that was promised is everybody's, not that of the first alone."""
    owner, child = start()
    assert [] == way(owner, 10.0)
    assert (True, False) == ((tmp_path / "saved").exists(), lives(child))


@WAYS
def test_who_hears_nothing_is_made_to(
    start: Callable[..., tuple[Owner, int]], tmp_path: Path, way: Ending
) -> None:
    """Though who started it is long gone."""
    owner, child = start("deaf")
    assert [] == way(owner, 1.0)
    assert (False, False) == ((tmp_path / "saved").exists(), lives(child))


def test_a_number_that_was_given_away_ends_nothing(
    start: Callable[..., tuple[Owner, int]],
) -> None:
    """Neither it nor what it started."""
    owner, child = start("deaf")
    assert [] == by_script(owner, 1.0, "1")
    assert owner.look().alive
    assert lives(child)
    here(owner, 0.1)


def test_who_lives_on_is_told() -> None:
    """The process itself, or what it started."""
    assert [7, 8] == survivors(b"left\n7\n8\n")
    assert [] == survivors(b"rbash: command not found\n")
    assert "it could not be ended" == outcome(7, [7, 8])
    assert "ended, but what it started lives on: 8" == outcome(7, [8])
    assert "ended" == outcome(7, [])
