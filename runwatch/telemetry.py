"""What machines tell of themselves beside the logs of a run: parsed as any log, judged apart.

It is no sign of life and no number of the run: it counts in no step, no line and no series of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.detect import Detector
from runwatch.parse import Parser
from runwatch.parse.knowledge import builtin
from runwatch.records import Batch


class Telemetry:
    """Chunks go in, batches come out, and the detectors that have a `gauge` see them."""

    def __init__(self, detectors: Sequence[Detector], year: int) -> None:
        gauges = [gauge for one in detectors if (gauge := getattr(one, "gauge", None))]
        self._gauges, self._year = gauges, year
        self._parser: Parser | None = None
        self._streams: dict[str, Stream] = {}

    def take(self, chunk: Chunk) -> Batch:
        """Read the next lines of a machine."""
        self._streams[chunk.stream.name] = chunk.stream
        batch = self._parsing.feed(chunk)
        batch = replace(batch, lines=batch.lines[:0])  # a machine writes no line of note
        for gauge in self._gauges:
            gauge(batch)
        return batch

    @property
    def _parsing(self) -> Parser:
        """Made when it is needed first."""
        if self._parser is None:
            self._parser = Parser(watchwords=set(), year=self._year, knowledge=builtin())
        return self._parser

    def cursors(self) -> dict[str, Cursor]:
        """Where to go on."""
        return {name: self._parsing.cursor(one) for name, one in self._streams.items()}

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        parsed = None if self._parser is None else self._parser.state()
        streams = [[one.name, one.rank, one.kind] for one in self._streams.values()]
        return {"parser": parsed, "streams": streams}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` gave."""
        self._streams = {name: Stream(name, *more) for name, *more in state["streams"]}
        if state["parser"] is not None:
            self._parsing.restore(state["parser"])
