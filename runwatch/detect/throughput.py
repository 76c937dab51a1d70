"""Throughput that drops and stays down, by half or by a few per cent."""

from typing import Any

import numpy as np

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Floats, Rows, series
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.records import Batch

WARM = 5  # first records: compilation, caches
FEW = 4  # records that make a first baseline where a log is short
BASELINE = 100  # records whose median is the baseline
HALF = 0.5
LOWER = 0.6  # below this a record counts towards a drop
MONOTONE = 4  # rises without a fall: time since the start, whatever its name
BLOCK = 20  # records whose median is compared for small drops
SMALL = 0.04  # a lasting loss of this share is told
BLOCKS = 5  # blocks in a row
GRADUAL = 0.75  # of the baseline: a run that was down to this already did not drop
AVERAGES = ("avg", "average")  # means since the start move too late to be judged
CLEAR = 4.0  # spreads of the block medians


class Detector:
    """Throughput below its own baseline (`throughput_drop`, `throughput_drop_small`).

    Sees: samples, tokens or iterations a second, or time per step turned round, against the median
    of the run's first hundred settled records. Below half, with every record since the drop below
    0.6, for at least two records and for half as many as the baseline has, up to twenty: medium.
    Medians of twenty that stay 4 % and four of their own spreads below for five blocks in a row:
    low. Both are forgotten once the run is back.

    Matters: half the speed is twice the bill; 5 % for days was one slow GPU in a known large run.

    Misses: runs that are slow from the start; a change of batch size or sequence length looks the
    same, which is why nothing here asks to stop. A slow decline (a growing sequence length) is at
    most a small drop, and means since the start are not judged.

    Tune: HALF and SMALL; the baseline is a median, never a maximum, as the first records can be
    many times too fast.
    """

    name = "throughput"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        for rows in series(batch, "throughput", "step_time"):
            if any(word in rows.metric.lower() for word in AVERAGES):
                continue
            track = self._tracks.setdefault(rows.key, _track(rows.segment))
            if rows.segment != track["segment"]:
                self._tracks[rows.key] = track = _track(rows.segment)
            rows = rows.only((rows.value > 0.0) & np.isfinite(rows.value))
            if not len(rows):
                continue
            if rows.quantity == "step_time":
                _compare(track, rows)
                _follow(track, rows, 1.0 / rows.value)
            else:
                _follow(track, rows, rows.value)

    def findings(self) -> list[Finding]:
        """Drops that are not over."""
        found = []
        for track in self._tracks.values():
            drop = track["drop"]
            if track["rises"] >= MONOTONE and not track["falls"]:
                continue  # time since the start, not per step
            if drop and drop["sudden"] and drop["below"] and drop["count"] >= _enough(track):
                found.append(_told("throughput_drop", Severity.MEDIUM, drop))
            elif track["small"] is not None and track["small"]["blocks"] >= BLOCKS:
                found.append(_told("throughput_drop_small", Severity.LOW, track["small"]))
        return fold(found)

    def check(self) -> Check:
        """Ran when throughput or time per step was reported often enough for a baseline."""
        if any(len(track["first"]) >= FEW for track in self._tracks.values()):
            return Check(self.name, True)
        if self._tracks:
            return Check(self.name, False, f"fewer than {FEW} records of throughput")
        return Check(self.name, False, "no throughput and no time per step in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks = state["tracks"]


def _track(segment: int) -> dict[str, Any]:
    return {
        "segment": segment,
        "first": [],
        "level": None,
        "recent": [],
        "drop": None,
        "block": [],
        "block_at": None,
        "blocks": [],
        "small": None,
        "before": None,
        "rises": 0,
        "falls": 0,
    }


def _compare(track: dict[str, Any], rows: Rows) -> None:
    """Count how often a time rose and fell: one that only rises is a clock."""
    before = rows.value[0] if track["before"] is None else track["before"]
    change = np.diff(rows.value, prepend=before)
    track["rises"] += int((change > 0.0).sum())
    track["falls"] += int((change < 0.0).sum())
    track["before"] = float(rows.value[-1])


def _follow(track: dict[str, Any], rows: Rows, speed: Floats) -> None:
    i = 0
    values = speed.tolist()
    while i < len(values) and track["level"] is None:
        _early(track, rows, values[i], i)
        i += 1
    if i == len(values):
        return
    level = track["level"]
    low = speed[i:] < LOWER * level
    if track["drop"] is not None or low.any():
        for j in range(i, len(values)):
            _one(track, rows, values[j], j, level)
    else:
        track["recent"] = (track["recent"] + values[i:][-10:])[-10:]
    while i < len(values):
        if not track["block"]:
            track["block_at"] = rows.place(i)
        taken = values[i : i + BLOCK - len(track["block"])]
        track["block"] = track["block"] + taken
        i += len(taken)
        if len(track["block"]) == BLOCK:
            _block(track, sorted(track["block"])[BLOCK // 2], int(rows.line[i - 1]))
            track["block"] = []


def _early(track: dict[str, Any], rows: Rows, value: float, i: int) -> None:
    """A record while the baseline is still being made; a drop can show already."""
    first = track["first"]
    if len(first) >= FEW:
        _one(track, rows, value, i, _median(first))
    if track["drop"] is None:
        first.append(value)
    if len(first) >= BASELINE + WARM:
        track["level"] = _median(first)


def _median(first: list[float]) -> float:
    settled = sorted(first[WARM:] if len(first) > 4 * WARM else first)
    return 0.5 * (settled[len(settled) // 2] + settled[(len(settled) - 1) // 2])


def _enough(track: dict[str, Any]) -> int:
    return min(max(2, len(track["first"]) // 2), 20)


def _one(track: dict[str, Any], rows: Rows, value: float, i: int, level: float) -> None:
    drop = track["drop"]
    if value >= LOWER * level:
        if drop is not None and track["level"] is None:
            track["first"] += drop["values"]
        track["drop"] = None
        track["recent"] = [*track["recent"], value][-10:]
        return
    if drop is None:
        recent = sorted(track["recent"] or [level])
        sudden = recent[len(recent) // 2] >= GRADUAL * level
        track["drop"] = drop = {"count": 0, "level": level, "below": None, "values": []}
        drop["sudden"] = sudden
    drop["count"] += 1
    if track["level"] is None:
        drop["values"] = (drop["values"] + [value])[-BASELINE:]
    if drop["below"] is None and value < HALF * level:
        drop["below"] = drop["at"] = rows.place(i)
    drop.update(now=value, line=int(rows.line[i]))


def _block(track: dict[str, Any], median: float, line: int) -> None:
    level, blocks = track["level"], track["blocks"]
    if len(blocks) < 10:
        blocks.append(median)
    typical = sorted(abs(b - level) for b in blocks)[len(blocks) // 2] * 1.4826
    gap = level - median
    if gap < max(SMALL * level, CLEAR * typical):
        track["small"] = None
        return
    if track["small"] is None:
        track["small"] = {"at": track["block_at"], "level": level, "blocks": 0}
    track["small"]["blocks"] += 1
    track["small"].update(now=median, line=line)


def _told(kind: str, severity: Severity, drop: dict[str, Any]) -> Finding:
    at, share = drop["at"], 1.0 - drop["now"] / drop["level"]
    return finding(
        kind,
        severity,
        at,
        f"{at['metric']} tells of {share:.0%} less speed than the baseline of this run",
        state=State.OPEN,
        last_line=drop["line"],
        confidence="medium",
    )
