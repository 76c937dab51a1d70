"""Silence: no line of progress for much longer than this run has ever taken."""

from collections.abc import Callable
from typing import Any

import numpy as np

from runwatch.arrays import Floats, Ints
from runwatch.column import distinct
from runwatch.detect.arrange import LARGE
from runwatch.detect.evaluating import Evaluating
from runwatch.detect.fold import finding
from runwatch.detect.gpu_work import AtWork, weighed
from runwatch.detect.named import holds
from runwatch.detect.platform import WATCHWORDS, Platform
from runwatch.detect.series import Columns
from runwatch.detect.silence import FEW, KEPT, LONGEST, TYPICAL, Live
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.field import NOTHING
from runwatch.kernels.run import compiles
from runwatch.plain import lasting
from runwatch.records import Batch

QUIET = 600.0  # seconds that are never a stall
SOME = 4  # gaps after which a silence may be told from them where it is out of all proportion,
FAR = 50.0  # which is so many times the longest of them
HOUR = 3600.0  # and at least this
# What programs say to show that they live: no progress, but the time goes on.
SIGNS = (
    "pulse", "heartbeat", "alive", "keepalive", "keep-alive", "still running", "still waiting",
    "waiting for",
)  # fmt: skip


class Detector:
    """Stalls told by the log's own clock (`stalled`), and silence that may be an end (`quiet`).

    Sees: lines that go on while no line reports a measurement, for more than ten minutes, five
    times the 99th percentile of the intervals between such lines and three times the longest pause
    so far (medium, open). A pause of that kind after which the run went on is low. While a run is
    watched, the watcher's clock tells silence after the last line too (high, open): as long as the
    watcher's patience, five times the 99th percentile and three times the longest pause. Where no
    line came since the watcher did, and no process is known to live, the run may as well have
    ended without a word: it is quiet (medium, open), which asks to wait and not to stop. Silence
    after an evaluation was announced, and before training is measured again, is the evaluation's
    (`stalled_eval`): it may take longer than anything before, so that asks to wait, too. Of a job
    of Vertex AI the state is known: one that says that it is running while nothing was logged for
    three intervals between reports has stalled (`job_stalled`), and so has a pipeline of which,
    besides, no task changed its state (`pipeline_stuck`); high, open. Twice the longest such pause
    so far counts as normal. Errors among a pipeline's task events are told, too (`task_log_error`,
    medium).

    What the GPUs of its machine do meanwhile is told where they tell it: idle, or busy at far less
    power than in training, as where ranks wait for each other, makes a hang sure; where they work
    as before, it may be a long phase (medium, confidence low).

    Matters: a log that grows is no progress; an hourly sign of life hid a hang for 18 hours.

    Misses: silence after the last line of a log at rest; in the first twenty intervals, in which
    compilation and the first evaluation hide, all but an hour that is fifty times the longest of
    them, by the log's clock, and ten times the watcher's patience, by the watcher's.

    Tune: TYPICAL and LONGEST. Restarts begin anew, so a pause between two runs is no stall.
    """

    name = "stall"
    watchwords = (*WATCHWORDS, *SIGNS)

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}
        self._limits: dict[str, float] = {}  # of each stream, where it was asked for since
        self._live, self._platform, self._evaluating = Live(), Platform(), Evaluating()
        self._work = AtWork()

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        self._platform.feed(batch)
        if batch.stream.kind == self._platform.kind:
            return
        if self._live.feed(batch, columns):
            self._work.went_on()
        self._evaluating.feed(batch, columns)
        name = batch.stream.name
        track = self._tracks.setdefault(name, _fresh(-1))
        clocks, rows = _clocks(batch), _advances(columns)
        time, line, step, segments = (
            column[rows] for column in (columns.time, columns.line, columns.step, columns.segment)
        )
        alike = len(segments) > 0 and segments.min() == segments.max()
        present = [int(segments[0])] if alike else distinct(segments).tolist()
        for segment in sorted({*present, *clocks}):
            if segment != track["segment"]:
                track.update(_fresh(segment), pauses=track["pauses"])
            if segment in present:
                part = slice(None) if alike else segments == segment
                _progress(track, batch, time[part], line[part], step[part])
                self._limits.pop(name, None)
            if segment in clocks:
                track["clock"] = max(clocks[segment], track["clock"] or clocks[segment])

    def gauge(self, batch: Batch) -> None:
        """Take what the GPUs tell of themselves."""
        self._work.gauge(batch)

    def tick(self, now: float, patience: float, *, lives: bool, three: float = 0.0) -> bool:
        """Time has passed while the run is watched; seconds of a steady clock. Whether it is, or
        just was, too quiet."""
        if self._platform.told:
            return self._platform.tick(now, three)
        return self._live.tick(now, patience, self._longest, lives=lives)

    def _longest(self) -> float:
        """The silence that the log's own clock would call a stall, 0 where it is not known."""
        for name in self._tracks.keys() - self._limits.keys():
            track = self._tracks[name]
            self._limits[name] = _limit(track) if len(track["intervals"]) >= FEW else 0.0
        return max(self._limits.values(), default=0.0)

    def findings(self) -> list[Finding]:
        """Pauses that were too long, and the silence that still lasts."""
        work = self._work.seen()
        silences = self._live.findings(self._evaluating.at)
        found = [*self._platform.findings(), *(weighed(one, work) for one in silences)]
        for track in self._tracks.values():
            found += [_told(pause, State.RECOVERED) for pause in track["pauses"]]
            if track["at"] is not None and track["clock"] is not None:
                silence = (track["clock"] - track["at"]["time"]) / 1e6
                if silence > QUIET and _too_long(track, silence):
                    pause = {"at": track["at"], "seconds": silence}
                    found.append(_told(pause, State.OPEN, self._evaluating.at(track["at"])))
        return found

    def check(self) -> Check:
        """Ran when enough measurements carry a time."""
        if any(len(track["intervals"]) >= FEW for track in self._tracks.values()):
            return Check(self.name, True)
        return Check(self.name, False, f"fewer than {FEW} measurements with a time in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks, "live": self._live.state(),
                "platform": self._platform.state(),
                "evaluating": self._evaluating.state(),
                "work": self._work.state()}  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks, self._limits = state["tracks"], {}
        self._live = Live(**state["live"])
        self._platform = Platform(**state["platform"])
        self._evaluating = Evaluating(state["evaluating"])
        self._work = AtWork(**state["work"])


def _advances(columns: Columns) -> Ints | slice:
    """The measurements at whose row the time or the segment is another than in the row before:
    those of one record say the same."""
    if not len(columns) or columns.untimed:
        return np.zeros(0, np.int64)
    if columns.record:
        time = np.ascontiguousarray(columns.time[:: columns.record])
        if time.min() != NOTHING and (time[1:] != time[:-1]).all():
            return slice(None, None, columns.record)
    if len(columns) >= LARGE and compiles(len(columns)):
        from runwatch.kernels.arranging import HALVES, WHOLES, advanced, whole

        rows: Ints = columns.room.array("advances", np.int64, len(columns))
        quantity, segment = (whole(c, HALVES) for c in (columns.quantity, columns.segment))
        return rows[: advanced(quantity, whole(columns.time, WHOLES), segment, rows)]
    time, segment, measured = columns.time, columns.segment, columns.measured
    fresh = np.concatenate(([True], time[1:] != time[:-1]))
    fresh[1:] |= segment[1:] != segment[:-1]
    fresh[1:] |= measured[1:] & ~measured[:-1]
    fresh &= measured & (time != NOTHING)
    return np.flatnonzero(fresh)


def _clocks(batch: Batch) -> dict[int, int]:
    """The latest time that any line of note tells, by segment."""
    if not len(batch.lines):
        return {}
    time = batch.lines.column("time")
    told = time.known
    times, segments = time.numbers()[told], batch.lines.column("segment").numbers()[told]
    return {
        segment: int(times[segments == segment].max()) for segment in distinct(segments).tolist()
    }


def _fresh(segment: int) -> dict[str, Any]:
    return {
        "segment": segment,
        "at": None,
        "clock": None,
        "intervals": [],
        "longest": 0.0,
        "pauses": [],
    }


def _progress(track: dict[str, Any], batch: Batch, time: Ints, line: Ints, step: Ints) -> None:
    """The next measurements of one segment; a clock that goes back stands still."""

    def where(i: int) -> dict[str, Any]:
        """The place behind which the i-th interval begins."""
        i = int(ends[i]) - began
        return track["at"] if i < 0 else _place(batch, time, line, step, i)

    began = 0 if track["at"] is None else 1
    top = np.concatenate(([track["at"]["time"]], time)) if began else np.ascontiguousarray(time)
    ends: Ints | range = range(len(top))
    passed = top[1:] - top[:-1]
    if len(passed) and passed.min() <= 0:
        top = np.maximum.accumulate(top)
        ends = np.concatenate(([0], np.flatnonzero(top[1:] != top[:-1]) + 1))
        passed = np.diff(top[ends])
    if len(passed):
        if (longest := float(passed.max() / 1e6)) > QUIET:
            _pauses(track, passed / 1e6, where)
        track["intervals"] = (track["intervals"] + (passed[-KEPT:] / 1e6).tolist())[-KEPT:]
        track["longest"] = max(track["longest"], longest)
    track["at"] = where(-1)


def _pauses(track: dict[str, Any], seconds: Floats, where: Callable[[int], dict[str, Any]]) -> None:
    """Find the intervals that were too long when they came; few can be, as each must be three
    times as long as all before it."""
    before = np.concatenate(([track["longest"]], np.maximum.accumulate(seconds)[:-1]))
    before = np.maximum(before, track["longest"])
    for i in np.flatnonzero(seconds > np.maximum(QUIET, LONGEST * before)).tolist():
        recent = (track["intervals"] + seconds[max(0, i - KEPT) : i].tolist())[-KEPT:]
        then = {"intervals": recent, "longest": float(before[i])}
        if len(recent) >= FEW and seconds[i] > _limit(then):
            pause = {"at": where(i), "seconds": float(seconds[i])}
            track["pauses"] = [*track["pauses"], pause][-5:]


def _place(batch: Batch, time: Ints, line: Ints, step: Ints, i: int) -> dict[str, Any]:
    return {
        "stream": batch.stream.name,
        "rank": batch.stream.rank,
        "line": int(line[i]),
        "step": None if step[i] == NOTHING else int(step[i]),
        "time": int(time[i]),
    }


def _limit(track: dict[str, Any]) -> float:
    """Seconds of silence beyond which this run has stalled."""
    recent = sorted(track["intervals"][-KEPT:])
    typical = recent[int(0.99 * (len(recent) - 1))]
    return float(max(TYPICAL * typical, LONGEST * track["longest"]))


def _too_long(track: dict[str, Any], silence: float) -> bool:
    """Whether a silence is longer than this run's own pace allows, as far as that is known."""
    known = len(track["intervals"])
    if known >= FEW:
        return silence > _limit(track)
    return known >= SOME and silence > max(HOUR, FAR * track["longest"])


def _told(pause: dict[str, Any], state: State, evaluating: bool = False) -> Finding:
    went_on = "then went on" if state is State.RECOVERED else "while other lines went on"
    return finding(
        "stalled_eval" if evaluating else "stalled",
        Severity.LOW if state is State.RECOVERED else Severity.MEDIUM,
        pause["at"],
        f"no measurement for {lasting(pause['seconds'])} after this line, {went_on}",
        state=state,
        role=Role.SYMPTOM,
        confidence="medium",
        rules=[holds("stall", "a stall is told of more than five of them only")],
    )
