"""What `runwatch watch` does about trainings of another host, over a real SSH server."""

import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.server import Server
from tests.monitor.live import Training, Watcher, finding, progress, state, steps

pytest.importorskip("asyncssh")
if not Path("/proc/self/fdinfo").exists():
    pytest.skip("this system has no /proc", allow_module_level=True)
Pair = Callable[..., tuple[Training, Watcher]]


@pytest.fixture
def there(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """A training in a folder that a shell would stumble over, with a variable of the same kind,
    and a watcher that reaches it through the server."""
    folder = tmp_path / "it's a $HOME; echo"
    folder.mkdir()
    monkeypatch.setenv("SEEN", "a 'b' $c\nd")
    made: list[Any] = []

    def pair(*attempts: Any, words: tuple[str, ...] = ("--fix-remote",)) -> Any:
        training = Training(folder, *attempts)
        training.start()
        assert training.process is not None
        made.append(training)
        watcher = Watcher(
            f"gpu-box:{training.log}", "--interval", "0.3", "--max-interval", "1", *words,
            folder=tmp_path / "out", reap=training.process.poll,
        )  # fmt: skip
        made.append(watcher)
        return training, watcher

    yield pair
    for one in reversed(made):
        one.close() if isinstance(one, Watcher) else one.stop()
    for training in made[::2]:
        subprocess.run(["pkill", "-KILL", "-f", str(training.plan)], check=False)


def proc_status(pid: int) -> str:
    """What the system says of a process; as of a zombie where there is none."""
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "State:\tZ"


def test_a_crash_there_is_restarted_as_it_was(there: Pair, tmp_path: Path) -> None:
    """Said before it is done; the same command, folder, environment and log, and it hears Ctrl-C
    as before."""
    cue = tmp_path / "cue"
    facts = {"tell": "all"}
    training, watcher = there(
        [*steps(1, 30), facts, {"wait": str(cue)}, {"raise": "lost a worker"}],
        [facts, *steps(20, 100), "Training finished"],
    )
    began = watcher.until(state("watching"))
    assert training.process is not None
    assert training.process.pid == began["process"]["pid"]
    watcher.until(progress(30))
    cue.touch()
    acting = watcher.until(state("acting"))
    assert "restart" == acting["action"]
    assert acting["command"].endswith(shlex.quote(str(training.plan)))
    assert watcher.until(state("acted"))["outcome"].startswith("started as process")
    assert watcher.end() == 0
    assert (training.starts, watcher.artifact["decision"]) == (2, "GO")
    told = [line for line in training.log.read_text().splitlines() if line.startswith("told ")]
    assert 2 == len(told)
    assert told[0] == told[1]
    (action,) = watcher.artifact["actions"]
    assert "went on past step 30" in action["outcome"]


def test_three_tries_there_are_the_end(there: Pair, tmp_path: Path) -> None:
    """The first run and three more; then a person is asked, with the command."""
    cue = tmp_path / "cue"
    training, watcher = there([*steps(1, 30), {"wait": str(cue)}, {"raise": "always the same"}])
    watcher.until(progress(30))
    cue.touch()
    assert watcher.end() == 1
    assert training.starts == 4
    assert "3 tries brought no progress" in watcher.artifact["stopped_because"]
    assert 3 == len(watcher.artifact["actions"])


def test_nothing_is_done_there_unasked(there: Pair, tmp_path: Path) -> None:
    """The command is proposed; what allows it is said."""
    cue = tmp_path / "cue"
    training, watcher = there(
        [*steps(1, 30), {"wait": str(cue)}, {"raise": "lost a worker"}], words=()
    )
    watcher.until(progress(30))
    cue.touch()
    asking = watcher.until(state("needs approval"))
    assert asking["command"].endswith(shlex.quote(str(training.plan)))
    assert "`--fix-remote` allows it" in asking["why"]
    assert watcher.end() == 1
    assert (1, []) == (training.starts, watcher.artifact["actions"])


def test_a_command_of_the_user_restarts_it_there(there: Pair, tmp_path: Path) -> None:
    """In its folder, with its environment, appending to its log."""
    cue = tmp_path / "cue"
    command = 'echo "from $PWD: $SEEN"; echo "Training finished"'
    training, watcher = there(
        [*steps(1, 30), {"wait": str(cue)}, {"raise": "lost a worker"}],
        words=("--fix-remote", "--restart-cmd", command),
    )  # fmt: skip
    watcher.until(progress(30))
    cue.touch()
    assert command == watcher.until(state("acting"))["command"].partition("&& ")[2]
    assert watcher.end() == 0
    assert f"from {training.log.parent}: a 'b' $c\nd\n" in training.log.read_text()


def test_a_zombie_there_is_ended_and_started_again(there: Pair, tmp_path: Path) -> None:
    """Its parent never asks for it, so nobody will know how it ended."""
    cue = tmp_path / "cue"
    training, watcher = there(
        [*steps(1, 30), {"wait": str(cue)}, {"exit": 3}], [*steps(20, 100), "Training finished"]
    )
    watcher._reap = None  # nobody waits for it
    watcher.until(progress(30))
    cue.touch()
    assert "kill-restart" == watcher.until(state("acting"))["action"]
    outcome = watcher.until(state("acted"))["outcome"]
    assert outcome.startswith("ended; started as process"), outcome
    assert watcher.end() == 0
    assert training.starts == 2


def test_a_run_that_has_lost_its_numbers_is_ended_there_where_that_is_allowed(
    there: Pair, tmp_path: Path
) -> None:
    """`--yes cancel`: with all that it started, and only then the last word."""
    lines = [*steps(1, 40), *(f"step {i}/100 | loss nan | lr 1e-4" for i in range(41, 61))]
    training, watcher = there(
        [{"spawn": str(tmp_path / "never")}, *lines, {"wait": str(tmp_path / "never")}],
        words=("--fix-remote", "--yes", "cancel"),
    )
    watcher.until(finding("nan_loss"))
    assert "ended" == watcher.until(state("acted"))["outcome"]
    assert watcher.end() == 1
    assert training.process is not None
    assert -signal.SIGTERM == training.process.wait(30)
    child = int(training.log.read_text().split()[1])
    assert "State:\tZ" in proc_status(child)


def test_somebody_else_may_have_started_it_again(there: Pair, tmp_path: Path) -> None:
    """Then nothing is started, and the new process is the one that is watched."""
    cue, go = tmp_path / "cue", tmp_path / "go"
    training, watcher = there(
        [*steps(1, 30), {"wait": str(cue)}, {"raise": "lost a worker"}],
        [*steps(20, 60), {"wait": str(go)}, *steps(61, 100), "Training finished"],
    )
    watcher.until(progress(30))
    first = training.process
    assert first is not None
    cue.touch()
    first.wait(30)
    training.start()
    watcher.until(progress(60))
    go.touch()
    assert watcher.end() == 0
    assert training.starts == 2
