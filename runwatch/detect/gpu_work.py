"""What the GPUs of a run do while it says nothing: a hang and a long phase differ there."""

from dataclasses import replace
from typing import Any

from runwatch.detect.gpu import BUSY
from runwatch.detect.looks import Look, Looks, middle
from runwatch.finding import Finding, Severity, State
from runwatch.records import Batch
from runwatch.slotted import frozen

IDLE = 5.0  # % of utilisation that nobody works with
FEW = 3  # looks that tell something
_KEPT = 30  # looks, before and since
LIKE = 0.8  # of the power drawn in training: at work
WAITS = 0.6  # of it: busy, but with nothing; waiting for other ranks keeps a GPU busy, too


@frozen
class Work:
    """What a silence is by the GPUs: `idle`, `waiting`, `busy` or, where they do not tell, ""."""

    kind: str
    words: str


class AtWork:
    """The GPUs that the run works on, before its last progress and since; the parameters are what
    `state` gave: looks as [utilisation, power] by GPU."""

    def __init__(
        self, before: list[dict[str, list[float]]] | None = None,
        since: list[dict[str, list[float]]] | None = None, looks: Look | None = None,
    ) -> None:  # fmt: skip
        self._before, self._since = before or [], since or []
        self._looks = Looks(looks)

    def gauge(self, batch: Batch) -> None:
        """Take the next lines of telemetry."""
        for look in self._looks.feed(batch):
            told = {gpu: [one["gpu_util"], one.get("power_w", 0.0)]
                    for gpu, one in look["gpus"].items() if "gpu_util" in one}  # fmt: skip
            self._since = [*self._since, told][-_KEPT:]

    def went_on(self) -> None:
        """The run has made progress."""
        if self._since:
            self._before, self._since = (self._before + self._since)[-_KEPT:], []

    def seen(self) -> Work | None:
        """What they did since then; None where too little is known."""
        mine = [gpu for gpu in (self._before or [{}])[-1] if self._trains(gpu)]
        since = [look for look in self._since[1:] if all(gpu in look for gpu in mine)]
        if not mine or len(since) < FEW:
            return None
        looks = [look for look in self._before if all(gpu in look for gpu in mine)]
        (was, drew), (now, draws) = _typical(looks, mine), _typical(since, mine)
        most = max(look[gpu][0] for look in since for gpu in mine)
        if most <= IDLE:
            return Work("idle", f"its GPUs idle meanwhile ({now:.0f} %, {was:.0f} % before)")
        if now >= LIKE * was and drew > 0 and draws < WAITS * drew:
            words = f"busy meanwhile ({now:.0f} %) but draw {draws:.0f} W instead of {drew:.0f}"
            return Work("waiting", f"its GPUs are {words}, as those do that wait for a rank")
        if now >= LIKE * was and draws >= LIKE * drew:
            power = f", {draws:.0f} W" if drew > 0 else ""
            return Work("busy", f"its GPUs work on as before ({now:.0f} %{power}), as in a long "
                        "phase that tells nothing")  # fmt: skip
        return Work("", f"its GPUs are {now:.0f} % busy meanwhile ({was:.0f} % before)")

    def _trains(self, gpu: str) -> bool:
        """Whether a GPU was at work in half of the looks before the silence, of a few at least."""
        busy = [look[gpu][0] >= BUSY for look in self._before if gpu in look]
        return len(busy) >= FEW and 2 * sum(busy) >= len(busy)

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {"before": self._before, "since": self._since, "looks": self._looks.state()}


def _typical(looks: list[dict[str, list[float]]], gpus: list[str]) -> tuple[float, float]:
    """Median of utilisation and of power over all these GPUs."""
    pairs = [look[gpu] for look in looks for gpu in gpus]
    return middle([util for util, _ in pairs]), middle([power for _, power in pairs])


def weighed(silence: Finding, work: Work | None) -> Finding:
    """A silence that lasts, with what the GPUs do: idle or waiting makes a hang sure, work as
    before makes it a guess."""
    if work is None or silence.state is not State.OPEN:
        return silence
    told = replace(silence, message=f"{silence.message}; {work.words}")
    if silence.kind != "stalled" or not work.kind:
        return told
    if work.kind == "busy":
        return replace(told, severity=Severity.MEDIUM, confidence="low")
    return replace(told, confidence="high")
