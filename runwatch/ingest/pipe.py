"""Standard input or a named pipe, followed: bytes as they come, until its writer closes it."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import InputError, in_words
from runwatch.ingest.following import Reach
from runwatch.target import Target

_PIECE = 1 << 16
_PATIENCE = 1.0  # seconds in which a named pipe may find its writer without a word
_AHEAD = 256  # pieces that are held for a slow reader before the writer has to wait


def open_following(
    target: Target, *, clock: Callable[[], float] = time.time, tee: int | None = None
) -> "Pipe":
    """Follow descriptor 0. With `tee`, a descriptor, all bytes are passed on to it at once."""
    return Pipe(0, clock=clock, tee=tee)


class Pipe:
    """One stream from a descriptor, or from a path that is opened when reading begins.

    A thread of its own reads and passes on, so that a slow analysis does not slow the program
    whose output this is before 16 MiB are held. Identities are empty: no pipe can be read again.
    """

    def __init__(
        self, where: int | str, *, clock: Callable[[], float] = time.time, tee: int | None = None
    ) -> None:
        self.events: list[str] = []
        self.reach = Reach(True, "", clock())
        self._stream = Stream("stdin" if where == 0 else Path(os.fsdecode(str(where))).name)
        self._where, self._clock, self._tee = where, clock, tee
        self._room = threading.Semaphore(_AHEAD)
        self._pieces: asyncio.Queue[bytes | OSError] = asyncio.Queue()
        self._closed = self._opened = False

    def streams(self) -> list[Stream]:
        """The one stream."""
        return [self._stream]

    async def close(self) -> None:
        """Stop; `chunks` ends after what it has already read."""
        self._closed = True
        self._pieces.put_nowait(b"")

    async def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """Everything from the first byte; the cursors say nothing about a pipe."""
        loop, offset = asyncio.get_running_loop(), 0
        begun = time.monotonic()
        threading.Thread(target=self._pump, args=(loop,), daemon=True).start()
        while True:
            try:
                async with asyncio.timeout(quiet):
                    data = await self._pieces.get()
            except TimeoutError:
                if not self._opened and time.monotonic() - begun > _PATIENCE and not self.events:
                    self.events.append(f"{self._stream.name} is a pipe that nobody writes to yet")
                yield Chunk(self._stream, b"", offset, position=offset)
                continue
            if isinstance(data, OSError):
                raise InputError(f"{self._stream.name}: {in_words(data)}") from data
            if not data:
                break
            self._room.release()
            while not self._pieces.empty() and len(data) < _PIECE * 16:  # what came meanwhile
                more = self._pieces.get_nowait()
                if not isinstance(more, bytes) or not more:
                    self._pieces.put_nowait(more)
                    break
                self._room.release()
                data += more
            self.reach = Reach(True, "", self._clock())
            yield Chunk(self._stream, data, offset, position=offset + len(data))
            offset += len(data)
        yield Chunk(self._stream, b"", offset, position=offset, last=not self._closed)

    def _pump(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read to the end, from a thread: a pipe, a file or a terminal behave the same in it."""
        try:
            where = self._where
            descriptor = where if isinstance(where, int) else os.open(where, os.O_RDONLY)
            self._opened = True
            while data := os.read(descriptor, _PIECE):
                self._pass_on(data)
                self._room.acquire()
                loop.call_soon_threadsafe(self._pieces.put_nowait, data)
            if descriptor != where:
                os.close(descriptor)
            loop.call_soon_threadsafe(self._pieces.put_nowait, b"")
        except OSError as error:
            loop.call_soon_threadsafe(self._pieces.put_nowait, error)
        except RuntimeError:  # the loop has ended, nobody reads any more
            return

    def _pass_on(self, data: bytes) -> None:
        while self._tee is not None and data:
            try:
                data = data[os.write(self._tee, data) :]
            except OSError as error:
                self._tee = None
                self.events.append(f"no longer passed on: {in_words(error)}")
