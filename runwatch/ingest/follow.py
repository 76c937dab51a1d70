"""Files, folders and globs of this machine, followed while they are written.

Changes are told by the system (`follow_events`); every few seconds all files are looked at all
the same, as events get lost. Looking takes at most 1 % of the time, whatever the number of files.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.ingest.file import open_target, unreadable
from runwatch.ingest.follow_events import Events
from runwatch.ingest.follow_file import Tail
from runwatch.ingest.follow_found import Names
from runwatch.ingest.follow_part import Descriptors
from runwatch.ingest.follow_records import Translated
from runwatch.ingest.follow_rotated import key_of
from runwatch.ingest.following import Following, Reach
from runwatch.ingest.identity import is_same
from runwatch.ingest.kinds import kind_of
from runwatch.ingest.ranks import bare, ranks
from runwatch.target import Kind, Target

_SWEEP, _TURN = 5.0, 0.25  # seconds between looks at all files where events come, and do not
_FIND, _FIND_TURN = 60.0, 1.0  # the same for looking whether files have joined
_TICK = 0.05  # between looks at a file that was left or is gone
_SHARE = 250  # looks at all files take one part in so many of the time, and so does finding
_SHARE_MOST = 20  # turns that are waited at most
_SHARE_DUE = 20  # the same for looking for a new file that was told
_TOGETHER = 32  # files of a network disk that are looked at in one go
_FEW, _EACH, _LONGEST = 8, 0.001, 0.1  # many busy files give fewer and longer chunks each
_STUCK = 10.0  # seconds after which a disk does not answer


def open_following(
    target: Target, *, clock: Callable[[], float] = time.time, grace: float = 2.0
) -> Following:
    """Follow a file, a folder or a glob from where the cursors stand.

    A folder or a glob may hold nothing yet. Raises InputError where a named file is missing, may
    not be read or is no log.
    """
    if target.kind is Kind.FILE:
        from runwatch.ingest.pipe import Pipe
        from runwatch.ingest.standard_input import Pipe as RestingPipe

        if isinstance(open_target(target), RestingPipe):
            return Pipe(target.path, clock=clock)
    elif target.kind is Kind.FOLDER:
        try:
            os.scandir(target.path).close()
        except OSError as error:
            raise unreadable(target.path, error) from error
    return Translated(Files(target, clock=clock, grace=grace))


class Files:
    """The followed files of one target. `events` says what happened to them, in words.

    `grace` is how long a replaced file is still read, after it was replaced and after its last
    bytes. `clock` gives seconds; only grace periods and what is told use it. `limit` bounds the
    descriptors that are open at a time. `listed` gives the files where no path names them.
    """

    def __init__(
        self, target: Target, *, clock: Callable[[], float] = time.time, grace: float = 2.0,
        limit: int = 128, events: Callable[[], Events] = Events,
        listed: Callable[[], list[str]] | None = None,
    ) -> None:  # fmt: skip
        self.events: list[str] = []
        self.reach = Reach(True, "", clock())
        self._names = Names(target, listed)
        self._clock, self._grace = clock, grace
        self._open = Descriptors(limit)
        self._make_events = events
        self._events: Events | None = None
        self._tails: dict[str, Tail] = {}
        self._links: dict[str, Tail] = {}  # by where the bytes lie
        self._cursors: dict[str, Cursor] | None = None
        self._closed = self._due = False
        self._spent = 0.0
        self._find()

    def streams(self) -> list[Stream]:
        """The streams known now; more may join."""
        return [tail.stream for tail in self._tails.values()]

    async def close(self) -> None:
        """Stop; `chunks` ends after what it has already read."""
        self._closed = True
        if self._events is not None:
            self._events.wake()

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """See `Following`."""
        self._cursors = dict(cursors)
        self._tails.clear()
        events = self._events = self._make_events()
        try:
            events.watch(self._names.folders, recursive=self._names.recursive)
            self._find()
            async for chunk in self._followed(events, quiet):
                yield chunk
        finally:
            events.close()
            self._open.close_all()

    async def _followed(self, events: Events, quiet: float) -> AsyncIterator[Chunk]:
        dirty = list(self._tails.values())
        spoken = swept = found = time.monotonic()
        looking = finding = 0.0  # what the last looks at everything took
        sweeping = False
        while not self._closed:
            for group in _groups(dirty, _TOGETHER if events.remote else 1):
                for chunk in () if events.remote else self._look(group):
                    yield chunk
                    spoken = time.monotonic()
                if events.remote:
                    async for chunk in self._looked(group, quiet):
                        yield chunk
                        spoken = time.monotonic()
                if self._closed:
                    return
            now = time.monotonic()
            if sweeping:
                looking, sweeping = self._spent, False
            if now - spoken >= quiet:
                yield self._nothing()
                spoken = time.monotonic()
            restless = [tail for tail in self._tails.values() if tail.restless]
            turn = _TURN if events.why else _SWEEP
            sweep = swept + min(max(turn, _SHARE * looking), _SHARE_MOST * turn)
            wait = min(sweep, spoken + quiet) - time.monotonic()
            if self._due or restless:
                wait = min(wait, 0.0 if any(tail.more for tail in restless) else _TICK)
            if len(dirty) > _FEW:
                await asyncio.sleep(min(len(dirty) * _EACH, _LONGEST))
            changed = await events.wait(wait)
            dirty = self._meant(changed, restless)
            now = time.monotonic()
            rare = _FIND_TURN if events.why else _FIND
            if now - found >= max(rare, _SHARE * finding) or (
                self._due and now - found >= _SHARE_DUE * finding
            ):
                dirty += self._find()
                found = time.monotonic()
                finding = found - now
            if now >= sweep:
                dirty, swept = list(self._tails.values()), now
                sweeping, self._spent = True, 0.0
            self.reach = Reach(True, self._note(events), self._clock())

    async def _looked(self, tails: list[Tail], quiet: float) -> AsyncIterator[Chunk]:
        """What some tails on a network disk give. One that hangs must not hang everything else."""
        future = asyncio.get_running_loop().run_in_executor(None, self._look, tails)
        while not (await asyncio.wait({future}, timeout=min(_STUCK, quiet)))[0]:
            if self._clock() - self.reach.at >= _STUCK:
                since = time.strftime("%H:%M:%S", time.localtime(self.reach.at))
                note = f"the disk does not answer since {since}, state unknown"
                self.reach = Reach(False, note, self.reach.at)
            yield self._nothing()
        for chunk in future.result():
            yield chunk

    def _look(self, tails: list[Tail]) -> list[Chunk]:
        now, begun = self._clock(), time.monotonic()
        chunks = [chunk for tail in tails for chunk in tail.look(now)]
        for tail in tails:
            if tail.path != tail.real_path != "" and tail.real_path not in self._links:
                self._links[tail.real_path] = tail
        self._spent += time.monotonic() - begun
        return chunks

    def _nothing(self) -> Chunk:
        """An empty chunk that stands where its stream stands."""
        for tail in self._tails.values():
            return tail.nothing()
        return Chunk(Stream(""), b"", 0)

    def _note(self, events: Events) -> str:
        if not self._tails:
            return "no logs there yet"
        if all(tail.gone for tail in self._tails.values()):
            one, *others = self._tails.values()
            count = 1 + len(others)
            return f"all {count} files are gone" if others else f"{one.stream.name} is gone"
        return events.why

    def _meant(self, changed: set[str], restless: list[Tail]) -> list[Tail]:
        """The tails that changed paths belong to; an unknown path means that files may join."""
        meant = dict.fromkeys(restless)
        for path in changed:
            tail = self._tails.get(path) or self._links.get(path)
            if tail is not None:
                meant[tail] = None
            elif self._names.may_join(path):
                self._due = True
        return list(meant)

    # Which files there are

    def _find(self) -> list[Tail]:
        """Take up the logs that have joined."""
        self._due = False
        paths = self._names.find()
        unknown = [path for path in paths if path not in self._tails]
        if not unknown:
            return []
        known = set(paths)
        new = [path for path in unknown if not self._is_old(path, known)]
        new = [path for path in new if self._names.is_log(path)]
        named = [*self._tails, *new]
        told = ranks([self._around(path) for path in named])[len(self._tails) :]
        for path, rank in zip(new, told, strict=True):
            self._join(path, rank)
        return [self._tails[path] for path in new]

    def _around(self, path: str) -> str:
        if self._names.target.kind is Kind.FILE:
            return "/".join(path.split("/")[-3:])
        return f"{os.path.basename(self._names.root)}/{self._names.name_of(path)}"

    def _join(self, path: str, rank: int | None) -> None:
        name = self._names.name_of(path)
        taken = {tail.stream.name for tail in self._tails.values()}
        while name in taken:  # two names with other bytes may print the same
            name += "~"
        if self._cursors is not None and self._events is not None:
            real = os.path.realpath(path)
            if real != path:
                self._events.watch([os.path.dirname(real)], recursive=False)
        self._tails[path] = Tail(
            Stream(name, rank, kind_of(path)), path, self._open,
            tell=self.events.append, taken=self._taken,
            cursor=(self._cursors or {}).get(name), grace=self._grace,
            revalidate=self._events is not None and self._events.remote,
        )  # fmt: skip

    def _is_old(self, path: str, known: set[str]) -> bool:
        """Whether a file is a copy or another name of what another tail reads or has read."""
        elder = os.path.join(os.path.dirname(path), bare(os.path.basename(path)))
        if elder != path and elder in known and self._cursors is not None:
            name = self._names.name_of(path)
            begun = elder in self._tails and self._tails[elder].begun
            if begun or (self._names.name_of(elder) in self._cursors and name not in self._cursors):
                return True
        try:
            with open(path, "rb") as file:
                return self._taken(None, file.fileno())
        except OSError:
            return False

    def _taken(self, by: Tail | None, descriptor: int) -> bool:
        key = key_of(os.fstat(descriptor))
        return any(
            key in tail.identities and is_same(tail.identities[key], descriptor)
            for tail in self._tails.values()
            if tail is not by
        )


def _groups(tails: list[Tail], size: int) -> Iterator[list[Tail]]:
    for at in range(0, len(tails), size):
        yield tails[at : at + size]
