"""Files of records that are followed: their bytes turned into lines as they are written."""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import Any

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.ingest import records
from runwatch.ingest.follow_table import Table
from runwatch.ingest.following import Following, Reach
from runwatch.ingest.identity import is_head
from runwatch.ingest.kinds import lasting
from runwatch.slotted import mutable


@mutable
class _Growing:
    """A file that grows; `offset` is where its text ends, `given` how much of it is known."""

    stream: Stream
    made: records.Translation
    offset: int = 0
    given: int = 0

    def feed(self, chunk: Chunk) -> Iterator[Chunk]:
        """The lines that these bytes complete, without what an earlier reader has had."""
        text = self.made.feed(chunk.data)
        begin, self.offset = self.offset, self.offset + len(text)
        start = max(begin, self.given)
        if start < self.offset:
            yield replace(chunk, stream=self.stream, data=text[start - begin :], offset=start)


@mutable
class _Document:
    """A document that is written anew and longer, under one name or one for each checkpoint."""

    stream: Stream
    cursor: Cursor | None
    text: bytes = b""

    def take(self, chunk: Chunk, text: bytes) -> Iterator[Chunk]:
        """What a whole document has more than the one before it."""
        cursor, start = self.cursor, len(self.text)
        if cursor is not None:
            if len(text) < cursor.offset:
                return  # of a checkpoint before the one that was read
            self.cursor = None
            start = cursor.offset if records.is_same_text(cursor.identity, text) else 0
        elif self.text.startswith(text):
            return
        elif not text.startswith(self.text):
            start = 0
        identity = records.identity_of_text(text)
        if self.text and not start:
            yield replace(chunk, stream=self.stream, data=b"", offset=0, identity=identity)
        self.text = text
        yield replace(chunk, stream=self.stream, data=text[start:], offset=start, identity=identity)


class Translated:
    """A followed source whose files of records come as lines; everything else as it is.

    See `Following`. `inner` gives the stored bytes.
    """

    def __init__(self, inner: Following) -> None:
        self._inner = inner
        self._cursors: dict[str, Cursor] = {}
        self._growing: dict[str, _Growing] = {}
        self._documents: dict[str, _Document] = {}
        self._tables: dict[str, Table] = {}
        self._streams: dict[str, Stream] = {}
        self._damage: dict[str, str] = {}

    @property
    def reach(self) -> Reach:
        """Whether the source answers."""
        return self._inner.reach

    @property
    def settled(self) -> bool | None:
        """Whether all that was there has been given, None where only silence tells."""
        return getattr(self._inner, "settled", None)

    @property
    def host(self) -> Any:
        """The host that the files are on, None for this machine."""
        return getattr(self._inner, "host", None)

    @property
    def paths(self) -> list[str]:
        """Where the files of another host lie there."""
        return getattr(self._inner, "paths", [])

    @property
    def events(self) -> list[str]:
        """What happened to the files, damaged records included."""
        return self._inner.events

    def streams(self) -> list[Stream]:
        """The streams known now, each with its kind."""
        told = map(self._told, self._inner.streams())
        return list({one.name: one for one in told}.values())

    async def close(self) -> None:
        """Stop."""
        await self._inner.close()

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """See `Following`. A position in lines is none in bytes: such a file is read from its
        first byte, and the lines that are known are left out."""
        self._growing.clear()
        self._documents.clear()
        self._tables.clear()
        self._cursors = dict(cursors)
        kept = {one.name for one in self.streams() if one.kind in records.FORMATS}
        plain = {name: cursor for name, cursor in cursors.items() if name not in kept}
        async for chunk in self._inner.chunks(plain, quiet=quiet):
            for told in self._translated(chunk):
                yield told

    def _told(self, stream: Stream) -> Stream:
        found = self._streams.get(stream.name, stream)
        return replace(found, name=lasting(found.name)) if found.kind == records.STATE else found

    def _translated(self, chunk: Chunk) -> Iterator[Chunk]:
        name = chunk.stream.name
        if chunk.stream.kind == "table":
            yield from self._tables.setdefault(name, Table()).take(chunk)
            return
        if chunk.offset == 0:
            self._growing.pop(name, None)  # it starts over, or begins
            if chunk.data:
                self._begin(chunk)
        growing = self._growing.get(name)
        if growing is None:
            stream = self._told(chunk.stream)
            if stream.kind not in records.FORMATS or not chunk.data:
                yield self._quiet(chunk, stream)
            return
        if not chunk.data:
            yield self._quiet(chunk, growing.stream)
        elif growing.stream.kind == records.STATE:
            if text := growing.made.feed(chunk.data):
                yield from self._documents[growing.stream.name].take(chunk, text)
        else:
            yield from growing.feed(chunk)
        self._tell(name, growing)

    def _begin(self, chunk: Chunk) -> None:
        kind = records.format_of(chunk.data[: records.HEAD])
        if not kind:
            return
        self._streams[chunk.stream.name] = replace(chunk.stream, kind=kind)
        stream = self._told(chunk.stream)
        growing = _Growing(stream, records.translation(kind))
        cursor = self._cursors.pop(stream.name, None)
        if kind == records.STATE:
            self._documents.setdefault(stream.name, _Document(stream, cursor))
        elif cursor is not None and is_head(cursor.identity, chunk.identity, chunk.data):
            growing.given = cursor.offset
        self._growing[chunk.stream.name] = growing

    def _quiet(self, chunk: Chunk, stream: Stream) -> Chunk:
        """An empty chunk that stands where the lines of its stream end."""
        if stream.kind not in records.FORMATS:
            return replace(chunk, stream=stream)
        document = self._documents.get(stream.name)
        if document is not None:
            text = document.text
            identity = records.identity_of_text(text) if text else ""
            return replace(chunk, stream=stream, offset=len(text), identity=identity)
        growing = self._growing.get(chunk.stream.name)
        end = max(growing.offset, growing.given) if growing else 0
        return replace(chunk, stream=stream, offset=end)

    def _tell(self, name: str, growing: _Growing) -> None:
        damage = growing.made.damage
        if damage and damage != self._damage.get(name):
            self._damage[name] = damage
            self.events.append(f"{name}: {damage}")
