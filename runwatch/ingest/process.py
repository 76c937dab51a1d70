"""Processes that train: what they are, how they are, and which files they write their logs to.

What is computed from what a system tells stands here; where it is read from is in
`process_local` (here) and `process_remote` (another host, over its shell).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from os.path import basename
from typing import Protocol

from runwatch.errors import InputError
from runwatch.slotted import frozen

_STATES = {
    "R": "running", "S": "sleeping", "I": "sleeping", "D": "blocked", "U": "blocked",
    "T": "stopped", "t": "stopped", "Z": "zombie", "X": "gone", "x": "gone",
}  # fmt: skip
# They only pass on what others print: their command line says nothing of the training.
PASSERS = frozenset(("tee", "cat", "script", "ts", "rotatelogs", "multilog", "svlogd", "logger"))
_LOG_ENDINGS = (".log", ".out", ".err", ".txt", ".jsonl")


@frozen
class Process:
    """One look at a process.

    `state` is running, sleeping, blocked (D state, in the kernel), stopped, zombie or gone.
    `exit_code` is None where nobody can know it, minus the signal where it was killed. `started`
    tells two processes with the same id apart. `children` counts all below it, `workers` the
    local ranks among them. `command` and `folder` start it again; they are kept when it is gone.
    """

    pid: int
    name: str = ""
    state: str = "running"
    exit_code: int | None = None
    workers: int = 0
    command: tuple[str, ...] = ()
    folder: str = ""
    children: int = 0
    started: str = ""

    @property
    def alive(self) -> bool:
        """Whether it can still write."""
        return self.state not in ("gone", "zombie")


@frozen
class Row:
    """A process as a table of all has it: whose child it is and what it was started with."""

    pid: int
    parent: int
    state: str = "R"
    command: str = ""


@frozen
class Opened:
    """A descriptor of a process: what it leads to, and whether it reads or writes it."""

    number: int
    path: str
    reads: bool = False
    writes: bool = False


class Processes(Protocol):
    """The processes of a machine."""

    async def find(self, *, pid: int = 0, name: str = "") -> Process:
        """A process by its id, or by a name in its command line. Raises InputError."""

    async def look(self, process: Process) -> Process:
        """How it is now; gone where its id belongs to another meanwhile."""

    async def logs(self, process: Process) -> list[str]:
        """The files that it, its children and what it pipes to write their logs to, best first."""


def state_in_words(letter: str) -> str:
    """`D` to blocked."""
    return _STATES.get(letter[:1], "running")


def exit_code(status: int) -> int:
    """What wait would say of a status: the code, or minus the signal."""
    return -(status & 0x7F) if status & 0x7F else (status >> 8) & 0xFF


def stat_of(text: str) -> tuple[str, str, int, int | None]:
    """Name, letter of the state, parent and, of a zombie, exit code, from /proc/N/stat."""
    before, _, behind = text.rpartition(")")
    fields = behind.split()
    letter = fields[0]
    ended = exit_code(int(fields[49])) if letter == "Z" and len(fields) > 49 else None
    return before.partition("(")[2], letter, int(fields[1]), ended


def started_of(text: str) -> str:
    """Ticks between the start of the system and that of the process, from /proc/N/stat."""
    return text.rpartition(")")[2].split()[19]


def named(rows: Mapping[int, Row], name: str, own: int = 0) -> int:
    """The process whose command line has a name in it: the one that started the others.

    A word or the last part of a path counts before a part of a word. `own` is our own process,
    which has the name in its command line too, like the shell that started it. Raises InputError
    where there is none, or several that have nothing to do with each other.
    """
    ours = {own, *_above(rows, own)}
    others = [row for row in rows.values() if row.pid not in ours]
    words = [row for row in others if _has_word(row.command, name)]
    found = words or [row for row in others if name in row.command]
    living = [row for row in found if state_in_words(row.state) not in ("zombie", "gone")] or found
    tops = [rows[pid] for pid in topmost(rows, {row.pid for row in living})]
    if len(tops) == 1:
        return tops[0].pid
    if not tops:
        raise InputError(f"no process has {name} in its command line", hint="is it running?")
    some = "; ".join(f"{row.pid} {row.command[:60]}" for row in tops[:4])
    raise InputError(f"{len(tops)} processes have {name} in them", hint=f"--pid says which: {some}")


def topmost(rows: Mapping[int, Row], pids: Collection[int]) -> list[int]:
    """Those of some processes that none of the others has started."""
    known = set(pids)
    return [pid for pid in pids if not known & set(_above(rows, pid))]


def below(rows: Mapping[int, Row], pid: int) -> list[int]:
    """All descendants of a process."""
    children: dict[int, list[int]] = {}
    for row in rows.values():
        children.setdefault(row.parent, []).append(row.pid)
    found, waiting = [], list(children.get(pid, []))
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def logs_of(
    opened: Mapping[int, Collection[Opened]], pid: int, children: Sequence[int],
    empty: Collection[str] = (),
) -> list[str]:  # fmt: skip
    """The files to follow: of three kinds the best that has said anything, else the best.

    What standard output and error lead to; where that is a pipe, what its reader writes (`tee`).
    Then the same of the children, whose logs a launcher may split by rank. Then whatever is
    written that is named like a log. `empty` are files that hold nothing yet.
    """
    own, theirs = _outputs(opened, [pid]), _outputs(opened, children)
    written = written_by(opened, [pid, *children])
    named = [path for path in written if path.endswith(_LOG_ENDINGS)]
    kinds = [own, theirs, [path for path in named if path not in (*own, *theirs)]]
    found = [kind for kind in kinds if kind]
    speaking = [kind for kind in found if not set(kind) <= set(empty)]
    return next(iter([*speaking, *found]), [])


def candidates(
    opened: Mapping[int, Collection[Opened]], pid: int, children: Sequence[int]
) -> list[str]:
    """The files of which `logs_of` may choose: whether they are empty has to be known."""
    found = [*_outputs(opened, [pid]), *_outputs(opened, children)]
    return list(dict.fromkeys([*found, *written_by(opened, [pid, *children])]))


def written_by(opened: Mapping[int, Collection[Opened]], pids: Iterable[int]) -> list[str]:
    """The files that some processes have open for writing, each once."""
    paths = [f.path for one in pids for f in opened.get(one, ()) if f.writes and _is_file(f)]
    return list(dict.fromkeys(paths))


def _outputs(opened: Mapping[int, Collection[Opened]], pids: Iterable[int]) -> list[str]:
    found = [
        path
        for one in pids
        for file in sorted(opened.get(one, ()), key=lambda file: file.number)
        if file.number in (1, 2)
        for path in _end_of(opened, one, file)
    ]
    return list(dict.fromkeys(found))


def _end_of(opened: Mapping[int, Collection[Opened]], pid: int, file: Opened) -> list[str]:
    if _is_file(file):
        return [file.path]
    if not file.path.startswith("pipe:"):
        return []
    readers = [
        one
        for one, files in opened.items()
        if one != pid and any(f.path == file.path and f.reads for f in files)
    ]
    return [
        f.path
        for reader in readers
        for f in opened[reader]
        if f.writes and _is_file(f) and f.number > 2
    ]


def _is_file(file: Opened) -> bool:
    path = file.path
    apart = path.startswith(("/dev/", "/proc/", "/sys/")) or path.endswith(" (deleted)")
    return path.startswith("/") and not apart


def _above(rows: Mapping[int, Row], pid: int) -> list[int]:
    found: list[int] = []
    while (row := rows.get(pid)) and row.parent and row.parent not in found:
        pid = row.parent
        found.append(pid)
    return found


def _has_word(command: str, name: str) -> bool:
    words = command.split()
    if " " in name:
        return f" {name} " in f" {command} "
    return any(word == name or basename(word) == name for word in words)
