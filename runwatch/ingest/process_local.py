"""Processes of this machine, from /proc; where there is none, from psutil, whose one home it is."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from runwatch.errors import InputError, UsageError
from runwatch.ingest.process import (
    Opened,
    Process,
    Row,
    below,
    candidates,
    logs_of,
    named,
    started_of,
    stat_of,
    state_in_words,
)  # fmt: skip

_PROC = Path("/proc")


class Local:
    """See `Processes`; here every look is at once, so `snapshot` needs no waiting."""

    async def find(self, *, pid: int = 0, name: str = "") -> Process:
        """A process by its id or by its name."""
        return self.snapshot(pid or named(self._table(), name, os.getpid()))

    async def look(self, process: Process) -> Process:
        """How it is now."""
        return self.now(process)

    async def logs(self, process: Process) -> list[str]:
        """The files that it logs to."""
        return self.log_files(process.pid)

    def snapshot(self, pid: int) -> Process:
        """A process as it is. Raises InputError where there is none."""
        try:
            return self._snapshot(pid)
        except OSError as error:
            hint = "`ps -A` lists all; --proc finds one by name"
            raise InputError(f"no process has the id {pid}", hint=hint) from error

    def now(self, process: Process) -> Process:
        """A process that was seen before, as it is now, its exit code where it can be known."""
        code = _own_exit(process.pid)
        try:
            found = self._snapshot(process.pid)
        except OSError:
            return replace(process, state="gone", exit_code=code, children=0, workers=0)
        if process.started and found.started != process.started:
            return replace(process, state="gone", children=0, workers=0)
        if found.state == "zombie" or not found.command:  # it has forgotten what it was
            found = replace(found, command=process.command, folder=process.folder)
        return replace(found, exit_code=found.exit_code if code is None else code)

    def log_files(self, pid: int) -> list[str]:
        """The files that a process logs to."""
        opened, below = self._opened(), self._below(pid)
        empty = [path for path in candidates(opened, pid, below) if not _holds_text(path)]
        return logs_of(opened, pid, below, empty)

    # /proc

    def _snapshot(self, pid: int) -> Process:
        stat = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
        name, letter, _, code = stat_of(stat)
        command: tuple[str, ...] = ()
        folder = ""
        with suppress(OSError):
            words = (_PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0")
            command = tuple(os.fsdecode(word) for word in words.split(b"\0")) if words else ()
            folder = os.readlink(_PROC / str(pid) / "cwd")
        children = self._below(pid)
        return Process(
            pid, name, state_in_words(letter), code, _workers(pid, children), command, folder,
            len(children), started_of(stat),
        )  # fmt: skip

    def _below(self, pid: int) -> list[int]:
        found, waiting = [], [pid]
        while waiting:
            one = waiting.pop()
            try:
                for task in os.listdir(_PROC / str(one) / "task"):
                    path = _PROC / str(one) / "task" / task / "children"
                    waiting += map(int, path.read_text().split())
            except FileNotFoundError:
                if one == pid and os.path.exists(_PROC / str(pid)):  # a kernel without that file
                    return below(self._table(), pid)
            except (OSError, ValueError):
                continue
            if one != pid:
                found.append(one)
        return found

    def _table(self) -> dict[int, Row]:
        rows = {}
        for pid in _pids():
            with suppress(OSError, ValueError, IndexError):
                stat = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
                words = (_PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0")
                _, letter, parent, _ = stat_of(stat)
                rows[pid] = Row(pid, parent, letter, os.fsdecode(words.replace(b"\0", b" ")))
        return rows

    def _opened(self) -> dict[int, list[Opened]]:
        found: dict[int, list[Opened]] = {}
        for pid in _pids():
            with suppress(OSError):  # of another user
                for number in os.listdir(_PROC / str(pid) / "fd"):
                    with suppress(OSError):
                        link = _PROC / str(pid) / "fd" / number
                        mode = link.lstat().st_mode
                        opened = Opened(
                            int(number), os.readlink(link), bool(mode & 0o400), bool(mode & 0o200)
                        )
                        found.setdefault(pid, []).append(opened)
        return found


def _pids() -> list[int]:
    return [int(entry) for entry in os.listdir(_PROC) if entry.isdigit()]


def _workers(pid: int, children: Iterable[int]) -> int:
    """The local ranks among the children; a rank's own children (data loaders) are none."""
    if _local_rank(pid):
        return 0
    return len({rank for child in children if (rank := _local_rank(child))})


def _local_rank(pid: int) -> bytes:
    with suppress(OSError):
        for word in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
            if word.startswith(b"LOCAL_RANK="):
                return word
    return b""


def _own_exit(pid: int) -> int | None:
    """How a child of ours ended; it is left for whoever waits for it."""
    try:
        status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (OSError, AttributeError):
        return None
    if status is None or not status.si_pid:
        return None
    return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status


class Psutil(Local):
    """The same through psutil, for systems without /proc. Raises UsageError without it."""

    def __init__(self) -> None:
        try:
            self._psutil: Any = import_module("psutil")
        except ImportError as error:
            hint = "pip install 'runwatch[watch]'"
            raise UsageError("processes need psutil here", hint=hint) from error

    def _snapshot(self, pid: int) -> Process:
        try:
            found = self._psutil.Process(pid)
            with found.oneshot():
                state = str(found.status())
                zombie = state == self._psutil.STATUS_ZOMBIE
                command = () if zombie else tuple(found.cmdline())
                folder = "" if zombie else str(found.cwd())
                started = repr(found.create_time())
                name = str(found.name())
            children = [child.pid for child in found.children(recursive=True)]
        except self._psutil.Error as error:
            raise ProcessLookupError(str(error)) from error
        words = {"disk-sleep": "blocked", "idle": "sleeping", "dead": "gone"}
        words |= {"tracing-stop": "stopped"}
        known = ("running", "sleeping", "stopped", "zombie")
        state = words.get(state, state if state in known else "running")
        workers = len({rank for child in children if (rank := self._rank(child))})
        workers = 0 if self._rank(pid) else workers
        return Process(pid, name, state, None, workers, command, folder, len(children), started)

    def _rank(self, pid: int) -> str:
        with suppress(self._psutil.Error):
            return str(self._psutil.Process(pid).environ().get("LOCAL_RANK", ""))
        return ""

    def _below(self, pid: int) -> list[int]:
        return below(self._table(), pid)

    def _table(self) -> dict[int, Row]:
        rows = {}
        for found in self._psutil.process_iter(["pid", "ppid", "cmdline", "status"]):
            about = found.info
            command = " ".join(about["cmdline"] or ())
            letter = "Z" if about["status"] == self._psutil.STATUS_ZOMBIE else "R"
            rows[about["pid"]] = Row(about["pid"], about["ppid"] or 0, letter, command)
        return rows

    def _opened(self) -> dict[int, list[Opened]]:
        found: dict[int, list[Opened]] = {}
        for one in self._psutil.process_iter(["pid"]):
            with suppress(self._psutil.Error):
                for file in one.open_files():
                    mode = getattr(file, "mode", "w")
                    writes = any(sign in mode for sign in "wa+")
                    opened = Opened(file.fd, file.path, not writes or "+" in mode, writes)
                    found.setdefault(one.pid, []).append(opened)
        return found


def _holds_text(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False


def local() -> Local:
    """The processes of this machine. Raises UsageError where nothing here can tell."""
    return Local() if (_PROC / "self" / "stat").exists() else Psutil()
