"""All writers of a run, by stream and rank, and whose line with a prefix was the last."""

from collections.abc import Callable, Iterable
from typing import Any

from runwatch.parse.place import Place
from runwatch.parse.writer import Writer

Key = tuple[str, int | None]


class Writers:
    """Makes a writer when it is first asked for. Where lines are replayed `settle` is told before
    a writer is given out, so that it knows what was made of its lines."""

    def __init__(self, new: Callable[[], Writer] = Writer) -> None:
        self._new = new
        self._streams: dict[str, dict[int | None, Writer]] = {}
        self._speakers: dict[str, int | None] = {}
        self._touched: dict[Key, None] = {}
        self._restless: dict[str, set[int | None]] = {}
        self.settle: Callable[[str, int | None], None] | None = None

    def of(self, name: str, rank: int | None) -> Writer:
        """A writer by its stream and rank."""
        if self.settle is not None:
            self.settle(name, rank)
        writers = self._streams.setdefault(name, {})
        writer = writers.get(rank)
        if writer is None:
            writer = writers[rank] = self._new()
        return writer

    def known(self, name: str, rank: int | None) -> Writer:
        """A writer that there is, as far as it knows what was made of its lines."""
        return self._streams[name][rank]

    def reading(self, name: str, rank: int | None) -> Writer:
        """A writer for a line that may change it."""
        self._touched[name, rank] = None
        return self.of(name, rank)

    def ranks(self, name: str) -> list[int | None]:
        """The ranks of all writers of a stream."""
        return list(self._streams.get(name, ()))

    def places(self, name: str) -> Iterable[Place]:
        """The places of all writers of a stream."""
        return (writer.place for writer in self._streams.get(name, {}).values())

    def speaker(self, name: str, rank: int | None = None) -> int | None:
        """Whose line with a prefix was the last of a stream; `rank` where there was none."""
        return self._speakers.get(name, rank)

    def heard(self, name: str, rank: int | None) -> None:
        """Remember whose line with a prefix was the last of a stream."""
        self._speakers[name] = rank

    def is_calm(self, name: str) -> bool:
        """Whether the next line of a stream depends on nothing but the places of its writers."""
        self._see_touched()
        return not self._restless.get(name)

    def touched(self) -> list[Key]:
        """The writers of the lines that were read since the last call."""
        keys = list(self._touched)
        self._see_touched()
        self._touched.clear()
        return keys

    def _see_touched(self) -> None:
        """Take note of who is calm among them."""
        for name, rank in self._touched:
            if not self._streams[name][rank].calm:
                self._restless.setdefault(name, set()).add(rank)
            elif name in self._restless:
                self._restless[name].discard(rank)

    def forget(self) -> None:
        """Begin anew."""
        self._streams, self._speakers = {}, {}
        self._touched.clear()

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {
            "speakers": self._speakers,
            "writers": [
                [name, rank, writer.state()]
                for name, writers in self._streams.items()
                for rank, writer in writers.items()
            ],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self._speakers, self._streams = dict(state["speakers"]), {}
        for name, rank, writer in state["writers"]:
            self._streams.setdefault(name, {})[rank] = Writer.restored(writer)
            self._touched[name, rank] = None
