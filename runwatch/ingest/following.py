"""What every source of a live run is: its bytes as they are written, for as long as it is open."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from runwatch.chunk import Chunk, Cursor, Stream


@dataclass(frozen=True, slots=True)
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
    chunk of any stream after `quiet` seconds without data, so that those behind it see time pass.
    A stream that was truncated or replaced comes again from offset 0 with another identity. `last`
    marks a stream that has truly ended (a pipe that was closed). Nothing is lost silently: what
    happened to a stream (rotated, truncated, gone) is in `reach` and in `events`.
    """

    reach: Reach
    events: list[str]

    def streams(self) -> list[Stream]:
        """The streams known now; more may join."""

    def chunks(self, cursors: Mapping[str, Cursor], *, quiet: float) -> AsyncIterator[Chunk]:
        """Everything behind the cursors, and whatever is written from now on."""

    async def close(self) -> None:
        """Stop; `chunks` ends after what it has already read."""
