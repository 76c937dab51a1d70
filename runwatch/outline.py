"""What a summary tells of the numbers, kept while batches go by: steps, segments, last values."""

import math
from typing import Any, NamedTuple

import numpy as np

from runwatch.chunk import Stream
from runwatch.column import Frame, distinct
from runwatch.records import Batch
from runwatch.summary import Steps

_SHOWN = (
    "loss", "eval_loss", "perplexity", "accuracy", "eval_accuracy", "reward", "lr", "grad_norm",
    "throughput", "step_time", "mfu",
)  # fmt: skip
_MAX_SERIES = 4096
# A place in a run as one number that grows with it: segment, epoch, step.
_STEP_BITS, _EPOCH_BITS, _SEGMENT_BITS = 33, 20, 10


class Last(NamedTuple):
    """A metric's value, from the stream that came furthest with it. `at` counts all points."""

    quantity: str
    value: float
    stream: str
    rank: int | None
    place: int
    at: int

    def gives_way_to(self, stream: Stream, place: int) -> bool:
        """Whether a stream tells more: the same one later, or another that is further. Of streams
        at one place the lowest rank tells, so that the order of reading does not."""
        if self.stream == stream.name or self.place != place:
            return self.stream == stream.name or place > self.place
        return _order(stream.rank, stream.name) < _order(self.rank, self.stream)


class Outline:
    """Streaming: fed batch by batch, asked at the end. `state` is plain JSON.

    Streams may be fed in any order: the batches of each in its own order give the same answer.
    """

    def __init__(self) -> None:
        self.first_step: int | None = None
        self.segments = 1
        self.ranks: set[int] = set()
        self._places: dict[str, tuple[int, float, int]] = {}  # segment, epoch, step of each stream
        self._totals: dict[str, int] = {}
        self._last: dict[str, Last] = {}
        self._seen = 0

    def feed(self, batch: Batch) -> None:
        """Take the next batch."""
        if batch.total_steps is not None:
            self._totals[batch.stream.name] = batch.total_steps
        for rank in (batch.points.column("rank"), batch.lines.column("rank")):
            self.ranks.update(distinct(rank.numbers()[rank.known]).tolist())
        self._go(batch)
        points = batch.points
        if not len(points):
            return
        steps = points.column("step")
        if not steps.empty:
            # What `progress` tells of a batch is its last step.
            low = int(steps.numbers()[steps.known].min())
            self.first_step = low if self.first_step is None else min(low, self.first_step)
        self._remember(batch.stream, points)
        self._seen += len(points)

    def _go(self, batch: Batch) -> None:
        """Follow the stream: the step of its last line, in the segment and epoch of its points."""
        points = batch.points
        segment, epoch, step = self._places.get(batch.stream.name, (0, -1.0, -1))
        if len(points):
            segment = max(segment, int(points.column("segment").numbers().max()))
            self.segments = max(self.segments, segment + 1)
            epochs = points.column("epoch")
            if not epochs.empty:
                epoch = float(epochs.numbers()[epochs.known][-1])
        if batch.progress:
            told = [step for step, _ in batch.progress.values()]
            self.first_step = min(told if self.first_step is None else [*told, self.first_step])
            step = max(batch.progress.values(), key=lambda place: place[1])[0]
        if step >= 0 or len(points):
            self._places[batch.stream.name] = (segment, epoch, step)

    def _remember(self, stream: Stream, points: Frame) -> None:
        """The last value of every metric that a summary may show."""
        metric, quantity = points.column("metric"), points.column("quantity")
        names, kinds = metric.words, quantity.words
        codes, measured = metric.numbers(), quantity.numbers(-1)
        values = points.column("value").values
        rows = np.full(len(names), -1)
        rows[codes] = np.arange(len(codes))  # of several the last one stays
        furthest = np.full(len(names), -1)
        np.maximum.at(furthest, codes, _places(points))
        for row in np.sort(rows[rows >= 0]).tolist():
            kind = int(measured[row])
            if kind < 0 or kinds[kind] not in _SHOWN:
                continue
            name, place = names[codes[row]], int(furthest[codes[row]])
            held = self._last.get(name)
            if held is None and len(self._last) >= _MAX_SERIES:
                continue
            if held is not None and not held.gives_way_to(stream, place):
                continue
            if held is not None and held.stream == stream.name:
                place = max(place, held.place)
            self._last[name] = Last(
                kinds[kind], float(values[row]), stream.name, stream.rank, place, self._seen + row
            )

    @property
    def last_step(self) -> int | None:
        """How far the run is: of the streams in the last segment, the furthest."""
        steps = [place for place in self._places.values() if place[2] >= 0]
        return max(steps)[2] if steps else None

    @property
    def total_steps(self) -> int | None:
        """How far it wants to go; of several announcements the largest."""
        return max(self._totals.values(), default=None)

    @property
    def steps(self) -> Steps:
        """Where the run began, where it is, and where it goes."""
        return Steps(self.first_step, self.last_step, self.total_steps)

    def latest(self, quantity: str) -> tuple[str, float] | None:
        """Name and value of the metric of this quantity that was reported last."""
        found = [(told.at, name) for name, told in self._last.items() if told.quantity == quantity]
        return (name := max(found)[1], self._last[name].value) if found else None

    def final_metrics(self) -> dict[str, float]:
        """The last value of the metrics that say how it went, the loss first."""
        ranked = sorted(self._last.items(), key=lambda item: _shown_at(item[1]))
        found: dict[str, float] = {}
        each: dict[str, int] = {}
        for name, told in ranked:
            kind, value = told.quantity, told.value
            each[kind] = each.get(kind, 0) + 1
            if each[kind] <= 2 and (math.isfinite(value) or kind in ("loss", "grad_norm")):
                found[name] = value
        return found

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {
            "first_step": self.first_step, "segments": self.segments, "ranks": sorted(self.ranks),
            "places": self._places, "totals": self._totals, "last": self._last,
            "seen": self._seen,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self.first_step, self.segments = state["first_step"], state["segments"]
        self.ranks = set(state["ranks"])
        self._places = {name: (int(s), e, int(i)) for name, (s, e, i) in state["places"].items()}
        self._totals = dict(state["totals"])
        self._last = {name: Last(*told) for name, told in state["last"].items()}
        self._seen = state["seen"]


def _shown_at(told: Last) -> tuple[Any, ...]:
    return (_SHOWN.index(told.quantity), _order(told.rank, told.stream), told.at)


def _order(rank: int | None, name: str) -> tuple[float, str]:
    return (math.inf if rank is None else rank, name)


def _places(points: Frame) -> Any:
    """The place of each point as one number."""
    place = np.zeros(len(points), np.int64)
    parts = (("segment", _SEGMENT_BITS), ("epoch", _EPOCH_BITS), ("step", _STEP_BITS))
    for name, bits in parts:
        values = np.clip(points.column(name).numbers(-1), -1, (1 << bits) - 2)
        place = (place << bits) + np.nan_to_num(values).astype(np.int64) + 1
    return place
