"""Silence by the watcher's clock: how long since the last line that measured something."""

from collections.abc import Callable
from typing import Any

from runwatch.detect.fold import finding
from runwatch.detect.series import Columns
from runwatch.finding import Finding, Role, Severity, State
from runwatch.kernels.field import NOTHING
from runwatch.plain import lasting
from runwatch.records import Batch

FEW = 20  # gaps before this run's own pace is known
KEPT = 200  # gaps remembered
WARMUP = 10.0  # times the patience, until then
LONGEST_WARMUP = 600.0  # seconds
TYPICAL = 5.0  # times the longest gap but one in a hundred
LONGEST = 3.0  # times the longest gap that turned out well


class Live:
    """Arrivals of progress while a run is watched; the parameters are what `state` gave.

    Lines that measure nothing are no progress, unless the run never measured anything.
    """

    def __init__(
        self, gaps: list[float] | None = None, longest: float = 0.0,
        ended: list[dict[str, Any]] | None = None, last: dict[str, Any] | None = None,
        measured: bool = False,
    ) -> None:  # fmt: skip
        self._gaps, self._longest, self._ended = gaps or [], longest, ended or []
        self._last = last
        self._measured = measured
        self._came = False
        self._at: float | None = None
        self._seen = False  # progress came while it was watched
        self._silence: dict[str, Any] | None = None

    def feed(self, batch: Batch, columns: Columns) -> bool:
        """Take the next batch: did it bring progress, and where?"""
        if (last := columns.last) >= 0:
            step, line = int(columns.step[last]), int(columns.line[last])
            self._arrived(batch, line, None if step == NOTHING else step)
        elif batch.progress:
            step, line = max(batch.progress.values(), key=lambda place: place[1])
            self._arrived(batch, line, step)
        elif batch.last_line >= batch.first_line and not self._measured:
            self._arrived(batch, batch.last_line, None)
            return True
        else:
            return False
        self._measured = True
        return True

    def _arrived(self, batch: Batch, line: int, step: int | None) -> None:
        stream = batch.stream
        self._last = {"stream": stream.name, "rank": stream.rank, "line": line, "step": step}
        self._came = True

    def tick(self, now: float, patience: float, limit: Callable[[], float], *, lives: bool) -> bool:
        """Time has passed. `limit` is the silence that the log's own clock would call a stall;
        `lives` says that the run is known to be there. Whether it is, or just was, too quiet."""
        if self._came or self._at is None:
            if self._at is not None:
                self._seen = True
                self._after(now - self._at)
            was = self._silence is not None
            self._came, self._at, self._silence = False, now, None
            return was
        silence = now - self._at
        patient = self._last is None or silence <= patience
        if not patient and silence > self._limit(patience, limit()):
            kind = "stalled" if lives or self._seen else "quiet"
            self._silence = {"kind": kind, "at": self._last, "seconds": silence}
        return self._silence is not None

    def _after(self, gap: float) -> None:
        """Progress came again after `gap` seconds."""
        if self._silence is not None:
            self._ended = [*self._ended, {**self._silence, "seconds": gap}][-5:]
        self._gaps = [*self._gaps[-KEPT:], gap]
        self._longest = max(self._longest, gap)

    def _limit(self, patience: float, limit: float) -> float:
        if len(self._gaps) < FEW and not limit:
            return max(patience, min(LONGEST_WARMUP, WARMUP * patience), LONGEST * self._longest)
        recent = sorted(self._gaps) or [0.0]
        typical = recent[int(0.99 * (len(recent) - 1))]
        return max(patience, limit, TYPICAL * typical, LONGEST * self._longest)

    def findings(self, evaluates: Callable[[dict[str, Any]], bool]) -> list[Finding]:
        """The silence that lasts, and those after which the run went on; `evaluates` tells of a
        place whether the run is in an evaluation there."""
        found = [_told(**past, state=State.RECOVERED) for past in self._ended]
        if (silence := self._silence) is not None:
            if silence["kind"] == "stalled" and evaluates(silence["at"]):
                silence = {**silence, "kind": "stalled_eval"}
            found.append(_told(**silence, state=State.OPEN))
        return found

    def state(self) -> dict[str, Any]:
        """Plain values to go on from; what clock there will be is not known."""
        return {
            "gaps": self._gaps, "longest": self._longest, "ended": self._ended,
            "last": self._last, "measured": self._measured,
        }  # fmt: skip


def _told(kind: str, at: dict[str, Any], seconds: float, state: State) -> Finding:
    went_on = ", then went on" if state is State.RECOVERED else " and counting"
    unknown = kind == "quiet" and state is State.OPEN
    severity = Severity.MEDIUM if unknown else Severity.HIGH
    return finding(
        kind,
        Severity.LOW if state is State.RECOVERED else severity,
        at,
        f"no progress for {lasting(seconds)} after this line{went_on}"
        + ("; whether the run lives is not known" if unknown else ""),
        state=state,
        role=Role.SYMPTOM,
        confidence="low" if unknown else "medium",
    )
