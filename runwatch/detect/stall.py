"""Silence: no line of progress for much longer than this run has ever taken."""

from typing import Any

import numpy as np

from runwatch.detect.fold import finding
from runwatch.detect.series import NOTHING, Ints, columns
from runwatch.detect.silence import FEW, KEPT, LONGEST, TYPICAL, Live
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.records import Batch

QUIET = 600.0  # seconds that are never a stall


class Detector:
    """Stalls told by the log's own clock (`stalled`).

    Sees: lines that go on while no line reports a measurement, for more than ten minutes, five
    times the 99th percentile of the intervals between such lines and three times the longest pause
    so far (medium, open). A pause of that kind after which the run went on is low. While a run is
    watched, the watcher's clock tells silence after the last line too (high, open): as long as the
    watcher's patience, five times the 99th percentile and three times the longest pause.

    Matters: a log that grows is no progress; an hourly sign of life hid a hang for 18 hours.

    Misses: silence after the last line of a log at rest; in the first twenty intervals, in which
    compilation and the first evaluation hide, all but ten times the watcher's patience.

    Tune: TYPICAL and LONGEST. Restarts begin anew, so a pause between two runs is no stall.
    """

    name = "stall"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}
        self._live = Live()

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        track = self._tracks.setdefault(batch.stream.name, _fresh(-1))
        table = columns(batch.points)
        self._live.feed(batch, table)
        rows = np.flatnonzero((table.quantity >= 0) & (table.time != NOTHING))
        clocks = _clocks(batch)
        for segment in sorted({*table.segment[rows].tolist(), *clocks}):
            if segment != track["segment"]:
                track.update(_fresh(segment), pauses=track["pauses"])
            part = rows[table.segment[rows] == segment]
            if len(part):
                _progress(track, batch, table.time[part], table.line[part], table.step[part])
            if segment in clocks:
                track["clock"] = max(clocks[segment], track["clock"] or clocks[segment])

    def tick(self, now: float, patience: float) -> bool:
        """Time has passed while the run is watched; seconds of a steady clock. Whether it is, or
        just was, too quiet."""
        return self._live.tick(now, patience, self._longest)

    def _longest(self) -> float:
        """The silence that the log's own clock would call a stall, 0 where it is not known."""
        known = [track for track in self._tracks.values() if len(track["intervals"]) >= FEW]
        return max(map(_limit, known), default=0.0)

    def findings(self) -> list[Finding]:
        """Pauses that were too long, and the silence that still lasts."""
        found = self._live.findings()
        for track in self._tracks.values():
            found += [_told(pause, State.RECOVERED) for pause in track["pauses"]]
            if track["at"] is not None and track["clock"] is not None:
                silence = (track["clock"] - track["at"]["time"]) / 1e6
                if len(track["intervals"]) >= FEW and silence > max(QUIET, _limit(track)):
                    found.append(_told({"at": track["at"], "seconds": silence}, State.OPEN))
        return found

    def check(self) -> Check:
        """Ran when enough measurements carry a time."""
        if any(len(track["intervals"]) >= FEW for track in self._tracks.values()):
            return Check(self.name, True)
        return Check(self.name, False, f"fewer than {FEW} measurements with a time in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks, "live": self._live.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks = state["tracks"]
        self._live = Live(**state["live"])


def _clocks(batch: Batch) -> dict[int, int]:
    """The latest time that any line of note tells, by segment."""
    if not batch.lines.num_rows:
        return {}
    told = batch.lines.column("time").is_valid()
    times: Any = batch.lines.column("time").filter(told).cast("int64")
    segments: Any = batch.lines.column("segment").filter(told)
    clocks: dict[int, int] = {}
    for segment, time in zip(segments.to_pylist(), times.to_pylist(), strict=True):
        clocks[segment] = max(time, clocks.get(segment, time))
    return clocks


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
    if track["at"] is not None:
        before = track["at"]
        time = np.concatenate(([before["time"]], time))
        line = np.concatenate(([before["line"]], line))
        none = NOTHING if before["step"] is None else before["step"]
        step = np.concatenate(([none], step))
    later = np.flatnonzero(time[1:] > np.maximum.accumulate(time)[:-1]) + 1
    ends = np.concatenate(([0], later))
    for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        seconds = float(time[b] - time[a]) / 1e6
        if len(track["intervals"]) >= FEW and seconds > max(QUIET, _limit(track)):
            pause = {"at": _place(batch, time, line, step, a), "seconds": seconds}
            track["pauses"] = [*track["pauses"], pause][-5:]
        track["intervals"].append(seconds)
        track["longest"] = max(track["longest"], seconds)
        if len(track["intervals"]) > 2 * KEPT:
            track["intervals"] = track["intervals"][-KEPT:]
    track["at"] = _place(batch, time, line, step, int(ends[-1]))


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


def _told(pause: dict[str, Any], state: State) -> Finding:
    minutes = pause["seconds"] / 60
    went_on = "then went on" if state is State.RECOVERED else "while other lines went on"
    return finding(
        "stalled",
        Severity.LOW if state is State.RECOVERED else Severity.MEDIUM,
        pause["at"],
        f"no measurement for {minutes:.0f} minutes after this line, {went_on}",
        state=state,
        role=Role.SYMPTOM,
        confidence="medium",
    )
