"""An fp16 loss scale that collapses."""

from typing import Any

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, place, run
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.loss_scale import FIELDS, follow
from runwatch.kernels.run import SEGMENT
from runwatch.kernels.tracks import NOTHING, Tracks
from runwatch.records import Batch

FALL = 0.75  # of the scale before: what is lowered less is not halved
LOW = 16.0  # a dynamic scale below this leaves nothing of small gradients
FALLS = 5  # falls in a row, to a 32nd
FEW = 3  # falls in a row that are enough below LOW
EARLY = 50  # first steps, in which the scaler looks for its scale
TELLS = ("reducing to ", "reducing loss scale to ")  # how DeepSpeed and apex tell it


class Detector:
    """Loss-scale collapse (`loss_scale_collapse`).

    Sees: a dynamic loss scale, printed as a field or told in a sentence ("… loss scale: 64,
    reducing to 32"), that falls three times in a row to below 16, or five times in a row to
    a 32nd after the first fifty steps (high; critical at 1 and below; low once it has
    grown again).

    Matters: every fall is a skipped step; the printed loss does not move and looks fine until the
    scale is at its minimum and the program gives up.

    Misses: a scale that is never printed. Innocent are the search in the first steps, isolated
    overflows about every thousand steps, and a scale that never changes.

    Tune: LOW is the scale below which falls matter, FALLS how many in a row.
    """

    name = "loss_scale"
    watchwords = TELLS  # fragments of lines that it wants among the lines of note

    def __init__(self) -> None:
        self._scales = Tracks(FIELDS)
        self._tracks: dict[str, dict[str, Any]] = {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        groups = columns.groups.get("loss_scale")
        if groups is not None:
            passed = run(follow, self._scales, groups)
            for code, slot, key, segment, row in passed:
                if code == SEGMENT:
                    self._scales[slot] = self._scales.fresh(segment=segment)
                    continue
                line, time, step = (int(c[row]) for c in groups.arrays[:3])
                at, seen = place(key, line, step, time), self._scales[slot].seen - 1
                self._take(key, segment, float(groups.arrays[4][row]), at, seen=seen)
        for segment, value, at in _sentences(batch):
            self._take(batch.stream.name + "\0told", segment, value, at, told=True)

    def findings(self) -> list[Finding]:
        """Collapses, and whether the scale has grown again."""
        found = []
        for track in self._tracks.values():
            found += [_told(fall, State(fall["state"])) for fall in track["over"]]
            if track["fall"] is not None and track["fall"]["at"] is not None:
                found.append(_told(track["fall"], State.OPEN))
        return fold(found)

    def check(self) -> Check:
        """Ran when a loss scale was reported."""
        ran = bool(self._tracks)
        return Check(self.name, ran, "" if ran else "no loss scale in the log")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"scales": self._scales.state(), "tracks": self._tracks}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._scales.restore(state["scales"])
        self._tracks = state["tracks"]

    def _take(
        self,
        key: str,
        segment: int,
        value: float,
        at: dict[str, Any],
        *,
        seen: int = 0,
        told: bool = False,
    ) -> None:
        """A scale that differs from the one before, or a sentence that tells of a fall.

        `seen` is how many records came before it.
        """
        track = self._tracks.setdefault(key, {"segment": segment, "over": [], **_fresh()})
        if segment != track["segment"]:
            _close(track, State.PROGRESSED)
            track.update(segment=segment, **_fresh())
        scale, track["scale"] = track["scale"], value
        if scale is None:
            if not told:
                return
            scale = 2 * value
        if value > FALL * scale:
            if value <= scale:
                return  # drifts, as no loss scale does
            _close(track, State.RECOVERED)
            return
        fall = track["fall"]
        if fall is None:
            track["fall"] = fall = {"from": scale, "falls": 0, "at": None}
        fall["falls"] += 1
        fall.update(to=value, line=at["line"])
        step = at["step"] if at["step"] is not None else seen
        low = value < LOW and fall["falls"] >= FEW
        far = fall["falls"] >= FALLS and value * 32 <= fall["from"] and step > EARLY
        if fall["at"] is None and (low or far):
            fall["at"] = at


def _fresh() -> dict[str, Any]:
    return {"scale": None, "fall": None}


def _close(track: dict[str, Any], state: State) -> None:
    fall, track["fall"] = track["fall"], None
    if fall is not None and fall["at"] is not None:
        track["over"] = [*track["over"], {**fall, "state": state}][-10:]


def _sentences(batch: Batch) -> list[tuple[int, float, dict[str, Any]]]:
    """The scales told in prose: segment, new scale and place."""
    lines = batch.lines
    if not lines.num_rows:
        return []
    told = []
    raws: list[Any] = lines.column("raw").to_pylist()
    for i, raw in enumerate(raws):
        if not any(words in raw for words in TELLS):
            continue
        words = TELLS[0] if TELLS[0] in raw else TELLS[1]
        before, _, after = raw.rpartition(words)
        try:
            value = float(after.split()[0].rstrip(".,;"))
        except (ValueError, IndexError):
            continue
        if "scale" not in before.lower() + words:
            continue
        of = {name: lines.column(name)[i] for name in ("line", "step", "rank", "time")}
        time = of["time"].value if of["time"].is_valid else NOTHING
        at = {
            "stream": batch.stream.name,
            "metric": "loss scale",
            "rank": of["rank"].as_py() if of["rank"].is_valid else batch.stream.rank,
            "line": of["line"].as_py(),
            "step": of["step"].as_py(),
            "time": None if time == NOTHING else time,
        }
        told.append((lines.column("segment")[i].as_py(), value, at))
    return told


def _told(fall: dict[str, Any], state: State) -> Finding:
    severity = Severity.CRITICAL if fall["to"] <= 1.0 else Severity.HIGH
    if state is not State.OPEN:
        severity = Severity.LOW
    return finding(
        "loss_scale_collapse",
        severity,
        fall["at"],
        f"the loss scale fell from {fall['from']:g} to {fall['to']:g} in {fall['falls']} "
        "reductions in a row, each a skipped step",
        state=state,
        last_line=fall["line"],
    )
