"""What Vertex AI says of a job beside its log: silence while it runs, errors of its tasks."""

from typing import Any

from runwatch.detect.fold import finding
from runwatch.detect.note import Note, notes
from runwatch.finding import Finding, Role, Severity, State
from runwatch.plain import lasting
from runwatch.records import Batch

LONGEST = 2.0  # times the longest pause that turned out well
_STATES = {"JOB_STATE_": "job_stalled", "PIPELINE_STATE_": "pipeline_stuck"}
_TASK = "TASK_STATE_"
_LOST = ("FAILED", "CANCELLED", "EXPIRED")  # ends that a silence before them may explain
_EVENTS = "pipeline_job_task_events"
_SEVERE = ("ERROR", "CRITICAL", "ALERT", "EMERGENCY")
_KEPT = 16  # errors of tasks that are told; more of the same tell no more
WATCHWORDS = tuple(word.lower() for word in (*_STATES, _TASK, _EVENTS))


class Platform:
    """What Vertex AI says of a job, and when anything was said; the parameters are what `state`
    gave. `told` is set once it has said something."""

    kind = "vertex"  # of the stream that tells of states

    def __init__(
        self, running: str = "", last: dict[str, Any] | None = None, longest: float = 0.0,
        ended: list[dict[str, Any]] | None = None, *, told: bool = False,
        errors: list[dict[str, Any]] | None = None, done: bool = False,
    ) -> None:  # fmt: skip
        self._running = running  # the kind of finding that its silence is, "" while it waits
        self._last, self._longest, self._ended = last, longest, ended or []
        self.told = told
        self._errors, self._done = errors or [], done
        self._came = False
        self._at: float | None = None
        self._silence: dict[str, Any] | None = None
        self._lost = False

    def feed(self, batch: Batch) -> None:
        """Take the next batch of any stream."""
        stream = batch.stream
        if stream.kind == self.kind:
            for note in notes(batch.lines):
                self._turned(note, stream.name)
        elif batch.last_line >= batch.first_line:
            self._heard(stream.name, stream.rank, batch.last_line)

    def _turned(self, note: Note, stream: str) -> None:
        """A line of the platform: its time, then the state or how grave it is, then the rest."""
        _, word, *rest = [*note.raw.split(), "", ""]
        for prefix, kind in _STATES.items():
            if word.startswith(prefix):
                self.told, state = True, word.removeprefix(prefix)
                self._running = kind if state == "RUNNING" else ""
                self._lost, self._done = state in _LOST, state == "SUCCEEDED"
                self._heard(stream, None, note.line)
        if word.startswith(_TASK):
            self._heard(stream, None, note.line)
        if word in _SEVERE and rest[0] == _EVENTS:
            self._erred(" ".join(rest[1:]).strip(), note, stream)

    def _erred(self, said: str, note: Note, stream: str) -> None:
        at = {"stream": stream, "rank": None, "line": note.line, "step": None, "time": note.time}
        if len(self._errors) < _KEPT and said not in (one["said"] for one in self._errors):
            self._errors.append({"said": said, "at": at})

    def _heard(self, stream: str, rank: int | None, line: int) -> None:
        self._came = True
        self._last = {"stream": stream, "rank": rank, "line": line, "step": None}

    def tick(self, now: float, three: float) -> bool:
        """Time has passed; seconds of a steady clock, `three` those of the last three intervals
        between reports. Whether it is, or just was, too quiet."""
        if self._lost:
            return False
        if self._came or self._at is None or not self._running:
            was = self._silence is not None
            if self._at is not None and self._running and self._came:
                self._after(now - self._at)
            self._came, self._at, self._silence = False, now, None
            return was
        silence = now - self._at
        if silence >= max(three, LONGEST * self._longest):
            self._silence = {"kind": self._running, "at": self._last, "seconds": silence}
        return self._silence is not None

    def _after(self, gap: float) -> None:
        if self._silence is not None:
            self._ended = [*self._ended, {**self._silence, "seconds": gap}][-5:]
        self._longest = max(self._longest, gap)

    def findings(self) -> list[Finding]:
        """The silence that lasts, and those after which it went on."""
        found = [_told(**past, state=State.RECOVERED) for past in self._ended]
        found += [_logged(**error, done=self._done) for error in self._errors]
        if self._silence is not None:
            found.append(_told(**self._silence, state=State.OPEN))
        return found

    def state(self) -> dict[str, Any]:
        """Plain values to go on from; what clock there will be is not known."""
        return {
            "running": self._running, "last": self._last, "longest": self._longest,
            "ended": self._ended, "told": self.told, "errors": self._errors, "done": self._done,
        }  # fmt: skip


def _told(kind: str, at: dict[str, Any], seconds: float, state: State) -> Finding:
    turned = "" if kind == "job_stalled" else " and no task changed its state"
    over = state is State.RECOVERED
    went_on = "then it went on" if over else "while it is said to be running"
    return finding(
        kind, Severity.LOW if over else Severity.HIGH, at,
        f"nothing was logged{turned} for {lasting(seconds)} after this line, {went_on}",
        state=state, role=Role.SYMPTOM, confidence="medium",
    )  # fmt: skip


def _logged(said: str, at: dict[str, Any], *, done: bool) -> Finding:
    """An error that a task logged; a pipeline that succeeded all the same has overcome it."""
    state, severity = (State.RECOVERED, Severity.LOW) if done else (State.OPEN, Severity.MEDIUM)
    return finding(
        "task_log_error", severity, at, f"a task logged an error: {said[:200]}", state=state,
        role=Role.SYMPTOM,
    )  # fmt: skip
