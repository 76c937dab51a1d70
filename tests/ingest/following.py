"""What the tests of followed sources share: read until something is there, never by sleeping."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from runwatch.chunk import Chunk, Cursor
from runwatch.ingest.following import Following

PATIENCE = 6.0
"""Seconds after which a test fails because nothing came."""


class Clock:
    """Time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        """The time in seconds."""
        return self.now


class Reader:
    """Reads a following source in the background of a test and keeps all that it gives.

    `texts` holds the bytes of each stream since it started over last, `lives` those before.
    """

    def __init__(
        self, source: Following, cursors: Mapping[str, Cursor] | None = None, quiet: float = 0.05
    ) -> None:
        self.source, self.chunks = source, list[Chunk]()
        self.texts: dict[str, bytes] = {}
        self.lives: dict[str, list[bytes]] = {}
        self.cursors = dict(cursors or {})
        self._ends = {name: cursor.offset for name, cursor in self.cursors.items()}
        self._quiet, self._news, self._ended = quiet, asyncio.Condition(), False

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self.source.close()
        await asyncio.wait_for(self._task, PATIENCE)

    async def _run(self) -> None:
        try:
            async for chunk in self.source.chunks(self.cursors, quiet=self._quiet):
                async with self._news:
                    self._take(chunk)
                    self._news.notify_all()
        finally:
            self._ended = True
            async with self._news:
                self._news.notify_all()

    def _take(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)
        if not chunk.stream.name:
            return
        name, end = chunk.stream.name, self._ends.get(chunk.stream.name, 0)
        if chunk.offset < end:
            self.lives.setdefault(name, []).append(self.texts.pop(name, b""))
        self.texts[name] = self.texts.get(name, b"") + chunk.data
        self._ends[name] = chunk.offset + len(chunk.data)
        self.cursors[name] = Cursor(chunk.identity, self._ends[name])

    def whole(self, name: str) -> bytes:
        """All bytes of a stream in the order in which they came, whatever file they were from."""
        return b"".join([*self.lives.get(name, []), self.texts.get(name, b"")])

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait for a chunk after which something holds."""
        async with self._news:
            try:
                await asyncio.wait_for(
                    self._news.wait_for(lambda: self._over() or happened()), PATIENCE
                )
            except TimeoutError:
                raise AssertionError(f"{self.texts=} {self.source.events=}") from None
        if not happened():
            await self._task
            raise AssertionError("the source ended")

    def _over(self) -> bool:
        return self._ended

    async def text(self, name: str, text: bytes) -> None:
        """Wait until a stream holds this text, all lives together."""
        await self.until(lambda: len(self.whole(name)) >= len(text))
        assert text == self.whole(name)

    async def turns(self, count: int = 2) -> None:
        """Wait for so many empty chunks: the source has looked and found nothing."""
        seen = len(self.chunks)
        await self.until(lambda: sum(not chunk.data for chunk in self.chunks[seen:]) >= count)

    async def told(self, words: str) -> None:
        """Wait until an event says so."""
        await self.until(lambda: any(words in event for event in self.source.events))
