"""When reports of a watched run are due, and what silence is worth at that pace."""

from collections.abc import Sequence
from dataclasses import replace

from runwatch.cadence import Cadence, Glance, news
from runwatch.event import Acted, Event, Found, Turned


class Pace:
    """Seconds of a steady clock. `due` is the time of the next report.

    `patience` are two intervals as they were when the last line came: reports get rarer while
    nothing comes, and the word on it must not recede with them.
    """

    def __init__(self, cadence: Cadence, now: float) -> None:
        self.cadence, self.due = cadence, now
        self.glance = Glance()
        self.patience = 2 * cadence.interval

    def heard(self) -> None:
        """A line has come."""
        self.patience = 2 * self.cadence.interval

    def quicken(self, now: float, events: Sequence[Event]) -> list[Event]:
        """An anomaly or a change of state brings the next report forward; the events, the last new
        finding with the interval where that has been reset."""
        told = list(events)
        at = [i for i, e in enumerate(told) if isinstance(e, Found) and e.change == "new"]
        if not at and not any(isinstance(e, Turned | Acted) for e in told):
            return told
        found, start = told[at[-1]] if at else None, self.cadence.start
        if self.cadence.interval > start:
            self.cadence = replace(self.cadence, interval=start)
            if isinstance(found, Found):
                told[at[-1]] = replace(found, reset=start)
        self.due = min(self.due, now + start)
        return told

    def report(self, now: float, glance: Glance, *, first: bool) -> tuple[tuple[str, ...], bool]:
        """A report is made: why the pace starts over with it, and whether it tells everything."""
        reasons = news(self.glance, glance)
        if not first:
            self.cadence = self.cadence.after(eventful=bool(reasons))
        self.glance, self.due = glance, now + self.cadence.interval
        full = self.cadence.full or bool({*reasons} - {"loss moved"})
        return reasons, full and not first
