"""Remedies carried out on this machine: start again, end, run the user's own command."""

import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace

from runwatch.ingest.process import Process
from runwatch.owner import Owner, descendants, writer_of
from runwatch.remedy import CANCEL, CLEAR, RESTART, REVIVE, Remedy
from runwatch.termination import end, outcome

PATIENCE = 120.0  # seconds that a user's own command may take
SEARCH = 10.0  # seconds between searches for the process that writes a log


def start(command: str, before: Owner | None, log: str = "") -> Owner:
    """Start a training again, in its folder, with its environment and its outputs.

    It outlives us. Where its outputs are not known, they are appended to `log`. Raises OSError
    where it cannot be started.
    """
    old = before.process if before else None
    folder = (old.folder if old else "") or None
    environment = (before.environment if before else {}) or None
    targets = before.outputs if before else ("", "")
    files = [_output(path, log) for path in targets]
    # An unchanged command runs as it ran before; words of a shell need one.
    same = bool(old and old.command and command == shlex.join(old.command))
    try:
        child = subprocess.Popen(  # noqa: S603 the command is the user's own
            list(old.command) if same and old else ["/bin/sh", "-c", command],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=files[0], stderr=files[1], start_new_session=True,
        )  # fmt: skip
    finally:
        for number in files:
            os.close(number)
    known = Owner.of(child.pid) or Owner(Process(child.pid))
    known.child = child
    if before is not None:
        old = before.process
        kept = replace(
            known.process, name=old.name, folder=old.folder,
            command=old.command or known.process.command,
        )  # fmt: skip
        known.process, known.outputs = kept, before.outputs
        known.environment = before.environment
    return known


def _output(path: str, log: str) -> int:
    """A file to append to: what the process wrote to before, else the log, else nowhere."""
    for place in (path, log):
        if place and os.path.isfile(place):
            return os.open(place, os.O_WRONLY | os.O_APPEND)
    return os.open(os.devnull, os.O_WRONLY)


def run(command: str, told: Mapping[str, str] | None = None) -> tuple[bool, str]:
    """Run the user's own command in a shell, in a session of its own, for a limited time; whether
    it succeeded, and what came of it in words. `told` are variables of its environment: what
    others wrote never becomes part of a command."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(  # noqa: S603 the command is the user's own
            ["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, env={**os.environ, **(told or {})}, start_new_session=True,
        )  # fmt: skip
        try:
            code = child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return False, f"did not end within {PATIENCE:.0f} s"
        out.seek(max(0, out.seek(0, os.SEEK_END) - 4096))
        words = out.read().decode("utf-8", "replace").strip().splitlines()
    if code == 0:
        return True, "done"
    return False, f"failed with code {code}" + (f": {words[-1][:200]}" if words else "")


def in_thread(work: Callable[[], str]) -> "Future[str]":
    """Do what may take its time in a thread that nobody waits for at the end of the program."""
    future: Future[str] = Future()

    def carry_out() -> None:
        try:
            future.set_result(work())
        except Exception as error:  # for whoever asks what came of it
            future.set_exception(error)

    threading.Thread(target=carry_out, daemon=True, name="remedy").start()
    return future


class Local:
    """The process of a run on this machine, found by the files that it writes or by its number."""

    away = ""
    looked = True

    def __init__(self, paths: Sequence[str], pid: int | None = None, log: str = "") -> None:
        self._paths = list(paths)
        self._log = log or (self._paths[0] if len(self._paths) == 1 else "")
        self._owner = Owner.of(pid) if pid else None
        self._looked = -SEARCH

    def adopt(self, process: Process) -> None:
        """This is the process, as the source of the log found it."""
        if self._owner is None:
            self._owner = Owner.of(process.pid) or Owner(process)

    def look(self) -> Process | None:
        """How it is now; None where no process is known to write the log."""
        if self._owner is None:
            now = time.monotonic()
            if now - self._looked < SEARCH or not self._paths:
                return None
            self._looked = now
            self._owner = writer_of(self._paths)
        return self._owner.look() if self._owner else None

    def is_fresh(self) -> bool:
        """Always: `look` looks."""
        return True

    def start(self, command: str) -> str:
        """Start it again, unless somebody writes the log already."""
        other = writer_of(self._paths) if self._paths else None
        if other is not None:
            self._owner = other
            return f"not started: process {other.pid} writes the log already"
        out = self._owner.outputs[0] if self._owner else ""
        lost = out != os.devnull and not any(map(os.path.isfile, (out, self._log)))
        self._owner = start(command, self._owner, self._log)
        told = f"started as process {self._owner.pid}"
        return f"{told}, its output goes nowhere" if lost else told

    def end(self) -> str:
        """End it and all it started."""
        if self._owner is None:
            return "no process is known"
        pid = self._owner.pid
        return outcome(pid, end(self._owner, descendants(pid)))

    def carry_out(self, chosen: Remedy) -> "Future[str]":
        """Begin it; what came of it, in words. Fails with an OSError where it cannot be done."""
        return in_thread(lambda: self._carried_out(chosen))

    def _carried_out(self, chosen: Remedy) -> str:
        if chosen.kind == CLEAR:
            return run(chosen.command)[1]
        told = [self.end()] if chosen.kind in (REVIVE, CANCEL) else []
        if chosen.kind in (RESTART, REVIVE):
            told.append(self.start(chosen.command))
        return "; ".join(told)
