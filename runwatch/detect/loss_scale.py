"""An fp16 loss scale that collapses."""

from typing import Any, NamedTuple

import numpy as np

from runwatch.arrays import Ints
from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, place, run
from runwatch.finding import Finding, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.field import NOTHING
from runwatch.kernels.loss_scale import FIELDS, follow
from runwatch.kernels.run import SEGMENT
from runwatch.kernels.tracks import Tracks
from runwatch.records import Batch

FALL = 0.75  # of the scale before: what is lowered less is not halved
LOW = 16.0  # a dynamic scale below this leaves nothing of small gradients
FALLS = 5  # falls in a row, to a 32nd
USUAL = 4096.0  # a scale at or above this is one that healthy runs train at
FEW = 3  # falls in a row that are enough below LOW
EARLY = 50  # first steps, in which the scaler looks for its scale, however low
FLOOR = 1.0  # but not down to this
HELD = 20  # steps or records without another fall, after which it has found it
GROWS = 1000  # where it cannot fall further, those after which a healthy one would have grown
_SEGMENTS = 8  # whose first steps are remembered, the last ones
TELLS = ("reducing to ", "reducing loss scale to ")  # how DeepSpeed and apex tell it


class Detector:
    """Loss-scale collapse (`loss_scale_collapse`).

    Sees: a dynamic loss scale, printed as a field or told in a sentence ("… loss scale: 64,
    reducing to 32"), that falls three times in a row to below 16, or five times in a row to a 32nd
    and below 4,096, after the first fifty steps; in these it must come down to 1 (high; critical at
    1 and below). Low and recovered once it has grown again, or the run has gone on for twenty steps
    without another fall: then the scale was found, and nothing collapses. At 1 it cannot fall
    further, and a thousand steps must go by in which a healthy run's would grow.

    Matters: every fall is a skipped step; the printed loss does not move and looks fine until the
    scale is at its minimum and the program gives up.

    Misses: a scale that is never printed; a run that is logged so rarely that twenty steps pass
    between two lines. Innocent are the search in the first steps of a run or after a restart,
    isolated overflows about every thousand steps, and a scale that never changes.

    Tune: LOW is the scale below which falls matter, FALLS how many in a row.
    """

    name = "loss_scale"
    watchwords = TELLS  # fragments of lines that it wants among the lines of note

    def __init__(self) -> None:
        self._scales = Tracks(FIELDS)
        self._tracks: dict[str, dict[str, Any]] = {}
        self._began: dict[str, dict[str, int]] = {}  # of each stream's segments, the first step

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        self._note_begin(columns)
        groups = columns.groups.get("loss_scale")
        if groups is not None:
            passed = run(follow, self._scales, groups)
            for code, slot, key, segment, row in passed:
                if code == SEGMENT:
                    self._scales[slot] = self._scales.fresh(segment=segment)
                    continue
                line, time, step = (int(c[row]) for c in groups.arrays[:3])
                at, seen = place(key, line, step, time), self._scales[slot].seen - 1
                self._take(key, segment, float(groups.arrays.value[row]), at, seen=seen)
            for key in groups.keys:
                track = self._tracks.get(key)
                if track is not None and track["fall"] is not None:
                    seen = self._scales[self._scales.slots[key]].seen
                    self._hold(track, seen - track["fall"]["seen"] - 1)
        key, sentences = batch.stream.name + "\0told", _sentences(batch)
        if sentences or key in self._tracks:
            course = _Course.of(columns)
            for segment, value, at in sentences:
                self._since(key, course, at["line"])
                self._take(key, segment, value, at, told=True)
            self._since(key, course, None)

    def _note_begin(self, columns: Columns) -> None:
        """Remember with which step each segment of a stream began."""
        groups = columns.groups.get("loss")
        if groups is None:
            return
        line, step = groups.arrays.line, groups.arrays.step
        began = self._began.setdefault(columns.stream.name, {})
        for i in np.argsort(line[groups.begins[:-1]]).tolist():
            segment, first = str(int(groups.segments[i])), int(step[groups.begins[i]])
            if first != NOTHING:
                began.setdefault(segment, first)
        for old in list(began)[:-_SEGMENTS]:
            del began[old]

    def _since(self, key: str, course: "_Course", line: int | None) -> None:
        """Losses were reported up to a line (to the end where it is None) since the last fall."""
        track = self._tracks.get(key)
        fall = track["fall"] if track is not None else None
        if track is None or fall is None:
            return
        end = len(course.lines) if line is None else np.searchsorted(course.lines, line)
        begin = np.searchsorted(course.lines, fall["after"], side="right")
        if end <= begin:
            return
        fall["after"] = int(course.lines[end - 1])
        fall["records"] += int(end - begin)
        step, at = int(course.steps[begin:end].max()), fall["step"]
        ahead = 0 if step == NOTHING or at is None else step - at
        self._hold(track, max(ahead, fall["records"]))

    def _hold(self, track: dict[str, Any], steps: int) -> None:
        """So many steps came without another fall."""
        if steps >= (HELD if track["fall"]["to"] > FLOOR else GROWS):
            _close(track, State.RECOVERED)

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
        return {"scales": self._scales.state(), "tracks": self._tracks, "began": self._began}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._scales.restore(state["scales"])
        self._tracks, self._began = state["tracks"], state["began"]

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
        if track["fall"] is not None and not told:
            self._hold(track, seen - track["fall"]["seen"] - 1)
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
        fall.update(
            to=value, line=at["line"], step=at["step"], seen=seen, after=at["line"], records=0
        )
        low = value < LOW and fall["falls"] >= FEW
        far = fall["falls"] >= FALLS and value * 32 <= fall["from"] and value < USUAL
        sought = value > FLOOR and self._searches(at, segment, seen)
        if fall["at"] is None and (low or far) and not sought:
            fall["at"] = at

    def _searches(self, at: dict[str, Any], segment: int, seen: int) -> bool:
        """Whether a place is among the first steps of a run, or of its part after a restart."""
        step = seen or None if at["step"] is None else at["step"]
        if step is None:
            return False
        began = self._began.get(at["stream"], {}).get(str(segment))
        restarted = segment > 0 and began is not None and step - began <= EARLY
        return bool(step <= EARLY or restarted)


class _Course(NamedTuple):
    """The losses of a stream in a batch: their lines and steps, in order."""

    lines: Ints
    steps: Ints

    @classmethod
    def of(cls, columns: Columns) -> "_Course":
        """Those of one batch."""
        groups = columns.groups.get("loss")
        if groups is None:
            return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))
        order = np.argsort(groups.arrays.line, kind="stable")
        return cls(groups.arrays.line[order], groups.arrays.step[order])


def _fresh() -> dict[str, Any]:
    return {"scale": None, "fall": None}


def _close(track: dict[str, Any], state: State) -> None:
    fall, track["fall"] = track["fall"], None
    if fall is not None and fall["at"] is not None:
        track["over"] = [*track["over"], {**fall, "state": state}][-10:]


def _sentences(batch: Batch) -> list[tuple[int, float, dict[str, Any]]]:
    """The scales told in prose: segment, new scale and place."""
    lines = batch.lines
    if not len(lines):
        return []
    told = []
    for i, raw in enumerate(lines.column("raw").values):
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
        line, step, rank, time, segment = (
            lines.column(name)[i : i + 1].tolist()[0]
            for name in ("line", "step", "rank", "time", "segment")
        )
        at = {
            "stream": batch.stream.name,
            "metric": "loss scale",
            "rank": batch.stream.rank if rank is None else rank,
            "line": line,
            "step": step,
            "time": time,
        }
        told.append((segment, value, at))
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
