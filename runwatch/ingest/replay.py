"""A run from memory, cut where you like: the source that tests use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.digest import blake2b
from runwatch.ingest.ranks import ranks
from runwatch.ingest.source import CHUNK_SIZE, Skipped


@dataclass
class Replay:
    """`files` by name, read in the order given, in chunks of the `sizes`, the last one repeated.

    An empty chunk comes where a size is 0, as from a source that was quiet.
    """

    files: Mapping[str, bytes]
    sizes: Sequence[int] = (CHUNK_SIZE,)
    skipped: list[Skipped] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.sizes or self.sizes[-1] <= 0 or min(self.sizes) < 0:
            raise ValueError(f"the last of the sizes must be above 0, all at least 0: {self.sizes}")

    def streams(self) -> list[Stream]:
        """One stream a file; ranks are told from the names as for files on disk."""
        return [Stream(*named) for named in zip(self.files, ranks(list(self.files)), strict=True)]

    def chunks(self, cursors: Mapping[str, Cursor]) -> Iterator[Chunk]:
        """Each file's bytes behind its cursor, one file after the other."""
        for stream in self.streams():
            text = self.files[stream.name]
            identity = blake2b(stream.name.encode(), digest_size=8).hexdigest()
            start = _start(cursors.get(stream.name), identity, len(text))
            for begin, end in pairwise(self._cuts(start, len(text))):
                last = end == len(text) and (end > begin or begin == start == end)
                yield Chunk(stream, text[begin:end], begin, identity, len(text), end, last)

    def _cuts(self, start: int, end: int) -> Iterator[int]:
        yield start
        if start == end:
            yield end
        at = start
        for size in chain(self.sizes, iter(lambda: self.sizes[-1], None)):
            if at == end:
                return
            at = min(at + size, end)
            yield at


def _start(cursor: Cursor | None, identity: str, size: int) -> int:
    if cursor is None or cursor.identity != identity or cursor.offset > size:
        return 0
    return cursor.offset
