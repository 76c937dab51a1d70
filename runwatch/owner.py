"""The local process that writes a log: found, looked at, remembered so that it can start again.

Who writes a file, and with what outputs and environment it was started, is read from /proc; where
there is none, a log is watched without its process.
"""

import os
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import field, replace

from runwatch.errors import RunwatchError
from runwatch.ingest.process import PASSERS, Process
from runwatch.ingest.process_local import local
from runwatch.slotted import mutable

PROC = "/proc"


@mutable
class Owner:
    """A process and what it takes to start it again.

    `outputs` are the files behind its standard output and error. `child` is set where we started
    it ourselves.
    """

    process: Process
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    outputs: tuple[str, str] = ("", "")
    child: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @classmethod
    def of(cls, pid: int) -> "Owner | None":
        """What is known of a process now; None where there is none or it is not ours to see."""
        try:
            process = local().snapshot(pid)
        except RunwatchError:
            return None
        if process.name in PASSERS or _user(pid) != os.geteuid():  # not ours to start again
            process = replace(process, command=())
        return cls(
            process,
            dict(w.split("=", 1) for w in _words(f"{PROC}/{pid}/environ") if "=" in w),
            (_link(f"{PROC}/{pid}/fd/1"), _link(f"{PROC}/{pid}/fd/2")),
        )

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid

    def look(self) -> Process:
        """How it is now."""
        found = local().now(self.process)
        if self.child is not None and not found.alive:  # ours to reap: it waits for nobody else
            code = self.child.wait()
            return replace(self.process, state="gone", exit_code=code, workers=0, children=0)
        return replace(found, command=self.process.command, folder=self.process.folder)


def writer_of(paths: Collection[str]) -> Owner | None:
    """The process that has one of these files, or a file in one of these folders, open for
    writing: of several, the one that started the others. None where several have nothing to do
    with each other; processes of other users cannot be seen."""
    real = [os.path.realpath(path) for path in paths]
    folders = tuple(f"{path}/" for path in real if os.path.isdir(path))
    files = set(real)
    found = [
        pid
        for pid in _pids()
        if pid != os.getpid()
        and any(path in files or path.startswith(folders) for path in _written(pid))
    ]
    top = [pid for pid in found if _parent(pid) not in found]
    return Owner.of(top[0]) if len(top) == 1 else None


def descendants(pid: int) -> Iterator[int]:
    """The children of a process, their children, and so on."""
    try:
        threads = os.listdir(f"{PROC}/{pid}/task")
    except OSError:
        return
    for thread in threads:
        for child in _read(f"{PROC}/{pid}/task/{thread}/children").split():
            yield int(child)
            yield from descendants(int(child))


def trainings(words: Collection[str]) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Processes whose command names one of the words, with the file that their output goes to."""
    for pid in _pids():
        command = tuple(_words(f"{PROC}/{pid}/cmdline"))
        named = [os.path.basename(word).lower() for word in command[:4]]
        if pid == os.getpid() or not any(word in name for name in named for word in words):
            continue
        outputs = (_link(f"{PROC}/{pid}/fd/{number}") for number in (1, 2))
        log = next((path for path in outputs if os.path.isfile(path)), "")
        if log:
            yield pid, command, log


def stat(pid: int) -> list[str]:
    """State, parent, group and so on; nothing where there is no such process."""
    return _read(f"{PROC}/{pid}/stat").rpartition(")")[2].split()


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir(PROC) if name.isdecimal()]
    except OSError:
        return []


def _written(pid: int) -> Iterator[str]:
    """The files that a process has open for writing."""
    folder = f"{PROC}/{pid}/fd"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return
    for number in numbers:
        path = _link(f"{folder}/{number}")
        ordinary = path.startswith("/") and not path.startswith(("/dev/", "/proc/"))
        if ordinary and _for_writing(pid, number):
            yield path


def _for_writing(pid: int, number: str) -> bool:
    for line in _read(f"{PROC}/{pid}/fdinfo/{number}").splitlines():
        if line.startswith("flags:"):
            return bool(int(line.split()[1], 8) & (os.O_WRONLY | os.O_RDWR))
    return False


def _user(pid: int) -> int:
    """Whose process it is; without /proc, taken for ours."""
    try:
        return os.stat(f"{PROC}/{pid}").st_uid
    except OSError:
        return os.geteuid()


def _parent(pid: int) -> int:
    fields = stat(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def _words(path: str) -> list[str]:
    return [word for word in _read(path).split("\0") if word]


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _read(path: str) -> str:
    try:
        with open(path, "rb") as stored:
            return stored.read().decode("utf-8", "surrogateescape")
    except OSError:
        return ""
