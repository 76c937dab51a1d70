"""What every source is: a run's streams, and their bytes from wherever they were left."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.slotted import frozen

CHUNK_SIZE = 1 << 23
"""Bytes of text in a chunk, about: memory stays flat whatever the size of the log, and there is
enough in it for two threads to be busy nearly to its end."""


@frozen
class Skipped:
    """A file that was not read, or not to its end, and why, in words for a person.

    `read` counts the bytes of text that were given before the break, 0 where none was. `count`
    is how many files of the same folder were passed over for the same reason; `name` is then the
    first of them.
    """

    name: str
    reason: str
    read: int = 0
    count: int = 1


class Source(Protocol):
    """The bytes of one run.

    A source at rest ends; a following one goes on until closed and sends an empty chunk when it
    was quiet, so that those behind it see time pass. Only `chunks` may block. Nothing is lost
    silently: what could not be read is in `skipped`, which is complete once `chunks` has ended.
    """

    skipped: list[Skipped]

    def streams(self) -> list[Stream]:
        """The streams known now, in the order in which `chunks` gives them; at least one."""

    def chunks(self, cursors: Mapping[str, Cursor]) -> Iterator[Chunk]:
        """Everything behind the cursors (by stream name), each stream's bytes in order.

        A stream goes on at its cursor if it is still recognised as the same and is long enough,
        and starts over at offset 0 if not: look at `Chunk.offset`. Streams may interleave. Every
        stream that ends gives one chunk with `last` set, empty where nothing was left. Raises
        InputError where a run of one stream gives nothing at all.
        """
