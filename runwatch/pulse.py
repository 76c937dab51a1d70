"""How a live run is right now: where each stream is, how fast it goes, how the loss went."""

from collections import deque
from dataclasses import field
from typing import Any

import numpy as np

from runwatch.chunk import Chunk
from runwatch.column import Frame
from runwatch.records import Batch
from runwatch.redact import redact
from runwatch.slotted import mutable

_TIMES = 64  # pairs of step and time that the pace is taken from
_SEGMENT = 1 << 48  # more than any step
_LOSSES = 120  # values of the loss that a sparkline may show
_SHOWN = 160  # characters of the line that shows the format
_PLAIN = {"_per_second": "/s", "_per_sec": "/s", "per_second": "/s", "/sec": "/s"}


@mutable
class Place:
    """One stream: its rank, last step and when it last said anything (seconds, steady clock).
    `trains` is False for one that only tells of states."""

    rank: int | None
    step: int | None = None
    heard: float = 0.0
    lines: int = 0
    trains: bool = True


@mutable
class Pulse:
    """Fed every chunk with the batch that it gave and the time of its arrival."""

    places: dict[str, Place] = field(default_factory=dict)
    losses: deque[float] = field(default_factory=lambda: deque(maxlen=_LOSSES))
    units: dict[str, str] = field(default_factory=dict)
    epoch: float | None = None
    stride: int = 0  # steps between the last two losses
    form: str = ""
    evidence: str = ""
    _pairs: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_TIMES))
    _by_log: bool = False
    _latest: str = ""  # the stream that spoke last
    _furthest: int = -1  # segment and step of the last loss

    def feed(self, chunk: Chunk, batch: Batch, now: float) -> None:
        """Take the next batch."""
        name = batch.stream.name
        place = self.places.setdefault(
            name, Place(batch.stream.rank, trains=batch.stream.kind != "vertex")
        )
        place.heard, self._latest = now, name
        place.lines = max(place.lines, batch.last_line)
        for step, _ in batch.progress.values():
            place.step = step
        points = batch.points
        if not len(points):
            return
        if not self.form:
            self._recognise(chunk, batch)
        epochs = points.column("epoch")
        if not epochs.empty:
            self.epoch = float(np.fmax.reduce(epochs.numbers()[epochs.known]))
        self._remember(batch)
        self._time(batch, now)

    def _remember(self, batch: Batch) -> None:
        """The losses, and the units of all metrics."""
        points = batch.points
        loss = points.column("quantity").says("loss")
        losses = points.column("value").numbers()[loss]
        self.losses.extend(losses[self._goes_on(points, loss)][-_LOSSES:].tolist())
        told = points.column("unit").known
        names = (points.column(name)[told].tolist() for name in ("metric", "unit"))
        self.units.update(zip(*names, strict=True))

    def _goes_on(self, points: Frame, loss: Any) -> Any:
        """Which losses come after all before them, so that a step counts once, whatever the number
        of ranks that tell it; those without a step all do."""
        placed = points.column("step").known[loss]
        segments = points.column("segment").numbers()[loss].astype(np.int64)
        at = segments * _SEGMENT + points.column("step").numbers()[loss]
        at = np.where(placed, at, -1)
        furthest = np.maximum.accumulate(np.concatenate(([self._furthest], at)))
        self._furthest = int(furthest[-1])
        gaps = np.diff(furthest[furthest >= 0])
        gaps = gaps[(gaps > 0) & (gaps < _SEGMENT // 2)]  # a run that starts again goes back
        self.stride = int(gaps[-1]) if len(gaps) else self.stride
        return (at > furthest[:-1]) | ~placed

    def _time(self, batch: Batch, now: float) -> None:
        """Pairs of time and step, by the log's own clock where it has one."""
        steps, times = batch.points.column("step"), batch.points.column("time")
        placed = steps.known
        timed = placed & times.known
        if timed.any():
            if not self._by_log:
                self._pairs.clear()
                self._by_log = True
            seconds, reached = times.numbers()[timed] / 1e6, steps.numbers()[timed]
            for row in np.flatnonzero(np.diff(reached, prepend=-1))[-_TIMES:].tolist():
                self._pair(float(seconds[row]), int(reached[row]))
        elif placed.any() and not self._by_log:
            self._pair(now, int(steps.numbers()[placed][-1]))

    def _pair(self, time: float, step: int) -> None:
        if self._pairs and step < self._pairs[-1][1]:
            self._pairs.clear()
        if not self._pairs or step > self._pairs[-1][1]:
            self._pairs.append((time, step))

    def _recognise(self, chunk: Chunk, batch: Batch) -> None:
        """The form of the first line that measured something."""
        line = int(batch.points.column("line").values[0])
        lines = chunk.data.split(b"\n")
        if 0 <= (place := line - batch.first_line) < len(lines):
            drawn = lines[place].rstrip(b"\r").split(b"\r")  # CRLF redraws nothing
            text = drawn[-1].decode("utf-8", "replace").strip()
            self.form = form_of(text, drawn=len(drawn) > 1)
            self.evidence = f"{batch.stream.name}:{line}: {redact(text)[:_SHOWN]}"

    @property
    def latest(self) -> tuple[str, int]:
        """The stream that spoke last, and its last line; "" and 0 where none did."""
        return self._latest, self.places[self._latest].lines if self._latest else 0

    def ranks(self, now: float) -> tuple[tuple[str, int | None, int | None, float], ...]:
        """The streams that train: name, rank, step, and for how many seconds they are silent."""
        told = [(name, one) for name, one in self.places.items() if one.trains]
        return tuple((name, one.rank, one.step, now - one.heard) for name, one in told)

    @property
    def pace(self) -> float | None:
        """Steps a second, None where it is not known."""
        if len(self._pairs) < 2:
            return None
        (begin, first), (end, last) = self._pairs[0], self._pairs[-1]
        return (last - first) / (end - begin) if end > begin and last > first else None

    def eta(self, step: int | None, total: int | None) -> float | None:
        """Seconds until the last step, None where one cannot tell."""
        pace = self.pace
        if pace is None or step is None or not total or step >= total:
            return None
        return (total - step) / pace

    def speed(self, throughput: tuple[str, float] | None) -> str:
        """How fast it goes in words: its own throughput, else steps a second, else nothing."""
        if throughput is not None:
            return self.rate(*throughput)
        return "" if self.pace is None else f"{self.pace:,.3g} steps/s"

    def rate(self, metric: str, value: float) -> str:
        """A throughput in words: `142 samples/s`."""
        unit = self.units.get(metric, "")
        word = metric.rsplit("/", 1)[-1] if metric.count("/") == 1 else metric
        if "/" in unit:
            return f"{value:,.4g} {unit}"
        for long, short in _PLAIN.items():
            if long in metric:
                name = metric.replace(long, short).removeprefix("train_").strip("_ ")
                return f"{value:,.4g} {name}"
        if metric.endswith("/s"):
            return f"{value:,.4g} {metric}"
        return f"{word}={value:,.4g}{unit}"


def form_of(text: str, *, drawn: bool = False) -> str:
    """What kind of line reports the measurements, in words."""
    if text.startswith("{") or '{"' in text:
        return "JSON objects" if '"' in text else "Python dictionaries"
    if text.startswith(":::MLLOG"):
        return "MLPerf log"
    if drawn or "it/s" in text or "s/it" in text:
        return "progress bar"
    pairs = text.count("=")
    if pairs >= 2 and pairs >= text.count(": "):
        return "key=value pairs"
    if "{'" in text:
        return "Python dictionaries"
    if text.count("|") >= 2:
        return "fields between bars"
    if text.count(": ") >= 1:
        return "key: value pairs"
    return "plain text"
