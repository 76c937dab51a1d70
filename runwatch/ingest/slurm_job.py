"""A job of Slurm: its state and where it prints to, as scontrol, squeue and sacct say."""

import re
from collections.abc import Mapping
from dataclasses import replace
from shlex import quote

from runwatch.errors import InputError
from runwatch.ingest.process_shell import Run, here
from runwatch.judgement import Ending, TerminalState
from runwatch.pattern import compiled
from runwatch.slotted import frozen

_FIELD = compiled(r"(?:^|\s)(\w[\w:/-]*)=")
_WHOLE_LINE = ("StdOut", "StdErr", "StdIn", "WorkDir", "Command", "JobName", "Comment")
_OVER = frozenset((
    "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL",
    "DEADLINE", "PREEMPTED", "REVOKED", "SPECIAL_EXIT",
))  # fmt: skip
_STATES = {
    "CANCELLED": TerminalState.CANCELLED,
    "PREEMPTED": TerminalState.CANCELLED,
    "TIMEOUT": TerminalState.TIMEOUT,
    "DEADLINE": TerminalState.TIMEOUT,
}
_PLACE = compiled(r"%(\d*)([%AaJjNnsTtuxb])")


@frozen
class Job:
    """A job as Slurm describes it. `state` is its word: PENDING, RUNNING, COMPLETED, TIMEOUT …

    `exit_code` is None before the end, minus the signal where it was killed. `stdout` and
    `stderr` are paths on the cluster, empty where nothing tells them.
    """

    number: str
    name: str = ""
    state: str = ""
    reason: str = ""
    stdout: str = ""
    stderr: str = ""
    folder: str = ""
    nodes: str = ""
    exit_code: int | None = None

    @property
    def over(self) -> bool:
        """Whether it will print nothing more."""
        return self.state in _OVER

    @property
    def title(self) -> str:
        """What it is called in reports."""
        return f"Slurm job {self.number}"

    @property
    def ending(self) -> Ending | None:
        """How it ended, where that was the scheduler's doing."""
        state = _STATES.get(self.state)
        return None if state is None else Ending(state, f"Slurm says {self.state}")

    @property
    def logs(self) -> list[str]:
        """The files that it prints to, each once."""
        paths = [path for path in (self.stdout, self.stderr) if path and path != "/dev/null"]
        return list(dict.fromkeys(paths))


async def find(number: str, run: Run = here) -> Job:
    """A job by its id. Raises InputError where Slurm knows none."""
    text = (await run(f"scontrol show job {quote(number)}")).decode("utf-8", "replace")
    job = job_of(text, number)
    if job is None:
        job = await look(Job(number), run)
    if not job.state:
        hint = "does `scontrol show job` know it? finished ones are forgotten after some minutes"
        raise InputError(f"Slurm knows no job {number}", hint=hint)
    return job


async def look(job: Job, run: Run = here) -> Job:
    """The job as it is now: squeue while it waits or runs, sacct after that."""
    number = quote(job.number)
    said = (await run(f"squeue --noheader --jobs={number} --format='%T|%r'")).decode().split("\n")
    state, _, reason = said[0].strip().partition("|")
    if state and state not in _OVER:
        return replace(job, state=state, reason="" if reason == "None" else reason)
    fields = "State,ExitCode,Reason,JobName,StdOut,StdErr,WorkDir"
    ask = f"sacct --noheader --allocations --parsable2 --jobs={number} --format="
    answer = await run(f"{ask}{fields} || {ask}State,ExitCode")
    parts = answer.decode("utf-8", "replace").split("\n")[0].split("|")
    if len(parts) >= 2 and parts[0]:
        return _accounted(job, parts)
    text = (await run(f"scontrol show job {number}")).decode("utf-8", "replace")
    found = job_of(text, job.number)
    if found is not None:
        return found
    return replace(job, state=state) if state else job


def _accounted(job: Job, parts: list[str]) -> Job:
    """A job with what sacct says of it."""
    state = parts[0].split(" ")[0].rstrip("+")  # `CANCELLED by 1000`
    found = replace(job, state=state, exit_code=_exit(parts[1]) if state in _OVER else None)
    if len(parts) >= 7:
        _, _, reason, name, out, error, folder = parts[:7]
        found = replace(
            found, name=job.name or name, folder=job.folder or folder,
            reason="" if reason == "None" else reason,
        )  # fmt: skip
        found = replace(
            found,
            stdout=job.stdout or _filled(out, found),
            stderr=job.stderr or _filled(error, found),
        )
    return found


def job_of(text: str, number: str) -> Job | None:
    """What `scontrol show job` prints; of an array's tasks, the one that was asked for."""
    records = [dict(_fields(block)) for block in re.split(r"\n\s*\n", text) if "JobId=" in block]
    if not records:
        return None
    record = next((one for one in records if number in (_task(one), one["JobId"])), records[0])
    state = record.get("JobState", "")
    reason = record.get("Reason", "None")
    job = Job(
        number, record.get("JobName", ""), state, "" if reason == "None" else reason,
        folder=record.get("WorkDir", ""), nodes=record.get("NodeList", "").replace("(null)", ""),
        exit_code=_exit(record.get("ExitCode", "")) if state in _OVER else None,
    )  # fmt: skip
    ids = {"A": record.get("ArrayJobId", record["JobId"]), "a": record.get("ArrayTaskId", "")}
    ids["j"] = record["JobId"]
    user = record.get("UserId", "").partition("(")[0]
    out, error = (_filled(record.get(key, ""), job, ids, user) for key in ("StdOut", "StdErr"))
    return replace(job, stdout=out, stderr=error)


def _task(record: Mapping[str, str]) -> str:
    return f"{record.get('ArrayJobId', '')}_{record.get('ArrayTaskId', '')}"


def _fields(block: str) -> list[tuple[str, str]]:
    """`Key=value` pairs; a path or a name takes the rest of its line, blanks and all."""
    pairs = []
    for line in block.split("\n"):
        line = line.strip()
        while found := _FIELD.match(line):
            key = found[1]
            rest = line[found.end() :]
            following = None if key in _WHOLE_LINE else re.search(r"\s(?=\w[\w:/-]*=)", rest)
            if key == "JobName":  # the only one of them that others may follow on old versions
                following = re.search(r"\s(?=UserId=)", rest)
            value = rest if following is None else rest[: following.start()]
            pairs.append((key, value.strip()))
            line = "" if following is None else rest[following.end() :]
    return pairs


def _filled(path: str, job: Job, ids: Mapping[str, str] | None = None, user: str = "") -> str:
    """A path with Slurm's own signs filled in, as sacct and old versions leave them."""
    if not path or path in ("(null)", "Unknown"):
        return ""
    number, _, task = job.number.partition("_")
    known = {"A": number, "a": task, **(ids or {})}
    known = {
        "j": number,
        "x": job.name, "u": user, "N": job.nodes.split(",")[0].split("[")[0], "n": "0", "s": "",
        "t": "0", "b": task, "T": "0", **known,
    }  # fmt: skip

    def fill(found: re.Match[str]) -> str:
        value = known.get(found[2], found[0])
        return value.zfill(int(found[1])) if found[1] and value.isdigit() else value

    path = _PLACE.sub(fill, path)
    return path if path.startswith("/") or not job.folder else f"{job.folder}/{path}"


def _exit(text: str) -> int | None:
    """`1:0` is code 1, `0:9` signal 9."""
    code, _, signal = text.partition(":")
    if not code.isdigit():
        return None
    return -int(signal) if signal.isdigit() and int(signal) else int(code)
