"""Files of another host, followed through one shell that is asked again and again.

A task of its own talks to the host, so that time passes for the reader whatever the network does.
After a lost connection everything goes on at the byte where it was.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from os.path import basename, commonpath, dirname, relpath, splitext
from shlex import quote

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import InputError, RunwatchError
from runwatch.ingest.following import Reach
from runwatch.ingest.kinds import kind_by_name
from runwatch.ingest.order import reading_order
from runwatch.ingest.ranks import bare, ranks
from runwatch.ingest.records import FORMATS as RECORDS
from runwatch.ingest.records import HEAD, format_of
from runwatch.ingest.sniff import (
    SAMPLE,
    closed_folder,
    is_one_document,
    looks_binary,
    passed_over,
)
from runwatch.ingest.ssh import Host, Shell
from runwatch.ingest.ssh_file import FORMATS, Look, RemoteTail, looks
from runwatch.ingest.ssh_tail import Asking
from runwatch.ingest.ssh_words import finding, has_signs
from runwatch.target import Target

_TURN = 0.1  # seconds between looks; a look is one stat over there
_SHARE = 4  # looks and reads take one part in so many of the time
_FIND = 5.0  # seconds between looks whether files have joined
_AHEAD = 8  # chunks that wait for a slow reader
_AT_ONCE = 400  # names in one command line


class Remote:
    """The followed files of a target on a host. See `Following`; `host` may be shared.

    `paths` are the files where no path names them. With `own`, the connection is closed with the
    source; others that share a connection close it themselves.
    """

    def __init__(
        self, target: Target, host: Host, *, clock: Callable[[], float] = time.time,
        grace: float = 2.0, paths: Sequence[str] = (), own: bool = True,
    ) -> None:  # fmt: skip
        self.events: list[str] = host.events
        self.host = host
        self._target, self._clock, self._grace = target, clock, grace
        self._given, self._own = list(paths), own
        self._tails: dict[str, RemoteTail] = {}
        self._passed: set[str] = set()
        self._cursors: Mapping[str, Cursor] = {}
        self._root = ""
        self._path = target.path
        self._stat = ""
        self._searched = False
        self.settled = False  # all that was there has been asked for, and given
        self._queue: asyncio.Queue[Chunk | RunwatchError | None] = asyncio.Queue(_AHEAD)
        self._task: asyncio.Task[None] | None = None
        self._last: Chunk | None = None

    @property
    def reach(self) -> Reach:
        """Whether the host answers, and what a person should know."""
        reach = self.host.reach
        if reach.ok and not reach.note:
            gone = [tail.stream.name for tail in self._tails.values() if tail.gone]
            if self._searched and not self._tails:
                return Reach(True, "no logs there yet", reach.at)
            if gone and len(gone) == len(self._tails):
                return Reach(True, f"{gone[0]} is gone", reach.at)
        return reach

    def streams(self) -> list[Stream]:
        """The streams known now, none before the host has answered."""
        return [tail.stream for tail in self._tails.values()]

    @property
    def paths(self) -> list[str]:
        """Where the streams lie over there."""
        return [*self._tails]

    async def close(self) -> None:
        """Stop; `chunks` ends."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self._leave()
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """Everything behind the cursors; empty chunks while the host does not answer."""
        self._cursors = dict(cursors)
        self._task = asyncio.create_task(self._talk())
        try:
            while True:
                try:
                    async with asyncio.timeout(quiet):
                        chunk = await self._queue.get()
                except TimeoutError:
                    yield self._nothing()
                    continue
                if chunk is None:
                    return
                if isinstance(chunk, RunwatchError):
                    raise chunk
                self._last = chunk
                yield chunk
        finally:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._leave()

    async def _leave(self) -> None:
        if self._own:
            await self.host.close()

    def _nothing(self) -> Chunk:
        if self._last is None:
            return Chunk(Stream(""), b"", 0)
        end = self._last.offset + len(self._last.data)
        return Chunk(self._last.stream, b"", end, self._last.identity)

    # The conversation

    async def _talk(self) -> None:
        try:
            while True:
                try:
                    shell = await self.host.shell()
                    try:
                        await self._converse(shell)
                    finally:
                        shell.close()
                except ConnectionError as error:
                    await self.host.rest(str(error))
                except (ValueError, IndexError):
                    await self.host.rest("it answers strangely")
        except RunwatchError as error:
            await self._queue.put(error)

    async def _converse(self, shell: Shell) -> None:
        await self._prepare(shell)
        asking = Asking(
            shell, self._stat, pass_on=self._queue.put, tell=self.events.append,
            clock=self._clock, grace=self._grace,
        )  # fmt: skip
        found = 0.0
        while True:
            begun = time.monotonic()
            if begun - found >= _FIND:
                await self._find(shell)
                found = time.monotonic()
            seen = await self._look(shell)
            for tail in self._tails.values():
                if tail.wants(seen.get(tail.path)):
                    await asking.turn(tail, seen.get(tail.path))
            self.host.answered()
            if not any(tail.more for tail in self._tails.values()):
                self.settled = True
                took = time.monotonic() - begun
                await asyncio.sleep(max(_TURN - took, took / _SHARE, 0.01))

    async def _prepare(self, shell: Shell) -> None:
        """What stat understands there, and where the home is that `~` means."""
        answer = await shell.ask(
            "stat -L -c %i / && echo gnu\nprintf '|%s|' \"${HOME:-/}\"; pwd -P"
        )
        self._stat = FORMATS["gnu" if b"gnu" in answer else "bsd"]
        home = answer.split(b"|")[1].decode("utf-8", "surrogateescape")
        path = self._target.path
        if path == "~" or path.startswith("~/"):
            path = home + path[1:]
        self._path = path if path.startswith("/") else f"{home.rstrip('/')}/{path}"

    async def _look(self, shell: Shell) -> dict[str, Look]:
        seen: dict[str, Look] = {}
        paths = [quote(path) for path in self._tails]
        for at in range(0, len(paths), _AT_ONCE):
            seen |= looks(await shell.ask(f"{self._stat} {' '.join(paths[at : at + _AT_ONCE])}"))
        return seen

    # Which files there are

    async def _find(self, shell: Shell) -> None:
        if self._given:
            kind, paths = b"file", self._given
        else:
            answer = await shell.ask(finding(self._path))
            kind, *names = answer.split(b"\0")[:-1] or [b"glob"]
            paths = [name.decode("utf-8", "surrogateescape") for name in names]
        self._root = self._root_for(kind.decode())
        if kind == b"glob" and not has_signs(self._path) and not self._tails:
            raise InputError(
                f"{self._target}: no such file or folder", hint=f"what does {self.host} have there?"
            )
        new = [path.replace("//", "/") for path in paths]
        new = [path for path in new if path not in self._tails and path not in self._passed]
        logs = [path for path in new if kind == b"file" or self._may_be_log(path, new)]
        self._passed |= set(new) - set(logs)
        kinds = {path: await self._kind(shell, path, named=kind == b"file") for path in logs}
        logs = [path for path in logs if kinds[path] is not None]
        self._searched = True
        logs.sort(key=lambda path: reading_order(self._name(path)))
        named = [*self._tails, *logs]
        told = ranks([self._around(path) for path in named])[len(self._tails) :]
        for path, rank in zip(logs, told, strict=True):
            name = self._name(path)
            what = kinds[path] or ""
            # A place in the lines of records is none in their bytes: they are read from the start.
            cursor = None if what in RECORDS else self._cursors.get(name)
            self._tails[path] = RemoteTail(Stream(name, rank, what), path, cursor)

    def _root_for(self, kind: str) -> str:
        if self._given:
            return commonpath([dirname(path) for path in self._given])
        if kind == "folder":
            return self._path.rstrip("/") or "/"
        if kind == "file":
            return dirname(self._path)
        parts = self._path.split("/")
        plain = next((at for at, part in enumerate(parts) if has_signs(part)), len(parts) - 1)
        return "/".join(parts[:plain]) or "/"

    def _name(self, path: str) -> str:
        name = relpath(path, self._root)
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def _around(self, path: str) -> str:
        return "/".join(path.split("/")[-3:]) if len(self._tails) < 2 else self._name(path)

    def _may_be_log(self, path: str, beside: list[str]) -> bool:
        """By its names; a rotated copy that comes later is read as part of its log."""
        name = self._name(path)
        folders = name.split("/")[:-1]
        if "\n" in path or any(closed_folder(folder) for folder in folders):
            return False
        if passed_over(path, splitext(self._target.path)[1].lower()):
            return False
        elder = f"{dirname(path)}/{bare(basename(path))}"
        if elder == path or (elder not in self._tails and elder not in beside):
            return True
        begun = self._name(elder) in self._cursors and name not in self._cursors
        return elder not in self._tails and not begun

    async def _kind(self, shell: Shell, path: str, *, named: bool) -> str | None:
        """The kind of a stream by how the file begins, "" for a log; None where it is passed over,
        as no file is that was named itself."""
        head = await shell.ask(f"head -c {SAMPLE} {quote(path)}")
        if found := format_of(head[:HEAD]):
            return found
        if not named and (looks_binary(head) or is_one_document(path, head)):
            self._passed.add(path)
            return None
        return kind_by_name(path)
