"""Processes of another host, through ps and /proc over the same connection as its logs."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from shlex import quote

from runwatch.errors import InputError, UnreachableError
from runwatch.ingest.process import (
    PASSERS,
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
    topmost,
)  # fmt: skip
from runwatch.ingest.ssh import Host
from runwatch.pattern import compiled

_TABLE = "ps -A -o pid= -o ppid= -o stat= -o args="
_LINK = compiled(r"l([r-])([w-])\S*\s.*?\s(\d+) -> (.*)")
_FOLDER = compiled(r"/proc/([0-9]{1,18})/fd:")
_FILES = 64  # of a run, by whose writers its process is looked for
_MANY = 2_000  # files that are asked about in one go
_CUT = b"\0\1\0cut\0"
SAY_CUT = "printf '\\000\\001\\000cut\\000'"


class RemoteProcesses:
    """See `Processes`. Raises UnreachableError where the host does not answer."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def find(self, *, pid: int = 0, name: str = "") -> Process:
        """A process by its id or by its name."""
        try:
            pid = pid or named(await self._table(), name)
            found = await self._snapshot(pid)
        except InputError as error:
            raise InputError(f"{self._host}: {error}", hint=error.hint) from error
        if found is None:
            hint = "`ps -A` there lists all; --proc finds one by name"
            raise InputError(f"{self._host}: no process has the id {pid}", hint=hint)
        return found

    async def look(self, process: Process) -> Process:
        """How it is now."""
        found = await self._snapshot(process.pid)
        if found is None or (process.started and found.started != process.started):
            return replace(process, state="gone", children=0, workers=0)
        if found.state == "zombie" or not found.command:
            return replace(found, command=process.command, folder=process.folder)
        return found

    async def logs(self, process: Process) -> list[str]:
        """The files that it logs to."""
        _, opened, rows = await self._all()
        children = below(rows, process.pid)
        asked = [quote(path) for path in candidates(opened, process.pid, children)][:_MANY]
        script = f'for f in {" ".join(asked)}; do [ -s "$f" ] || printf "%s\\n" "$f"; done'
        empty = (await self._host.run(script)).decode("utf-8", "surrogateescape").split("\n")
        return logs_of(opened, process.pid, children, empty)

    async def writer(self, paths: Sequence[str]) -> Process | None:
        """The process that has one of these files open for writing: of several, the one that
        started the others; None where there is none, or several that have nothing to do with each
        other. The command of one that only passes on what others print is left out."""
        real, opened, rows = await self._all(paths)
        found = {
            pid for pid, files in opened.items() if any(f.writes and f.path in real for f in files)
        }
        tops = topmost(rows, found)
        process = await self._snapshot(tops[0]) if len(tops) == 1 else None
        if process is not None and process.name in PASSERS:
            return replace(process, command=())
        return process

    async def _all(
        self, paths: Sequence[str] = ()
    ) -> tuple[set[str], dict[int, list[Opened]], dict[int, Row]]:
        """Where some paths lead to; what all processes that we may see have open; all processes."""
        asked = [f"readlink -f {quote(path)}" for path in paths[:_FILES]]
        script = f"; {SAY_CUT}; ".join(["; ".join(asked or [":"]), "ls -l /proc/[0-9]*/fd", _TABLE])
        links, listed, table = cut(self._host, await self._host.run(script), 3)
        real = {*paths, *links.decode("utf-8", "surrogateescape").split("\n")}
        return real, _opened(listed), _rows(table)

    async def family(self, pid: int) -> list[int]:
        """A process and all below it."""
        return [pid, *below(await self._table(), pid)]

    async def _table(self) -> dict[int, Row]:
        return _rows(await self._host.run(_TABLE))

    async def _snapshot(self, pid: int) -> Process | None:
        at = f"/proc/{pid}"
        answer = await self._host.run(
            f"cat {at}/stat; {SAY_CUT}; cat {at}/cmdline; {SAY_CUT}\n"
            f"readlink {at}/cwd; {SAY_CUT}\n"
            f"{_TABLE}"
        )
        stat, words, folder, table = cut(self._host, answer, 4)
        rows = _rows(table)
        children = below(rows, pid)
        text = stat.decode("utf-8", "replace").strip()
        if not text:
            return self._from_table(rows, pid, len(children))
        try:
            (name, letter, _, code), started = stat_of(text), started_of(text)
        except (ValueError, IndexError) as error:
            raise _strange(self._host) from error
        words = words.rstrip(b"\0")
        command = words.decode("utf-8", "surrogateescape").split("\0") if words else []
        where = folder.decode("utf-8", "surrogateescape").removesuffix("\n")
        return Process(
            pid, name, state_in_words(letter), code, await self._workers([pid, *children]),
            tuple(command), where, len(children), started,
        )  # fmt: skip

    @staticmethod
    def _from_table(rows: dict[int, Row], pid: int, children: int) -> Process | None:
        """As ps has it, on a system without /proc."""
        row = rows.get(pid)
        if row is None:
            return None
        words = tuple(row.command.split(" "))
        state, name = state_in_words(row.state), words[0].rsplit("/", 1)[-1]
        return Process(pid, name, state, None, 0, words, "", children)

    async def _workers(self, pids: Iterable[int]) -> int:
        """The local ranks below the first of the processes, which is none itself."""
        script = (
            f"for p in {' '.join(map(str, pids))}; do printf '%s ' $p; "
            "tr '\\000' '\\n' < /proc/$p/environ | sed -n 's/^LOCAL_RANK=//p'; echo; done"
        )
        lines = [line.split() for line in (await self._host.run(script)).split(b"\n")]
        ranks = [line[1] if len(line) > 1 else b"" for line in lines if line]
        return 0 if not ranks or ranks[0] else len({rank for rank in ranks if rank})


def cut(host: Host, answer: bytes, count: int) -> list[bytes]:
    """The parts of an answer that SAY_CUT stands between. Raises UnreachableError where they are
    not as many: no POSIX shell reads there, or it lets others talk."""
    parts = answer.split(_CUT)
    if len(parts) != count:
        raise _strange(host)
    return parts


def _strange(host: Host) -> UnreachableError:
    return UnreachableError(
        f"{host} answers strangely", hint=f"does `ssh {host} sh` give a plain POSIX shell?"
    )


def _opened(answer: bytes) -> dict[int, list[Opened]]:
    opened: dict[int, list[Opened]] = {}
    pid = 0
    for line in answer.decode("utf-8", "surrogateescape").split("\n"):
        if found := _FOLDER.fullmatch(line):
            pid = int(found[1])
        elif found := _LINK.fullmatch(line):
            reads, writes, number, path = found.groups()
            one = Opened(int(number), path, reads == "r", writes == "w")
            opened.setdefault(pid, []).append(one)
    return opened


def _rows(answer: bytes) -> dict[int, Row]:
    rows = {}
    for line in answer.decode("utf-8", "surrogateescape").split("\n"):
        words = line.split(None, 3)
        if len(words) >= 3 and words[0].isdecimal() and words[1].isdecimal():
            command = words[3] if len(words) > 3 else ""
            rows[int(words[0])] = Row(int(words[0]), int(words[1]), words[2], command)
    return rows
