"""The session of a training on another host, ended over SSH because somebody asked for it."""

from runwatch.ingest.process import Process
from runwatch.ingest.process_remote import RemoteProcesses
from runwatch.ingest.ssh import Host
from runwatch.ingest.ssh_words import finding
from runwatch.target import Kind, Target
from runwatch.termination import end_there, outcome

REMOTE = (Kind.SSH, Kind.PID, Kind.PROC)


async def end_session(target: Target) -> tuple[bool, str]:
    """End the process group of the process behind a target, and all that it started: asked first,
    then made to. Whether it is gone, and what was done in words. Raises UnreachableError, and
    InputError where there is no such process."""
    host = Host.of(target)
    try:
        return await _ended(target, host)
    finally:
        await host.close()


async def _ended(target: Target, host: Host) -> tuple[bool, str]:
    processes = RemoteProcesses(host)
    process = await _process(target, host, processes)
    if process is None:
        return False, "nothing was ended: no process is known to write the log"
    group = await _group(host, process.pid)
    if not process.command and set(group) <= {process.pid}:
        return False, f"nothing was ended: only {process.name} writes the log, for others"
    family = list(dict.fromkeys([*await processes.family(process.pid), *group]))
    _, left = await end_there(host, processes, process, family)
    who = f"process {process.pid} ({process.name}) on {host}"
    if left:
        return False, f"{who}: {outcome(process.pid, left)}"
    return True, f"ended {who} and its group of {len(family)}"


async def _process(target: Target, host: Host, processes: RemoteProcesses) -> Process | None:
    if target.kind is Kind.PID:
        return await processes.find(pid=int(target.path))
    if target.kind is Kind.PROC:
        return await processes.find(name=target.path)
    path = target.path.removeprefix("~/")  # a shell begins in the home
    _, *names = (await host.run(finding("." if path == "~" else path))).split(b"\0")
    return await processes.writer(
        [name.decode("utf-8", "surrogateescape") for name in names if name]
    )


async def _group(host: Host, pid: int) -> list[int]:
    """The members of a process's group, none of the first of the machine or where ps knows none."""
    answer = await host.run("ps -A -o pid= -o pgid=")
    rows = [line.split() for line in answer.decode("ascii", "replace").split("\n")]
    groups = {int(row[0]): int(row[1]) for row in rows if len(row) == 2 and "".join(row).isdigit()}
    own = groups.get(pid, 0)
    return [one for one, group in groups.items() if group == own] if own > 1 else []
