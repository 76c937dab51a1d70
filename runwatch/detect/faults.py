"""Failures that a log tells in words: which came first, which are echoes, which were overcome."""

from typing import Any

from runwatch.chunk import Stream
from runwatch.detect.ending import ending_of
from runwatch.detect.episode import Episode
from runwatch.detect.loop import looping
from runwatch.detect.report import reported
from runwatch.detect.series import Columns
from runwatch.detect.sighting import Sightings
from runwatch.detect.story import told
from runwatch.finding import Finding
from runwatch.judgement import Check, Ending
from runwatch.records import Batch


class Detector:
    """Finds known failure texts, tracebacks and launcher tables, and names the one that began it.

    Sees: lines that hold a fragment of `signature/*.toml`, tracebacks of any exception, tables of
    torchelastic, words that close a run. The earliest line that explains the end is the root; what
    the run overcame and what other ranks print after it are told apart from it. An exception that
    nothing explains is a `python_exception`; words of success after a launcher's failure are a
    `false_success`, and a failure after the trainer's own last words a `finished_teardown_error`. A
    run that was started again and failed alike three times, without having come further than the
    first of them, is in a `crash_loop`, which further progress ends.

    Matters: a thousand lines of a dying run are echoes of one.

    Misses: faults whose words are not known and that raise no exception, and causes that stand in
    another log (kernel, another node).

    Tune: a new signature is an entry in `signature/*.toml` with lines that are it and lines that
    are not.
    """

    name = "faults"

    def __init__(self) -> None:
        self._streams: dict[str, Sightings] = {}

    def feed(self, batch: Batch, _columns: Columns | None = None) -> None:
        """Take the next batch of one stream; batches of a stream come in line order."""
        self._of(batch.stream).feed(batch)

    def _of(self, stream: Stream) -> Sightings:
        seen = self._streams.get(stream.name)
        if seen is None:
            seen = self._streams[stream.name] = Sightings(stream.name, stream.rank)
            seen.tables.stream = stream.name
        return seen

    def _told(self) -> tuple[Episode, list[Sightings]]:
        streams = [seen for _, seen in sorted(self._streams.items())]
        return told(streams), streams

    def findings(self) -> list[Finding]:
        """The root first, then its echoes, then what was overcome."""
        episode, streams = self._told()
        return [*reported(episode, streams), *looping(episode, streams)]

    def ending(self, *, live: bool = False) -> Ending:
        """How the run ended by its words and its progress; `live` where more may be written."""
        return ending_of(*self._told(), live=live)

    def check(self) -> Check:
        """Text can be searched whenever there is any."""
        lines = sum(s.last_line for s in self._streams.values())
        return Check(self.name, lines > 0, "" if lines else "no line was read")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values, to go on from in another process."""
        return {"streams": [s.state() for s in self._streams.values()]}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._streams = {s["stream"]: Sightings.restored(s) for s in state["streams"]}
