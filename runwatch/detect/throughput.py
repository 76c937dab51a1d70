"""Throughput that drops and stays down, by half or by a few per cent."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.named import holds, threshold
from runwatch.detect.series import Columns, place, run
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.throughput import FEW, FIELDS, enough, follow
from runwatch.kernels.tracks import Tracks
from runwatch.records import Batch

MONOTONE = 4  # rises without a fall: time since the start, whatever its name
BLOCKS = 5  # blocks in a row
AVERAGES = ("avg", "average")  # means since the start move too late to be judged


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

    Tune: HALF and SMALL in kernels/throughput.py; the baseline is a median, never a
    maximum, as the first records can be many times too fast.
    """

    name = "throughput"

    def __init__(self) -> None:
        self._tracks = Tracks(FIELDS, unless=AVERAGES)

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        for quantity, is_time in (("throughput", 0), ("step_time", 1)):
            groups = columns.groups.get(quantity)
            if groups is None:
                continue
            passed = run(follow, self._tracks, groups, is_time)
            for _, slot, _, segment, _ in passed:
                self._tracks[slot] = self._tracks.fresh(segment=segment)

    def findings(self) -> list[Finding]:
        """Drops that are not over."""
        found, dropped = [], set()
        for key, track in self._tracks.marked("drop_below"):
            told = track.dropping and track.drop_sudden
            if told and track.drop_count >= enough(track.first_n) and not _is_clock(track):
                found.append(_told("throughput_drop", Severity.MEDIUM, key, track, "drop"))
                dropped.add(key)
        for key, track in self._tracks.marked("small"):
            if track.small >= BLOCKS and key not in dropped and not _is_clock(track):
                found.append(_told("throughput_drop_small", Severity.LOW, key, track, "small"))
        return fold(found)

    def check(self) -> Check:
        """Ran when throughput or time per step was reported often enough for a baseline."""
        if not len(self._tracks):
            return Check(self.name, False, "no throughput and no time per step in the log")
        if (self._tracks.column("first_n") >= FEW).any():
            return Check(self.name, True)
        return Check(self.name, False, f"fewer than {FEW} records of throughput")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks.restore(state["tracks"])


def _is_clock(track: Any) -> bool:
    """Whether what is called time per step is the time since the start."""
    return bool(track.rises >= MONOTONE and not track.falls)


def _told(kind: str, severity: Severity, key: str, track: Any, part: str) -> Finding:
    line, step, time, now, level, last_line = (
        getattr(track, f"{part}_{name}")
        for name in ("line", "step", "time", "now", "level", "last_line")
    )
    at, share = place(key, line, step, time), 1.0 - now / level
    half = 100 * share > threshold("throughput")
    return finding(
        kind,
        severity,
        at,
        f"{at['metric']} tells of {share:.0%} less speed than the baseline of this run",
        state=State.OPEN,
        last_line=last_line,
        confidence="medium",
        rules=[holds("throughput", f"{share:.0%} below")] if half else (),
    )
