"""The last lines of every stream, to cite from while a run is watched."""

from collections.abc import Mapping

from runwatch.chunk import Chunk

_ALL = 8 << 20  # bytes kept of all streams together, about
_LEAST, _MOST = 4 << 10, 256 << 10  # of one stream


class Recent:
    """Bytes as they came, cut at line ends when they grow too many."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[int, bytearray]] = {}  # number of the first line, bytes
        self._ends: dict[str, int] = {}

    def feed(self, chunk: Chunk, first_line: int) -> None:
        """Take the next bytes of a stream; they continue or begin line `first_line`."""
        name = chunk.stream.name
        base, text = self._texts.get(name, (first_line, bytearray()))
        if self._ends.get(name, chunk.offset) != chunk.offset:
            del text[text.rfind(b"\n") + 1 :]  # what was unfinished is gone
        self._ends[name] = chunk.offset + len(chunk.data)
        room = max(_LEAST, min(_MOST, _ALL // max(1, len(self._texts))))
        text += chunk.data
        if len(text) > 2 * room:
            cut = text.find(b"\n", len(text) - room) + 1
            base += text.count(b"\n", 0, cut)
            del text[:cut]
        self._texts[name] = base, text

    def cite(self, wanted: Mapping[str, set[int]]) -> dict[tuple[str, int], str]:
        """The wanted lines that are still here, by stream and number."""
        found = {}
        for name, numbers in wanted.items():
            base, text = self._texts.get(name, (1, bytearray()))
            lines = bytes(text).split(b"\n") if numbers else []
            for number in numbers:
                if 0 <= number - base < len(lines):
                    found[name, number] = lines[number - base].decode("utf-8", "replace")
        return found
