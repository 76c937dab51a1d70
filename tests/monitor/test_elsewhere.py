"""Processes of another host that are left alone, over a real SSH server."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runwatch.attendance import Attendance
from runwatch.elsewhere import FAR, Distant, Elsewhere
from runwatch.errors import RunwatchError
from runwatch.ingest.process import Process
from runwatch.ingest.process_remote import RemoteProcesses
from runwatch.ingest.ssh import Host
from runwatch.origin import origin_of
from runwatch.remedy import CANCEL, CLEAR, RESTART, Remedy
from runwatch.target import Target
from tests.ingest.server import Server

pytest.importorskip("asyncssh")
if not Path("/proc/self/ns/mnt").exists():
    pytest.skip("this system has no /proc", allow_module_level=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("sshd"))
    made.start()
    yield made
    made.kill()


@pytest.fixture
def sleeper() -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Starts processes that only sleep."""
    made: list[subprocess.Popen[bytes]] = []

    def start(*before: str, **wishes: Any) -> "subprocess.Popen[bytes]":
        made.append(subprocess.Popen([*before, "sleep", "600"], **wishes))
        return made[-1]

    yield start
    for one in made:
        one.kill()
        one.wait()


def asked(server: Server, ask: Callable[[Host], Awaitable[Any]]) -> Any:
    """The answer of a host that is left again."""

    async def run() -> Any:
        host = server.host()
        try:
            return await ask(host)
        finally:
            await host.close()

    return asyncio.run(run())


def barred(server: Server, pid: int) -> str:
    async def ask(host: Host) -> str:
        found = await RemoteProcesses(host).find(pid=pid)
        return (await origin_of(host, found)).barred

    told: str = asked(server, ask)
    return told


def test_a_process_of_ones_own_may_be_started_again(
    server: Server, sleeper: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    """On a host that tells all of it."""
    assert "" == barred(server, sleeper().pid)


def test_a_job_of_slurm_is_left_to_slurm(
    server: Server, sleeper: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    """Outside its allocation it would take what is not its own."""
    environment = {**os.environ, "SLURM_JOB_ID": "4711"}
    assert "Slurm job 4711 runs it" == barred(server, sleeper(env=environment).pid)


def test_a_process_of_another_user_is_left_alone(
    server: Server, sleeper: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    """It would run as the user who watches."""
    if os.geteuid():
        pytest.skip("only root can start one")
    assert "its process belongs to another user" == barred(server, sleeper(user=65534).pid)


def test_a_process_in_a_container_is_left_alone(
    server: Server, sleeper: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    """Its files and its libraries are not those outside."""
    unshare = shutil.which("unshare")
    words = [unshare or "unshare", "--mount"]
    if unshare is None or subprocess.run([*words, "true"], capture_output=True).returncode:
        pytest.skip("no namespace can be made here")
    process = sleeper(*words)
    while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\n":
        assert process.poll() is None
    assert "it runs in a container there" == barred(server, process.pid)


def test_a_number_that_was_given_away_is_not_ended(
    server: Server, sleeper: Callable[..., "subprocess.Popen[bytes]"]
) -> None:
    """What has started since is another process, whatever its number."""
    process = sleeper()

    async def end(host: Host) -> str:
        distant = Distant(touch=True)
        distant._host, distant._processes = host, RemoteProcesses(host)
        found = await distant._processes.find(pid=process.pid)
        distant.seen = replace(found, started="1")
        outcome = await asyncio.ensure_future(distant.carry_out(Remedy(CANCEL, "why")))
        assert process.poll() is None
        distant.seen = found
        await asyncio.ensure_future(distant.carry_out(Remedy(CANCEL, "why")))
        return outcome

    assert "ended" == asked(server, end)  # as far as the one that was meant goes
    assert -15 == process.wait(30)


def test_a_host_without_a_posix_shell_is_told_of(tmp_path: Path) -> None:
    """Whatever it says to what it is asked, it is an error of ours."""
    server = Server(tmp_path)
    with (tmp_path / "sshd_config").open("a") as settings:
        settings.write("ForceCommand cat\n")  # which says all that it is asked
    server.start()

    async def ask(host: Host) -> None:
        processes = RemoteProcesses(host)
        distant = Distant(touch=True)
        distant._host, distant._processes, distant.seen = host, processes, Process(1)
        for question in (
            processes.find(pid=1), processes.writer(["/train.log"]), origin_of(host, Process(1)),
            asyncio.ensure_future(distant.carry_out(Remedy(CANCEL, "why"))),
        ):  # fmt: skip
            with pytest.raises(RunwatchError, match="answers strangely"):
                await question

    asked(server, ask)
    server.kill()


def test_what_cannot_be_touched_is_told_so() -> None:
    """A job of a scheduler, a run at a service; the user's own command runs here all the same."""
    job = Elsewhere()
    assert "not done: it runs elsewhere" == job.carry_out(Remedy(RESTART, "why")).result(60)
    assert "done" == job.carry_out(Remedy(CLEAR, "why", "true")).result(60)


@pytest.mark.parametrize(
    ("target", "looked"),
    [
        (Target.of_slurm("7"), True), (Target.of_wandb("a/b/c"), True),
        (Target.of_mlflow("0123"), True), (Target.parse("gpu-box:/train.log"), False),
        (Target.of_pid(7, "gpu-box"), False), (Target.parse("-"), False),
    ], ids=str,
)  # fmt: skip
def test_nobody_waits_for_a_process_that_is_not_looked_for(target: Target, looked: bool) -> None:
    """The first report of a job or of a service comes when it has been read; whoever writes into
    our pipe works on the GPUs of this machine."""
    assert looked == Attendance(target).looked


def test_a_host_that_does_not_answer_is_not_asked_for_its_processes(tmp_path: Path) -> None:
    """Who reads the log tries to reach it again; nobody else knocks meanwhile."""
    server = Server(tmp_path)
    server.start()

    class Source:
        """A log that is read through a host."""

        host = server.host()
        paths = ("/var/log/train.log",)

    async def attend() -> list[float]:
        distant = Distant(touch=False)
        pauses = [await distant.attend(Source)]
        server.kill()
        await Source.host.rest("the connection was closed")
        pauses += [await distant.attend(Source), await distant.attend(Source)]
        await Source.host.close()
        assert distant.looked
        return pauses

    assert [4.0, FAR, FAR] == asyncio.run(attend())
