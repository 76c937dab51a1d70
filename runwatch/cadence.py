"""When the next report of a live run is due: slower while nothing happens, at once quick again.

Pure values; nobody sleeps here. What counts as something happening is `news`.
"""

import math
from dataclasses import replace

from runwatch.slotted import frozen

GROWTH = 1.5
MOVED = 0.05  # relative change of the loss that is news
FULL_EVERY = 5  # reports between two fuller summaries


@frozen
class Glance:
    """A run at the moment of a report, as far as the pace of reports depends on it.

    `anomalies` identifies everything that was ever found, so that a new one shows; `stage` is
    whatever names the part of the training (epoch, segment); `state` how the run and its process
    are.
    """

    anomalies: frozenset[str] = frozenset()
    loss: float | None = None
    stage: tuple[object, ...] = ()
    state: object = ""


@frozen
class Cadence:
    """The pace of reports: `interval` seconds until the next, between `start` and `most`; `past`
    are those before it."""

    start: float = 30.0
    most: float = 300.0
    backoff: bool = True
    interval: float = 30.0
    reports: int = 0
    past: tuple[float, ...] = ()

    @classmethod
    def of(cls, start: float, most: float, *, backoff: bool = True) -> "Cadence":
        """Begin at `start`; a cap below it counts as `start`."""
        return cls(start, max(start, most), backoff, start)

    def after(self, *, eventful: bool) -> "Cadence":
        """The pace after one more report."""
        if eventful or not self.backoff:
            interval = self.start
        else:
            interval = min(self.most, self.interval * GROWTH)
        past = (*self.past, self.interval)[-3:]
        return replace(self, interval=interval, reports=self.reports + 1, past=past)

    @property
    def three(self) -> float:
        """Seconds of the last three intervals, while there are fewer with those to come."""
        return sum(self.past) + (3 - len(self.past)) * self.interval

    @property
    def full(self) -> bool:
        """Whether the report just made is one of those that tell everything."""
        return self.reports % FULL_EVERY == 0


def news(before: Glance, now: Glance) -> tuple[str, ...]:
    """Why the pace starts over, in words; nothing where the time between was uneventful."""
    reasons = []
    if now.anomalies - before.anomalies:
        reasons.append("anomaly")
    if moved(before.loss, now.loss):
        reasons.append("loss moved")
    if now.stage != before.stage:
        reasons.append("new stage")
    if now.state != before.state:
        reasons.append("state changed")
    return tuple(reasons)


def moved(before: float | None, now: float | None) -> bool:
    """Whether the loss changed by more than MOVED of what it was, or ceased to be a number."""
    if before is None or now is None:
        return False
    if math.isfinite(before) != math.isfinite(now):
        return True
    return abs(now - before) > MOVED * abs(before)
