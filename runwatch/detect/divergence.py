"""A loss that climbs too slowly for `spike`, or stands where no healthy loss stands."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Rows, distinct, series
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.records import Batch

BLOCK = 20  # steps in a block; blocks are compared by their medians
LASTING = 5  # blocks in a row that must stand high, in a long run a twentieth of all blocks
SHARE = 0.2  # of all that was learned, that must be lost
CLEAR = 3.0  # spreads within a block by which it must stand higher
SUDDEN = 5.0  # spreads from one block to the next: a jump, which `spike` judges
ABSURD = 1e6  # a loss above this, late in a run and not falling, is no loss of a healthy run
LATE = 1000  # the step from which a run is late
FEW = 5


class Detector:
    """Slow divergence, and a loss at an absurd level.

    Sees: medians of twenty steps that for five blocks in a row lie above the best block by a fifth
    of everything learned since the start and by three spreads, without a sudden jump between:
    `loss_spike_unresolved` (medium), from half of what was learned `diverged` (high). And a log
    that begins late in a run (step 1,000 or more) with a loss above a million that does not fall:
    `diverged`, since a baseline learned from there would call it normal.

    Matters: a slow climb never shows against a window that climbs with it.

    Misses: climbs in the first 200 steps, and rewards or losses that never fell.

    Tune: SHARE and LASTING; a curriculum that makes the task harder needs a larger SHARE.
    """

    name = "divergence"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        for rows in series(batch, "loss"):
            track = self._tracks.setdefault(rows.key, _track(rows.segment, []))
            if rows.segment != track["segment"]:
                self._tracks[rows.key] = track = _track(rows.segment, track["over"])
            rows, track["last"] = distinct(rows, track["last"])
            _follow(track, rows.finite())

    def findings(self) -> list[Finding]:
        """Climbs that are not over, those that are, and absurd levels."""
        found = []
        for track in self._tracks.values():
            found += [_told(climb, State.RECOVERED) for climb in track["over"]]
            climb = track["climb"]
            if climb is not None and _lasts(track):
                found.append(_told(climb, State.OPEN))
            if track["absurd"] is not None and track["absurd"]["count"] >= FEW:
                found.append(_absurd(track["absurd"]))
        return fold(found)

    def check(self) -> Check:
        """Ran when there were blocks enough to compare."""
        blocks = max((track["blocks"] for track in self._tracks.values()), default=0)
        if blocks > LASTING:
            return Check(self.name, True)
        if not self._tracks:
            return Check(self.name, False, "no training loss in the log")
        return Check(self.name, False, f"fewer than {BLOCK * (LASTING + 1)} steps report a loss")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks = state["tracks"]


def _track(segment: int, over: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "segment": segment,
        "last": None,
        "start": [],
        "block": [],
        "block_at": None,
        "blocks": 0,
        "before": None,
        "best": None,
        "sudden": False,
        "climb": None,
        "over": over,
        "absurd": None,
        "judged": False,
    }


def _follow(track: dict[str, Any], rows: Rows) -> None:
    if not len(rows):
        return
    values = rows.value.tolist()
    if len(track["start"]) < BLOCK:
        track["start"] = (track["start"] + values)[:BLOCK]
    _level(track, rows, values)
    i = 0
    while i < len(values):
        if not track["block"]:
            track["block_at"] = rows.place(i)
        taken = values[i : i + BLOCK - len(track["block"])]
        track["block"] = track["block"] + taken
        i += len(taken)
        if len(track["block"]) == BLOCK:
            _block(track, sorted(track["block"]), int(rows.line[i - 1]))
            track["block"] = []


def _level(track: dict[str, Any], rows: Rows, values: list[float]) -> None:
    """Judge the first values of a segment that begins late."""
    if not track["judged"]:
        track["judged"] = True
        place = rows.place(0)
        if (place["step"] or 0) >= LATE and values[0] > ABSURD:
            track["absurd"] = {"at": place, "count": 0, "low": values[0], "line": 0}
    absurd = track["absurd"]
    if absurd is not None:
        low = min(values)
        if low < min(ABSURD, 0.5 * absurd["at"].setdefault("value", values[0])):
            track["absurd"] = None
            return
        absurd["count"] += len(values)
        absurd["low"] = min(low, absurd["low"])
        absurd["line"] = int(rows.line[-1])


def _block(track: dict[str, Any], block: list[float], line: int) -> None:
    median = block[BLOCK // 2]
    spread = max((block[3 * BLOCK // 4] - block[BLOCK // 4]) / 1.349, 1e-3 * abs(median), 1e-9)
    before, track["before"] = track["before"], median
    track["blocks"] += 1
    best, climb = track["best"], track["climb"]
    if best is None or median < best[0]:
        track["best"] = best = [median, spread]
    start = sorted(track["start"])[len(track["start"]) // 2]
    learned = start - best[0]
    lost = median - best[0]
    high = learned > 5 * best[1] and lost > max(SHARE * learned, CLEAR * max(spread, best[1]))
    if before is not None and median - before > SUDDEN * best[1]:
        track["sudden"] = True
    elif lost <= CLEAR * best[1]:
        track["sudden"] = False
    if not high:
        if climb is not None and _lasts(track):
            track["over"] = [*track["over"], climb][-10:]
        track["climb"] = None
        return
    if climb is None:
        track["climb"] = climb = {"at": track["block_at"], "best": best[0], "blocks": 0}
        climb["sudden"] = track["sudden"]
    climb["blocks"] += 1
    climb.update(now=median, share=lost / learned, line=line)


def _lasts(track: dict[str, Any]) -> bool:
    climb = track["climb"]
    return climb["blocks"] >= max(LASTING, track["blocks"] // 20) and not climb["sudden"]


def _told(climb: dict[str, Any], state: State) -> Finding:
    kind, severity = "loss_spike_unresolved", Severity.MEDIUM
    if state is State.RECOVERED:
        kind, severity = "loss_spike_recovered", Severity.LOW
    elif climb["share"] >= 0.5:
        kind, severity = "diverged", Severity.HIGH
    return finding(
        kind,
        severity,
        climb["at"],
        f"{climb['at']['metric']} climbed from {climb['best']:.4g} to {climb['now']:.4g} over "
        f"{climb['blocks'] * BLOCK} steps: {climb['share']:.0%} of what was learned",
        state=state,
        last_line=climb["line"],
    )


def _absurd(absurd: dict[str, Any]) -> Finding:
    at = absurd["at"]
    return finding(
        "diverged",
        Severity.HIGH,
        at,
        f"{at['metric']} stands at {at['value']:.3g} at step {at['step']} and does not fall",
        last_line=absurd["line"],
        confidence="medium",
    )
