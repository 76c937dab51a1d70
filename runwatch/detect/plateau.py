"""A loss that no longer falls, or does not move at all."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Rows, distinct, series
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.records import Batch

FROZEN = 10  # steps at exactly the same value
DIGITS = 4  # significant digits that such a value must have to be no rounding
BLOCK = 25  # steps in a block at first; doubled as the run grows
WINDOW = 20  # blocks that are judged together: 500 steps, or 5 % of the run
MANY = 400  # blocks at which two become one
EVERY = 5  # blocks between two judgements
EARLY = 0.1  # share of the announced steps before which nothing is said


class Detector:
    """Plateaus (`plateau`): a reason to wait and look, never to stop.

    Sees: exactly the same loss, with four digits or more, on ten steps in a row (medium): a model
    that does not learn at all, as ln 2 = 0.6931 for two classes. And a Theil-Sen slope over the
    last 500 steps, or the last twentieth of the run, that changed by less than the noise of the
    blocks it is measured on and by less than 0.2 % of what was learned (low).

    Matters: the rest of the run may be money for nothing.

    Misses: the first tenth of the announced steps, and slow progress below the noise. A run whose
    learning rate has decayed ends flat, and should.

    Tune: WINDOW and the share; rules that compare with the best value raise on nearly every
    healthy step, since the best of a noisy series is always old.
    """

    name = "plateau"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}
        self._totals: dict[str, int] = {}

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        if batch.total_steps:
            self._totals[batch.stream.name] = batch.total_steps
        for rows in series(batch, "loss"):
            track = self._tracks.get(rows.key)
            if track is None or rows.segment != track["segment"]:
                self._tracks[rows.key] = track = _track(rows.segment)
            rows, track["last"] = distinct(rows, track["last"])
            rows = rows.finite()
            if len(rows):
                _frozen(track, rows)
                _follow(track, rows)

    def findings(self) -> list[Finding]:
        """What does not move now."""
        found = []
        for track in self._tracks.values():
            frozen, flat = track["frozen"], track["flat"]
            if frozen["count"] >= FROZEN and _exact(frozen["value"]):
                message = f"exactly {frozen['value']:g} on {frozen['count']} steps in a row"
                found.append(_told(frozen, Severity.MEDIUM, message))
            elif flat is not None and not self._early(flat["at"]):
                message = (
                    f"flat over {flat['steps']} steps: it changed by {-flat['fall']:.1g}, "
                    f"less than its noise of {flat['noise']:.2g}"
                )
                found.append(_told(flat, Severity.LOW, message))
        return fold(found)

    def check(self) -> Check:
        """Ran when enough steps reported a loss."""
        if any(len(track["blocks"]) == WINDOW for track in self._tracks.values()):
            return Check(self.name, True)
        if not self._tracks:
            return Check(self.name, False, "no training loss in the log")
        return Check(self.name, False, f"fewer than {BLOCK * WINDOW} steps report a loss")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks, "totals": self._totals}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks, self._totals = state["tracks"], state["totals"]

    def _early(self, at: dict[str, Any]) -> bool:
        total = self._totals.get(at["stream"])
        return total is not None and at["step"] is not None and at["step"] < EARLY * total


def _track(segment: int) -> dict[str, Any]:
    return {
        "segment": segment,
        "last": None,
        "frozen": {"value": None, "count": 0, "at": None, "line": 0},
        "size": BLOCK,
        "block": [],
        "block_at": None,
        "start": None,
        "count": 0,
        "blocks": [],
        "places": [],
        "flat": None,
    }


def _frozen(track: dict[str, Any], rows: Rows) -> None:
    """How long the last value has stood."""
    frozen, value = track["frozen"], float(rows.value[-1])
    others = (rows.value != value).nonzero()[0]
    begin = int(others[-1]) + 1 if len(others) else 0
    if begin == 0 and frozen["value"] == value:
        frozen["count"] += len(rows)
    else:
        frozen.update(value=value, count=len(rows) - begin, at=rows.place(begin))
    frozen["line"] = int(rows.line[-1])


def _exact(value: float) -> bool:
    return value != 0.0 and len(f"{value:.12g}".replace(".", "").strip("-0")) >= DIGITS


def _follow(track: dict[str, Any], rows: Rows) -> None:
    values = rows.value.tolist()
    i = 0
    while i < len(values):
        if not track["block"]:
            track["block_at"] = rows.place(i)
        taken = values[i : i + track["size"] - len(track["block"])]
        track["block"] = track["block"] + taken
        i += len(taken)
        if len(track["block"]) == track["size"]:
            block = sorted(track["block"])
            _block(track, block[len(block) // 2], int(rows.line[i - 1]))
            track["block"] = []


def _block(track: dict[str, Any], median: float, line: int) -> None:
    track["start"] = median if track["start"] is None else track["start"]
    track["blocks"] = [*track["blocks"], median][-WINDOW:]
    track["places"] = [*track["places"], track["block_at"]][-WINDOW:]
    track["count"] += 1
    if track["count"] == MANY:
        blocks = track["blocks"]
        track["blocks"] = [0.5 * (a + b) for a, b in zip(blocks[::2], blocks[1::2], strict=True)]
        track["places"] = track["places"][::2]
        track["count"] //= 2
        track["size"] *= 2
    if len(track["blocks"]) == WINDOW and track["count"] % EVERY == 0:
        _judge(track, line)


def _judge(track: dict[str, Any], line: int) -> None:
    blocks = track["blocks"]
    slopes = sorted((b - a) / (j - i) for i, a in enumerate(blocks) for j, b in _from(blocks, i))
    slope = slopes[len(slopes) // 2]
    rest = sorted(b - slope * i for i, b in enumerate(blocks))
    middle = rest[WINDOW // 2]
    noise = 1.4826 * sorted(abs(r - middle) for r in rest)[WINDOW // 2]
    fall = -slope * WINDOW
    learned = abs(track["start"] - blocks[-1])
    if abs(fall) < noise and abs(fall) < 0.002 * learned:
        flat = track["flat"] or {"at": track["places"][0], "level": middle}
        steps = WINDOW * track["size"]
        track["flat"] = {**flat, "fall": fall, "noise": noise, "steps": steps, "line": line}
    elif abs(fall) > min(3 * noise, 0.01 * learned) or _sunk(track["flat"], middle, noise):
        track["flat"] = None


def _sunk(flat: dict[str, Any] | None, level: float, noise: float) -> bool:
    """Whether what was called flat has sunk since, however slowly."""
    return flat is not None and flat["level"] - level > noise


def _from(blocks: list[float], i: int) -> list[tuple[int, float]]:
    return [(j, blocks[j]) for j in range(i + 1, len(blocks))]


def _told(what: dict[str, Any], severity: Severity, message: str) -> Finding:
    return finding(
        "plateau",
        severity,
        what["at"],
        f"{what['at']['metric']} is {message}",
        state=State.OPEN,
        last_line=what["line"],
        role=Role.SYMPTOM,
        confidence="medium",
    )
