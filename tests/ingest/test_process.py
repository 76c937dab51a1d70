"""Processes, looked at while they live, hang and die: real ones, started here."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from runwatch.errors import InputError, UsageError
from runwatch.ingest.following import open_following
from runwatch.ingest.process import Opened, Process, Processes, Row, logs_of, named, stat_of
from runwatch.ingest.process_follow import ProcessLogs
from runwatch.ingest.process_local import Local, Psutil
from runwatch.ingest.process_remote import RemoteProcesses
from runwatch.target import Kind, Target
from tests.ingest.following import Reader

TRAINER = """
import os, subprocess, sys, time
log = open(sys.argv[1], "a")
os.dup2(log.fileno(), 1)
os.dup2(log.fileno(), 2)
ranks = [
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
        env={**os.environ, "LOCAL_RANK": str(rank)})
    for rank in range(int(sys.argv[2]))
]
print("step 1", flush=True)
try:
    sys.stdin.read()
finally:
    for rank in ranks:
        rank.kill()
        rank.wait()
"""


Machine = Callable[[], AbstractAsyncContextManager[Processes]]


@pytest.fixture(params=["proc", "psutil", "ssh"])
def machine(request: pytest.FixtureRequest) -> Machine:
    """The ways to ask for processes: all must say the same."""
    if request.param == "psutil":
        pytest.importorskip("psutil", reason="psutil is needed only where there is no /proc")

    @asynccontextmanager
    async def opened() -> AsyncIterator[Processes]:
        if request.param == "ssh":
            host = request.getfixturevalue("server").host()
            yield RemoteProcesses(host)
            await host.close()
        else:
            yield Psutil() if request.param == "psutil" else Local()

    return opened


class Trainer:
    """A process with two ranks below it, whose output goes to a log."""

    def __init__(self, folder: Path) -> None:
        self.script = folder / "train me.py"
        self.script.write_text(TRAINER)
        self.log = folder / "out put.txt"
        command = [sys.executable, str(self.script), str(self.log), "2"]
        self.command = tuple(command)
        self.running = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder)
        while not self.log.exists() or not self.log.stat().st_size:
            assert self.running.poll() is None

    def end(self) -> None:
        """Let it end by itself."""
        assert self.running.stdin is not None
        self.running.stdin.close()
        self.running.wait()


@pytest.fixture
def trainer(tmp_path: Path) -> Iterator[Trainer]:
    trainer = Trainer(tmp_path)
    yield trainer
    trainer.end()


def test_a_process_is_known_by_its_id_and_its_name(machine: Machine, trainer: Trainer) -> None:
    """Its command and folder as they are, its children, and the ranks among them."""

    async def ask() -> None:
        async with machine() as processes:
            found = await processes.find(pid=trainer.running.pid)
            assert trainer.command == found.command
            assert str(trainer.script.parent) == found.folder
            assert (2, 2) == (found.children, found.workers)
            assert found.alive
            assert found.state in ("sleeping", "running")
            assert found.started
            by_name = await processes.find(name=str(trainer.script))
            assert found.pid == by_name.pid
            assert [str(trainer.log)] == await processes.logs(found)
            rank = await processes.find(pid=_children(trainer.running.pid)[0])
            assert (0, 0) == (rank.children, rank.workers)

    asyncio.run(ask())


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_ends_of_a_process_are_told_apart(machine: Machine, trainer: Trainer) -> None:
    """Stopped, killed and not yet waited for, gone; what it was started with is kept."""

    async def ask() -> None:
        async with machine() as processes:
            found = await processes.find(pid=trainer.running.pid)
            os.kill(found.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, found.pid, os.WSTOPPED | os.WNOWAIT)
            assert (await processes.look(found)).state == "stopped"
            os.kill(found.pid, signal.SIGKILL)
            os.waitid(os.P_PID, found.pid, os.WEXITED | os.WNOWAIT)
            dead = await processes.look(found)
            assert ("zombie", -9, False) == (dead.state, dead.exit_code, dead.alive)
            assert (found.command, found.folder) == (dead.command, dead.folder)
            for child in ranks:
                os.kill(child, signal.SIGKILL)
            trainer.running.wait()
            gone = await processes.look(found)
            assert ("gone", None, found.command) == (gone.state, gone.exit_code, gone.command)

    ranks = _children(trainer.running.pid)
    asyncio.run(ask())


def test_the_exit_code_of_a_child_of_ours_is_known(tmp_path: Path) -> None:
    """It is looked at, not taken: who started the process still waits for it."""
    running = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])
    os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
    dead = Local().now(Process(running.pid))
    assert ("zombie", 7) == (dead.state, dead.exit_code)
    assert running.wait() == 7
    assert Local().now(Process(running.pid)).state == "gone"


def test_an_id_that_is_used_again_is_another_process(trainer: Trainer) -> None:
    """The start tells them apart."""
    found = Local().snapshot(trainer.running.pid)
    other = Process(found.pid, started="1")
    assert Local().now(other).state == "gone"
    assert Local().now(found).alive


def test_the_file_behind_a_pipe_is_found(tmp_path: Path) -> None:
    """`train.py 2>&1 | tee train.log`: the log is what tee writes."""
    script = f"{sys.executable} -c 'import sys; print(1, flush=True); sys.stdin.read()' 2>&1"
    with subprocess.Popen(
        ["sh", "-c", f"echo $$; exec 3<&0; {script} <&3 | tee '{tmp_path}/a b.log'"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as shell:  # fmt: skip
        assert shell.stdout is not None
        shell.stdout.readline()
        assert shell.stdout.readline() == b"1\n"
        python = next(
            pid for pid in _children(shell.pid)
            if b"sys.stdin" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )  # fmt: skip
        assert [f"{tmp_path}/a b.log"] == Local().log_files(python)
        shell.kill()
        os.kill(python, signal.SIGKILL)


@pytest.mark.parametrize("where", ["here", "there"])
def test_the_log_of_a_process_is_followed(
    where: str, trainer: Trainer, request: pytest.FixtureRequest
) -> None:
    """Its name leads to it, its open files to the log; here or over the one connection."""

    async def follow() -> None:
        name, account = str(trainer.script), ""
        source = open_following(Target.of_proc(name, account))
        if where == "there":
            host = request.getfixturevalue("server").host()
            source = ProcessLogs(Target.of_proc(name, "gpu-box"), RemoteProcesses(host), host)
        assert isinstance(source, ProcessLogs)
        async with Reader(source) as reader:
            await reader.text("out put.txt", b"step 1\n")
            assert source.process is not None
            assert trainer.running.pid == source.process.pid
            with trainer.log.open("ab") as file:
                file.write(b"step 2\n")
            await reader.text("out put.txt", b"step 1\nstep 2\n")

    asyncio.run(follow())


def test_what_is_not_there_is_an_error(machine: Machine) -> None:
    """No such id, no such name."""

    async def ask() -> None:
        async with machine() as processes:
            with pytest.raises(InputError, match="no process has the id"):
                await processes.find(pid=2**22 + 7)
            with pytest.raises(InputError, match="no process has no-such-program"):
                await processes.find(name="no-such-program-runs-here")

    asyncio.run(ask())


def _table(*rows: tuple[int, int, str]) -> dict[int, Row]:
    return {pid: Row(pid, parent, "S", command) for pid, parent, command in rows}


def test_a_log_of_its_own_is_followed_where_the_output_holds_nothing(
    machine: Machine, tmp_path: Path
) -> None:
    """Logging to a file, and standard output led to another that stays empty."""
    log = tmp_path / "a run.log"
    code = "import sys, time; f = open(sys.argv[1], 'a', 1); f.write('step 1\\n'); time.sleep(60)"
    with (tmp_path / "out.log").open("w") as out:
        process = subprocess.Popen([sys.executable, "-c", code, str(log)], stdout=out, stderr=out)
    try:
        while not log.exists() or not log.stat().st_size:
            assert process.poll() is None

        async def ask() -> None:
            async with machine() as processes:
                found = await processes.find(pid=process.pid)
                assert [str(log)] == await processes.logs(found)

        asyncio.run(ask())
    finally:
        process.kill()
        process.wait()


def test_a_name_finds_what_started_the_others() -> None:
    """A word counts before a part of one; ourselves and our shell have the name too."""
    rows = _table(
        (1, 0, "init"),
        (10, 1, "bash -c runwatch watch --proc train.py"),
        (11, 10, "python runwatch watch --proc train.py"),
        (20, 1, "python /runs/torchrun --nproc 2 /runs/train.py"),
        (21, 20, "python -u /runs/train.py --rank 0"),
        (22, 20, "python -u /runs/train.py --rank 1"),
        (30, 1, "python pretrain.py"),
    )
    assert named(rows, "train.py", own=11) == 20
    assert named(rows, "torchrun", own=11) == 20
    assert named(rows, "pretrain", own=11) == 30
    rows |= _table((40, 1, "python other/train.py"))
    with pytest.raises(InputError, match="2 processes") as raised:
        named(rows, "train.py", own=11)
    assert "20 python /runs/torchrun" in raised.value.hint


def test_the_best_files_come_first() -> None:
    """Standard output, else that of the ranks, else whatever is named like a log."""
    out, error = Opened(1, "/r/out.txt", writes=True), Opened(2, "/r/err.txt", writes=True)
    terminal = Opened(1, "/dev/pts/0", writes=True)
    own = Opened(7, "/r/train.log", writes=True)
    read = Opened(8, "/r/data.txt", reads=True)
    gone = Opened(9, "/r/old.log (deleted)", writes=True)
    assert ["/r/out.txt", "/r/err.txt"] == logs_of({5: [own, error, out]}, 5, [])
    assert ["/r/out.txt"] == logs_of({5: [terminal, own], 6: [out]}, 5, [6])
    assert ["/r/train.log"] == logs_of({5: [terminal, read, gone], 6: [own]}, 5, [6])
    assert [] == logs_of({5: [terminal]}, 5, [])
    quiet = ["/r/out.txt", "/r/err.txt"]
    assert ["/r/train.log"] == logs_of({5: [own, error, out]}, 5, [], quiet)
    assert quiet == logs_of({5: [own, error, out]}, 5, [], [*quiet, "/r/train.log"])


def test_the_name_of_a_program_may_hold_anything() -> None:
    """Blanks and brackets in /proc/N/stat; the state D is the kernel's."""
    stat = "7 (a) b (c) D 3 " + " ".join(["0"] * 48)
    assert ("a) b (c", "D", 3, None) == stat_of(stat)


def test_processes_of_words(tmp_path: Path) -> None:
    """What is no id and no name is wrong usage."""
    assert Target(Kind.PID, "--pid 7", "7") == Target.of_pid(7)
    for make in (lambda: Target.of_pid(0), lambda: Target.of_proc(" ")):
        with pytest.raises(UsageError):
            make()
