"""The bytes of followed names of another host, asked for through its shell.

What is asked and what the answers mean is in `ssh_file`; here is what follows from them.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from os.path import basename
from shlex import quote

from runwatch.chunk import Chunk
from runwatch.ingest.follow_rotated import next_of
from runwatch.ingest.ssh import Shell
from runwatch.ingest.ssh_file import (
    PIECE,
    Head,
    Look,
    Part,
    RemoteTail,
    beside,
    first_text,
    head_of,
    joined,
    looks,
    part_of,
    reading,
)  # fmt: skip

_LONGEST_DRAIN = 30.0  # times the grace period


class Asking:
    """One conversation with a shell. What it gives goes to `pass_on`, what it tells to `tell`.

    `stat` is the command that the system over there understands. Raises ConnectionError where
    the connection breaks: the tails stand where they stood.
    """

    def __init__(
        self, shell: Shell, stat: str, *, pass_on: Callable[[Chunk], Awaitable[None]],
        tell: Callable[[str], None], clock: Callable[[], float], grace: float,
    ) -> None:  # fmt: skip
        self._shell, self._stat = shell, stat
        self._pass_on, self._tell = pass_on, tell
        self._clock, self._grace = clock, grace

    async def _give(self, tail: RemoteTail, data: bytes, offset: int, size: int = 0) -> None:
        assert tail.part is not None
        end = offset + len(data)
        await self._pass_on(Chunk(tail.stream, data, offset, tail.part.identity, size, end))

    async def turn(self, tail: RemoteTail, look: Look | None) -> None:
        """What there is to read under one name after a look at it."""
        tail.more = False
        try:
            await self._turn(tail, look)
        except ConnectionError:
            tail.more = True  # a file that is written no more looks as it did before
            raise

    async def _turn(self, tail: RemoteTail, look: Look | None) -> None:
        if tail.part is None:
            if look is not None:
                await self._begin(tail, look)
            return
        if look is None:
            if not tail.gone:
                tail.gone = True
                self._tell(f"{tail.stream.name} is gone")
            return
        if tail.part.is_at(look) and tail.part.path == tail.path:
            tail.left, tail.gone = 0.0, False
            await self._read(tail, tail.part)
        else:
            await self._drain(tail)

    async def _begin(self, tail: RemoteTail, look: Look) -> None:
        cursor = tail.cursor
        part = part_of(tail.path, cursor) if cursor is not None else None
        if part is None:
            await self._enter(tail, tail.path, fresh=True)
            return
        around = await self._around(tail)
        if around is None:
            return
        found = await self._again(tail, part, around)
        if found is None:
            await self._anew(tail, cursor.at if cursor else 0.0, around)
            return
        tail.part, tail.more = found, True
        tail.left = 0.0 if found.path == tail.path else self._clock()

    async def _around(self, tail: RemoteTail) -> dict[str, Look] | None:
        """What lies beside a log, and itself; None where files are being renamed in this moment:
        one that moves on while all are looked at is seen twice or not at all."""
        script = f"{beside(tail.path, self._stat)}; {self._stat} {quote(tail.path)}"
        seen = []
        for _ in range(2):
            around = looks(await self._shell.ask(script))
            names = [tail.path, *tail.folder_copies(list(around))]
            paths = [joined(tail.path, name) for name in names]
            seen.append({p: (around[p].device, around[p].inode) for p in paths if p in around})
        return around if seen[0] == seen[1] else None

    async def _anew(self, tail: RemoteTail, at: float, around: Mapping[str, Look]) -> None:
        """The file that was read is gone: go on with what was written since."""
        path = self._since(tail, around, lambda look: 0 < at < look.at)
        what = "another file than before; reading it from its start"
        if path != tail.path:
            what = f"gone as it was; reading {basename(path)}, written since"
        self._tell(f"{tail.stream.name} is {what}")
        settled = path != tail.path and self._next(tail, path, around) != tail.path
        await self._enter(tail, path, fresh=True, settled=settled)

    def _since(
        self, tail: RemoteTail, around: Mapping[str, Look], later: Callable[[Look], bool]
    ) -> str:
        """The oldest rotated copy that is later, or the log itself."""
        copies = [joined(tail.path, name) for name in tail.folder_copies(list(around))]
        return next((path for path in copies if later(around[path])), tail.path)

    async def _again(self, tail: RemoteTail, part: Part, around: Mapping[str, Look]) -> Part | None:
        """Where the file of a part lies now: under its name, renamed, or copied and truncated."""
        copies = [joined(tail.path, name) for name in tail.folder_copies(list(around))]
        same = [path for path, look in around.items() if part.is_at(look)]
        for path in dict.fromkeys([*same, *reversed(copies)]):
            look = around[path]
            if look.size < part.offset or (path not in same and part.head.length < 16):
                continue
            if Head.parse(await self._shell.ask(head_of(path, part.head.length))) == part.head:
                settled = path not in same or self._next(tail, path, around) != tail.path
                settled = settled and path != tail.path
                return Part(path, look.device, look.inode, part.head, part.offset, settled)
        return None

    def _next(self, tail: RemoteTail, path: str, around: Mapping[str, Look]) -> str:
        """What was written after a rotated copy."""
        copies = [joined(tail.path, name) for name in tail.folder_copies(list(around))]
        return next_of(tail.path, path, copies)

    async def _enter(
        self,
        tail: RemoteTail,
        path: str,
        *,
        fresh: bool = False,
        settled: bool = False,
        expected: tuple[int, int] | None = None,
    ) -> None:
        """Go over to another file, from its start or from where it was left before."""
        look = looks(await self._shell.ask(f"{self._stat} {quote(path)}")).get(path)
        if look is None or expected not in (None, (look.device, look.inode)):
            return
        head = Head.parse(await self._shell.ask(head_of(path)))
        offset = 0
        former = tail.former.get((look.device, look.inode))
        if former is not None and former[1] <= look.size:
            known = Head.parse(await self._shell.ask(head_of(path, former[0].length)))
            offset = former[1] if known == former[0] else 0
        if tail.part is not None:
            old = tail.part
            tail.former[old.device, old.inode] = (old.head, old.offset)
        tail.part = Part(path, look.device, look.inode, head, offset, settled)
        tail.left = 0.0 if path == tail.path else self._clock()
        tail.gone, tail.more = False, True
        if not fresh:
            await self._give(tail, b"", offset)

    async def _drain(self, tail: RemoteTail) -> None:
        """The name leads to another file: read the old one to its end, then what came after."""
        part, now = tail.part, self._clock()
        assert part is not None
        if not tail.left or tail.gone:
            self._tell(f"{tail.stream.name} was replaced; reading the old file to its end")
        tail.left, tail.gone = tail.left or now, False
        around = looks(await self._shell.ask(beside(tail.path, self._stat)))
        old = next((path for path, look in around.items() if part.is_at(look)), "")
        if old and Head.parse(await self._shell.ask(head_of(old, part.head.length))) != part.head:
            old = ""  # the inode was given to another file
        if old:
            part.path = old
            if part.offset < around[old].size:
                before = part.offset
                await self._read(tail, part)
                if tail.part is not part or part.offset > before:
                    return
            quiet = part.settled or now - max(tail.left, tail.grown) >= self._grace
            if not quiet and now - tail.left < self._grace * _LONGEST_DRAIN:
                return
        elif part.seen is None or part.seen.size > part.offset:
            self._tell(f"{tail.stream.name}: the old file is gone, and what was not read of it")
        seen = part.seen
        if old or part.path != tail.path or seen is None:
            after = self._next(tail, old, around)
        else:
            after = self._since(
                tail, around, lambda look: (look.at, look.time) > (seen.at, seen.time)
            )
        again = looks(await self._shell.ask(beside(tail.path, self._stat)))
        there = {path: (look.device, look.inode) for path, look in again.items()}
        if {p: (look.device, look.inode) for p, look in around.items()} != there:
            return  # files are being renamed in this moment, and one could be left out
        settled = after != tail.path and self._next(tail, after, around) != tail.path
        await self._enter(tail, after, settled=settled, expected=there.get(after))

    async def _read(self, tail: RemoteTail, part: Part) -> None:
        mark = secrets.token_hex(16)
        answer = await self._shell.ask(reading(part, mark, self._stat))
        fields = answer.split(mark.encode())
        if len(fields) != 6:
            return
        first, second = looks(fields[0]).get(part.path), looks(fields[5]).get(part.path)
        if first is None or second is None or not (part.is_at(first) and part.is_at(second)):
            return  # replaced meanwhile: the next look finds the file under its new name
        data, head = fields[2], Head.parse(fields[4])
        if Head.parse(fields[1]) != part.head or second.size < part.offset + len(data):
            await self._start_over(tail, part, head)
            return
        if Head.parse(fields[3]) != part.head:
            return  # truncated meanwhile: the next look finds that
        part.seen = first
        if not part.offset and data.startswith(b"\0"):
            data = await self._behind_nuls(tail, part, data)
        if not data:
            return
        if part.head.length < head.length:
            part.head = head
        begin, part.offset = part.offset, part.offset + len(data)
        tail.grown, tail.more = self._clock(), len(data) >= PIECE
        await self._give(tail, data, begin, max(second.size, part.offset))

    async def _behind_nuls(self, tail: RemoteTail, part: Part, data: bytes) -> bytes:
        """Move to the first byte that is no NUL; what of the data is behind it."""
        text = data.lstrip(b"\0")
        skipped = len(data) - len(text)
        if not text:
            answer = (await self._shell.ask(first_text(part.path), patience=600)).split()
            if not answer or not answer[0].isdigit():
                return b""  # nothing but NULs so far
            skipped, tail.more = int(answer[0]) - 1, True
        part.offset = skipped
        self._tell(f"{tail.stream.name}: {skipped} NUL bytes at its start skipped")
        return text

    async def _start_over(self, tail: RemoteTail, part: Part, head: Head) -> None:
        """Truncated: first what a rotated copy still has of it, then from 0."""
        copy = None
        if part.path == tail.path:
            around = await self._around(tail)
            if around is None:
                return  # the next look finds it truncated, too
            gone = Part(part.path, -1, -1, part.head, part.offset)
            copy = await self._again(tail, gone, around)
        self._tell(f"{tail.stream.name} was truncated; reading it from its start")
        tail.more = True
        tail.former.pop((part.device, part.inode), None)
        if copy is not None and copy.path != tail.path:
            copy.settled = True
            tail.part, tail.left = copy, self._clock()
            return
        part.head, part.offset, part.seen = head, 0, None
        await self._give(tail, b"", 0)
