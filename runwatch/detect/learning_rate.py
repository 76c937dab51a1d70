"""A learning rate that leaves any schedule: zero, negative, or suddenly much higher."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Rows, distinct, series
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.records import Batch

ZEROS = 10  # steps in a row at exactly 0, after it was above
JUMP = 3.0  # times the rate of the record before
SETTLED = 20  # records before a jump is one; warm-up and coarse logging come first
SCHEDULE = 3  # jumps of one segment that are a schedule of restarts, not a mishap
SUDDEN = 0.05  # share of the highest rate: from below it 0 is the end of a decay, rounded
BELOW = 0.5  # share of the highest rate so far: a jump starts in the decay


class Detector:
    """Learning rates no schedule explains (`lr_schedule`).

    Sees: a rate that is negative or not finite (medium); exactly 0 on ten steps in a row, right
    after a rate that was not yet small (medium); and, from the twentieth record on, a rate three
    times that of the record before, in the decay and within one segment (low).

    Matters: a resumed run whose scheduler was not restored trains at the wrong rate for days.

    Misses: a wrong rate that changes smoothly. Warm-up, step decay, a decay that ends at 0 or is
    rounded to it, and cosine restarts (three jumps or more) are innocent.

    Tune: JUMP is the factor between two records, ZEROS how many records may be exactly 0.
    """

    name = "learning_rate"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        for rows in series(batch, "lr"):
            track = self._tracks.get(rows.key)
            if track is None or rows.segment != track["segment"]:
                self._tracks[rows.key] = track = _track(rows.segment)
            rows, track["last"] = distinct(rows, track["last"])
            _follow(track, rows)

    def findings(self) -> list[Finding]:
        """What no schedule explains, told once for all parameter groups."""
        found = []
        for track in self._tracks.values():
            if track["bad"] is not None:
                found.append(_told(track["bad"], Severity.MEDIUM, "is {value:g}"))
            zero = track["zero"]
            if zero is not None and zero["count"] >= ZEROS:
                message = f"is exactly 0 on {zero['count']} steps in a row"
                found.append(_told(zero, Severity.MEDIUM, message))
            if 0 < len(track["jumps"]) < SCHEDULE:
                message = "jumped from {before:.3g} to {value:.3g}"
                found += [_told(jump, Severity.LOW, message) for jump in track["jumps"]]
        return fold(found)

    def check(self) -> Check:
        """Ran when a learning rate was reported."""
        ran = bool(self._tracks)
        return Check(self.name, ran, "" if ran else "no learning rate in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks = state["tracks"]


def _track(segment: int) -> dict[str, Any]:
    return {
        "segment": segment,
        "last": None,
        "seen": 0,
        "before": 0.0,
        "highest": 0.0,
        "bad": None,
        "zero": None,
        "jumps": [],
    }


def _follow(track: dict[str, Any], rows: Rows) -> None:
    before = track["before"]
    for i, value in enumerate(rows.value.tolist()):
        if value == before and value != 0.0:
            track["seen"] += 1
            continue
        if value - value != 0.0 or value < 0.0:
            if track["bad"] is None:
                shown = str(value) if value - value != 0.0 else value
                track["bad"] = {"at": rows.place(i), "value": shown, "line": int(rows.line[i])}
            continue
        track["seen"] += 1
        if value == 0.0:
            if track["zero"] is not None or before > SUDDEN * track["highest"]:
                zero = track["zero"] or {"at": rows.place(i), "count": 0}
                track["zero"] = {**zero, "count": zero["count"] + 1, "line": int(rows.line[i])}
            continue
        track["zero"] = None
        decayed = 0.0 < before < BELOW * track["highest"]
        if decayed and value > JUMP * before and track["seen"] > SETTLED:
            jump = {"at": rows.place(i), "before": before, "value": value}
            track["jumps"] = [*track["jumps"], {**jump, "line": int(rows.line[i])}][:SCHEDULE]
        before = value
        track["highest"] = max(track["highest"], value)
    track["before"] = before


def _told(what: dict[str, Any], severity: Severity, message: str) -> Finding:
    shown = what.get("value")
    if isinstance(shown, str):
        message = f"is {shown}"
    return finding(
        "lr_schedule",
        severity,
        what["at"],
        f"{what['at']['metric']} {message.format_map(what)}",
        state=State.OPEN,
        last_line=what["line"],
        role=Role.SYMPTOM,
        confidence="medium",
    )
