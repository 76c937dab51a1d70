"""Sudden rises of the loss: held until they are over or have settled, then named."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Rows, distinct, series
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.rolling import Past, advance, worth_compiling
from runwatch.records import Batch

RECENT = 5  # values whose median tells where the loss stands
HOLD = 20  # steps that a rise is given before it is named
BACK = 3.0  # spreads above the level before, below which a rise is over
NOTABLE = 8.0  # spreads that a rise must reach to be told once it is over
MARKED = 10.0  # spreads above which a rise that stays is more than a shift
SETTLED = 300  # steps after which a shifted level is the new level
KEPT = 5  # rises told per series; the largest stay


class Detector:
    """Spikes and divergence of the training loss.

    Sees: a loss that leaves its own recent past upwards, by a one-sided CUSUM on median and
    spread of the last 200 steps, so that one big jump, a lasting step of four spreads and a slow
    ramp are all found within steps. The rise is then held. Back within three spreads of the level
    before: `loss_spike_recovered` (low), told if it reached eight spreads. Still up after twenty
    steps or twice the time to the peak: `loss_spike_unresolved` (medium). Up by more than half of
    all that the run had learned, or far up for a tenth of the run without coming down:
    `diverged` (high; critical at or above the level of the first steps).

    Matters: most spikes heal by themselves, and a run stopped for one is lost for nothing; one
    that does not heal wastes everything after it.

    Misses: a rise slower than its window of 200 steps (see `divergence`), anything in the first
    dozen steps, and a series whose noise grows with the rise. Only differences are judged, so
    negative losses are as good as positive ones. Restarts start over; repeated steps count once.

    Tune: ALLOWANCE and LIMIT in kernels/rolling.py trade speed for alarms; NOTABLE decides which
    healed spikes are worth a line.
    """

    name = "spike"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        for rows in series(batch, "loss"):
            self._follow(rows)

    def findings(self) -> list[Finding]:
        """Every rise that was notable or is not over, the same in several series told once."""
        found = []
        for track in self._tracks.values():
            found += [_told(rise, track["unlisted"]) for rise in track["rises"]]
            if track["rise"] is not None:
                found.append(_told(_named(track["rise"], track["seen"]), 0))
        return fold(found)

    def check(self) -> Check:
        """Ran when a loss was reported often enough to know its noise."""
        longest = max((track["longest"] for track in self._tracks.values()), default=0)
        if not self._tracks:
            return Check(self.name, False, "no training loss in the log")
        if longest < 12:
            return Check(self.name, False, f"only {longest} steps report a loss; 12 are needed")
        return Check(self.name, True)

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks = state["tracks"]

    def _follow(self, rows: Rows) -> None:
        track = self._tracks.setdefault(rows.key, _track(rows.segment))
        if rows.segment != track["segment"]:
            _close(track, State.PROGRESSED)
            kept = track["rises"], track["unlisted"], track["longest"]
            track.update(_track(rows.segment))
            track["rises"], track["unlisted"], track["longest"] = kept
        rows, track["last"] = distinct(rows, track["last"])
        rows = rows.finite()
        if not len(rows):
            return
        values = rows.value.tolist()
        if len(track["start"]) < 10:
            track["start"] = (track["start"] + values)[:10]
        i = 0
        while i < len(values):
            i = _rising(track, rows, values, i) if track["rise"] else _calm(track, rows, values, i)
        track["longest"] = max(track["longest"], track["seen"])
        track["tail"] = rows.tail(len(rows), track["tail"])


def _track(segment: int) -> dict[str, Any]:
    return {
        "segment": segment,
        "last": None,
        "seen": 0,
        "longest": 0,
        "start": [],
        "ring": [],
        "total": 0.0,
        "usual": 0.0,
        "judged": 0,
        "onset": None,
        "first": None,
        "tail": [],
        "rise": None,
        "rises": [],
        "unlisted": 0,
    }


def _calm(track: dict[str, Any], rows: Rows, values: list[float], i: int) -> int:
    """Go on in a calm series; opens a rise at an alarm. Gives the next index."""
    ring = track["ring"]
    past = Past(ring, sorted(ring), track["total"], track["usual"], track["judged"])
    before = -1  # stands for a run-up that began in an earlier batch
    onset = None if track["onset"] is None else before
    first = None if track["first"] is None else before
    if worth_compiling(len(values) - i):
        from runwatch.kernels import rolling_compiled

        alarm = rolling_compiled.advance(rows.value, i, past, onset, first)
    else:
        alarm = advance(values, i, past, onset, first)
    track["total"], track["usual"], track["judged"] = past.total, past.usual, past.judged
    track["seen"] += alarm.index - i
    began = _place(alarm.onset, track["onset"], rows)
    strong = _place(alarm.first, track["first"], rows)
    if alarm.index == len(values):
        track["onset"], track["first"] = began, strong
        return alarm.index
    level, spread = past.level()
    start = sorted(track["start"])[len(track["start"]) // 2]
    track["rise"] = {
        "at": strong or began,
        "level": level,
        "spread": spread,
        "usual": min(spread, past.usual),
        "start": start,
        "count": 0,
        "peak": level,
        "top": level,
        "peak_at": 0,
        "recent": [],
        "after": [],
        "before": rows.tail(alarm.index, track["tail"]),
        "line": 0,
        "step": None,
        "state": State.OPEN,
    }
    track["onset"], track["first"], track["total"] = None, None, 0.0
    return alarm.index


def _place(index: int | None, earlier: dict[str, Any] | None, rows: Rows) -> Any:
    if index is None:
        return None
    return earlier if index < 0 else rows.place(index)


def _rising(track: dict[str, Any], rows: Rows, values: list[float], i: int) -> int:
    """Go on in a rise until it is over or has become the new level. Gives the next index."""
    rise = track["rise"]
    limit = rise["level"] + BACK * rise["spread"]
    place: int | None = None
    while i < len(values):
        value, place = values[i], i
        rise["count"] += 1
        track["seen"] += 1
        if value > rise["peak"]:
            rise["peak"] = value
            if value > rise["top"] + 0.1 * (rise["top"] - rise["level"]):
                rise["top"], rise["peak_at"] = value, rise["count"]  # not by noise on a level
        rise["recent"] = (rise["recent"] + [value])[-RECENT:]
        if len(rise["after"]) < 10:
            rise["after"].append([float(rows.tail(i + 1, [], 1)[0][0]), value])
        i += 1
        if len(rise["recent"]) == RECENT and sorted(rise["recent"])[RECENT // 2] < limit:
            _note(rise, rows, place)
            _close(track, State.RECOVERED)
            return i
        if _settled(rise, track["seen"]):
            _note(rise, rows, place)
            _close(track, State.PROGRESSED)
            track["ring"], track["total"] = [], 0.0
            return i
    if place is not None:
        _note(rise, rows, place)
    return i


def _note(rise: dict[str, Any], rows: Rows, i: int) -> None:
    where = rows.place(i)
    rise["line"], rise["step"] = where["line"], where["step"]


def _now(rise: dict[str, Any]) -> float:
    recent = sorted(rise["recent"])
    return float(recent[len(recent) // 2])


def _lost(rise: dict[str, Any]) -> bool:
    """Whether more than half of all that the run had learned is gone."""
    learned = rise["start"] - rise["level"]
    height = _now(rise) - rise["level"]
    return bool(
        learned > 5.0 * rise["spread"]
        and height > 0.5 * learned
        and height > MARKED * rise["spread"]
    )


def _settled(rise: dict[str, Any], seen: int) -> bool:
    """Whether what looked like a rise is the new level: long there, not rising, not a disaster."""
    return (
        rise["count"] >= max(SETTLED, seen // 4)
        and rise["peak_at"] < 2 * rise["count"] // 3
        and bool(_named(rise, seen)["kind"] != "diverged")
    )


def _close(track: dict[str, Any], state: State) -> None:
    """The rise, if there is one, is over: keep it if it was notable."""
    rise = track["rise"]
    track["rise"], track["onset"], track["first"] = None, None, None
    if rise is None:
        return
    height = (rise["peak"] - rise["level"]) / rise["usual"]
    if height < NOTABLE and (state is State.RECOVERED or rise["count"] < HOLD):
        return
    rise["state"] = state
    rises = track["rises"]
    rises.append(_named(rise, track["seen"]))
    if len(rises) > KEPT:
        rises.remove(min(rises, key=lambda r: (r["weight"], r["height"])))
        track["unlisted"] += 1


def _named(rise: dict[str, Any], seen: int) -> dict[str, Any]:
    """The rise with the name that it deserves by now."""
    height = (rise["peak"] - rise["level"]) / rise["usual"]
    stands = (_now(rise) - rise["level"]) / rise["spread"] if rise["recent"] else height
    held = rise["count"] >= max(HOLD, 2 * rise["peak_at"])
    stays = _now(rise) - rise["level"] > 0.5 * (rise["peak"] - rise["level"])
    kind, severity = "loss_spike_unresolved", Severity.LOW
    if rise["state"] is State.RECOVERED:
        kind = "loss_spike_recovered"
    elif rise["count"] >= HOLD and _lost(rise):
        kind = "diverged"
        severity = Severity.CRITICAL if _now(rise) >= rise["start"] else Severity.HIGH
    elif stands > 2 * MARKED and stays and rise["count"] >= max(200, seen // 10):
        kind, severity = "diverged", Severity.HIGH
    elif stands > MARKED and (held or rise["count"] >= SETTLED):
        severity = Severity.MEDIUM
    if rise["state"] is State.PROGRESSED and severity.weight > Severity.MEDIUM.weight:
        severity = Severity.MEDIUM
    return {**rise, "kind": kind, "severity": severity, "height": height, "weight": severity.weight}


def _told(rise: dict[str, Any], unlisted: int) -> Finding:
    ended = {
        State.RECOVERED: f"and was back after {rise['count']} steps",
        State.PROGRESSED: f"and had not come back after {rise['count']} steps, when the run "
        "went on from there",
        State.OPEN: f"and has not come back in {rise['count']} steps",
    }[State(rise["state"])]
    message = (
        f"{rise['at']['metric']} rose from {rise['level']:.4g} to {rise['peak']:.4g}, "
        f"{rise['height']:.0f} times its usual spread, {ended}"
    )
    if unlisted:
        message += f" (one of the largest; {unlisted} smaller ones are not listed)"
    return finding(
        rise["kind"],
        Severity(rise["severity"]),
        rise["at"],
        message,
        state=State(rise["state"]),
        last_line=rise["line"],
        tail=rise["before"] + rise["after"],
    )
