"""Tables that are followed: one that is written anew because it has got a column goes on.

Lightning and others write the whole file again, all rows with an empty cell more, once a metric is
logged for the first time. The rows that were given before are not given again.
"""

from collections.abc import Iterator
from dataclasses import replace

from runwatch.chunk import Chunk
from runwatch.slotted import mutable


@mutable
class Table:
    """One table: its heading, its first and its last row, how many there were.

    `end` is where the text that was given ends. After a new heading that lies behind the file's
    own offset by `shift`.
    """

    heading: bytes = b""
    first: bytes = b""
    last: bytes = b""
    rows: int = 0
    end: int = 0
    shift: int = 0
    tail: bytes = b""
    held: bytes | None = None  # what was read of a table that is written anew

    def take(self, chunk: Chunk) -> Iterator[Chunk]:
        """The chunk as it is, or what a table written anew has more."""
        if not chunk.data and not chunk.offset and self.heading:
            self.held = self.held or b""
        if self.held is not None:
            self.held += chunk.data
            yield from self._settled(chunk, self.held)
            return
        yield self._given(replace(chunk, offset=chunk.offset + self.shift))

    def _settled(self, chunk: Chunk, held: bytes) -> Iterator[Chunk]:
        lines = held[: held.rfind(b"\n") + 1].split(b"\n")[:-1]
        if len(lines) > 1 and (self.tail or not self._same(self.first, lines[0], lines[1])):
            yield from self._over(chunk, held)
        elif len(lines) > self.rows:
            if not self._same(self.last, lines[0], lines[self.rows]):
                yield from self._over(chunk, held)
                return
            seen = sum(len(line) + 1 for line in lines[: self.rows + 1])
            text = lines[0] + b"\n" + held[seen:]
            begin, self.held, self.heading = self.end, None, lines[0]
            self.shift = begin + len(text) - len(held)
            self._note(held[seen:])
            self.end = begin + len(text)
            yield replace(chunk, data=text, offset=begin)

    def _over(self, chunk: Chunk, held: bytes) -> Iterator[Chunk]:
        """It is another table: it comes from its start."""
        self.heading = self.first = self.last = self.tail = b""
        self.rows = self.end = self.shift = 0
        self.held = None
        yield replace(chunk, data=b"", offset=0)
        yield self._given(replace(chunk, data=held, offset=0))

    def _given(self, chunk: Chunk) -> Chunk:
        if chunk.data and (self.heading or not chunk.offset):
            self._note(chunk.data)
        self.end = chunk.offset + len(chunk.data)
        return chunk

    def _note(self, data: bytes) -> None:
        *lines, self.tail = (self.tail + data).split(b"\n")
        if lines and not self.heading:
            self.heading, *lines = lines
        if lines:
            self.first = self.first or lines[0]
            self.last = lines[-1]
            self.rows += len(lines)

    def _same(self, row: bytes, heading: bytes, now: bytes) -> bool:
        """Whether a row says the same under another heading."""
        return _cells(self.heading, row) == _cells(heading, now)


def _cells(heading: bytes, row: bytes) -> dict[bytes, bytes]:
    pairs = zip(heading.split(b","), row.split(b","), strict=False)
    return {name.strip(): cell.strip() for name, cell in pairs if cell.strip()}
