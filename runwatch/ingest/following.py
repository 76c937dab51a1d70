"""What every source of a live run is: its bytes as they are written, for as long as it is open."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Protocol

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.slotted import frozen
from runwatch.target import SERVICES, Kind, Target


@frozen
class Reach:
    """Whether the source answers. Where it does not, the state of the run is unknown, not bad.

    `note` says in words what a person should know: a fallback to polling, why nothing comes, since
    when. `at` is the clock's time of the last answer in seconds.
    """

    ok: bool
    note: str = ""
    at: float = 0.0


class Following(Protocol):
    """The bytes of a run that is being written.

    Only `chunks` waits. It goes on until `close`, yields data as soon as it is there, and an empty
    chunk of any stream after `quiet` seconds without data, so that those behind it see time pass;
    its stream has no name where none is known yet.
    Each chunk begins where the one before it in its stream ended, but for two cases: a stream that
    was truncated or replaced comes again from offset 0, an empty chunk with the new identity
    first, and NULs that were skipped leave a gap. An unfinished line in front of either is over.
    `last` marks a stream that has truly ended (a pipe that was closed). Nothing is lost silently:
    what happened to a stream (rotated, truncated, gone) is in `reach` and in `events`. Raises
    UnreachableError where trying again cannot help (a host key that changed).

    A source for which silence does not mean that there is nothing, as it has not been answered yet,
    has a `settled`, false until all that was there has been given; None where silence does tell.
    """

    @property
    def reach(self) -> Reach:
        """Whether the source answers, and what a person should know now."""

    @property
    def events(self) -> list[str]:
        """What happened to the streams, in words, the latest last; it only grows."""

    def streams(self) -> list[Stream]:
        """The streams known now; more may join."""

    def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """Everything behind the cursors, and whatever is written from now on."""

    async def close(self) -> None:
        """Stop; `chunks` ends after what it has already read."""


def open_following(target: Target, *, clock: Callable[[], float] = time.time) -> Following:
    """The live source of a target: `open_following` of the module named after its kind.

    Raises InputError where there is nothing to follow, UsageError where a part of runwatch that
    it needs is not installed.
    """
    module = _MODULES.get(target.kind, str(target.kind))
    source: Following = import_module(f"runwatch.ingest.{module}").open_following(
        target, clock=clock
    )
    return source


_MODULES = {
    Kind.FILE: "follow",
    Kind.FOLDER: "follow",
    Kind.GLOB: "follow",
    Kind.STANDARD_INPUT: "pipe",
    Kind.PID: "process_follow",
    Kind.PROC: "process_follow",
    **dict.fromkeys(SERVICES, "service_follow"),
}


async def in_parts(chunks: AsyncIterator[Chunk], most: Callable[[], int]) -> AsyncIterator[Chunk]:
    """The same bytes in chunks of at most `most()`, which is asked before each of them: where bytes
    are read slowly, others are served between few of them."""
    try:
        async for chunk in chunks:
            start, end = 0, -1
            while end < len(chunk.data):
                end = min(start + most(), len(chunk.data))
                yield chunk.part(start, end)
                start = end
    finally:
        await ended(chunks)


async def ended(chunks: AsyncIterator[Chunk]) -> None:
    """End the chunks of a source now, unless they are being asked for in this moment."""
    if closing := getattr(chunks, "aclose", None):
        with suppress(RuntimeError):
            await closing()
