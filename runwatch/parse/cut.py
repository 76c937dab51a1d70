"""Bytes of a stream cut into lines, wherever the chunks were cut.

Only `\\n` ends a line. `\\r` ends a text within one, so that the redraws of a progress bar of any
length are read one by one, each under the number of its line.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from runwatch.chunk import Chunk, Cursor
from runwatch.parse.clean import MAX_TEXT
from runwatch.slotted import mutable

_MAX_TAIL = 4 * MAX_TEXT  # bytes of an unfinished text that are kept
_MARK = b"\xef\xbb\xbf"


class Spans(NamedTuple):
    """Whole texts in place: the first, which was begun before, and the rest of them. Behind the
    `body` there are bytes to spare, behind the `end` there may be none."""

    begun: bytes
    body: memoryview
    end: memoryview


@mutable
class Cut:
    """One stream: the unfinished text, the bytes that it stands for, the lines before it, and
    whether texts of the line that it is in were read."""

    tail: bytes = b""
    length: int = 0
    lines: int = 0
    offset: int = 0
    identity: str = ""
    begun: bool = False

    def feed(self, chunk: Chunk) -> Iterator[tuple[int, str]]:
        """The finished texts of the next bytes with their line numbers; `lines` grows meanwhile."""
        data = self._joins(chunk)
        end = _last_end(data, len(data))
        text = (self.tail + data[:end]).decode("utf-8", "replace") if end else ""
        if end:
            self.tail, self.length, self.begun = b"", 0, data[end - 1 : end] == b"\r"
        self.length += len(data) - end
        if len(self.tail) < _MAX_TAIL:
            self.tail += data[end : end + _MAX_TAIL - len(self.tail)]
        self.offset = chunk.offset + len(chunk.data) - self.length
        *whole, rest = text.split("\n")
        for line in whole:
            self.lines += 1
            yield self.lines, line
        if rest:
            yield self.lines + 1, rest

    def whole(self, chunk: Chunk, room: int) -> tuple[Spans | None, Chunk]:
        """The finished texts of the next bytes, and the chunk without them."""
        data = self._joins(chunk)
        end = _last_end(data, len(data))
        if not end or self.length > len(self.tail):
            return None, chunk
        first, last = _edges(data, room)
        view = memoryview(data)
        spans = Spans(self.tail + data[:first], view[first:last], view[last:end])
        self.tail, self.length, self.begun = b"", 0, data[end - 1 : end] == b"\r"
        self.offset = chunk.offset + len(chunk.data) - (len(data) - end)
        return spans, replace(chunk, data=data[end:], offset=self.offset)

    def _joins(self, chunk: Chunk) -> bytes:
        """The next bytes without a mark in front; what they do not continue is gone."""
        if chunk.data and chunk.offset != self.offset + self.length:
            self.tail, self.length, self.begun = b"", 0, False
        self.identity = chunk.identity or self.identity
        if chunk.offset == 0 and not self.length:
            return chunk.data.removeprefix(_MARK)
        return chunk.data

    def give_up(self) -> Iterator[tuple[int, str]]:
        """The unfinished text, at the true end of the input; a line whose last redraw is finished
        has none, and is a line."""
        if self.tail or self.begun:
            self.lines += 1
        if self.tail:
            yield self.lines, self.tail.decode("utf-8", "replace")
        self.tail, self.length, self.begun = b"", 0, False

    @property
    def cursor(self) -> Cursor:
        """Where the unfinished text begins."""
        return Cursor(self.identity, self.offset, self.lines)

    def state(self) -> dict[str, Any]:
        """Plain values to go on from; the unfinished text is read again."""
        return {
            "lines": self.lines, "offset": self.offset, "identity": self.identity,
            "begun": self.begun,
        }  # fmt: skip


def body(data: bytes, room: int) -> memoryview:
    """What the `body` of these bytes will be, whatever was begun before."""
    first, last = _edges(data, room) if _last_end(data, len(data)) else (0, 0)
    return memoryview(data)[first:last]


def _edges(data: bytes, room: int) -> tuple[int, int]:
    """Behind the first text, which was begun before, and behind the last that has so many bytes
    behind it."""
    first = _first_end(data)
    return first, max(first, _last_end(data, max(first, len(data) - room)))


def _last_end(data: bytes, limit: int) -> int:
    """Behind the last end of a text before a limit; 0 where there is none."""
    newline = data.rfind(b"\n", 0, limit)
    return max(newline, data.rfind(b"\r", newline + 1, limit)) + 1


def _first_end(data: bytes) -> int:
    """Behind the first end of a text; there is one."""
    newline = data.find(b"\n")
    turn = data.find(b"\r", 0, newline if newline >= 0 else len(data))
    return (turn if turn >= 0 else newline) + 1
