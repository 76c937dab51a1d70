"""Rolling order statistics and a one-sided CUSUM on them, one value at a time.

`z` is the distance above the median of the last values in units of their spread; the spread is
the larger of a quartile estimate and the upper tail's, so that a series with a heavy upper tail
is measured by its own habits. The CUSUM adds up z - ALLOWANCE, never below 0, and alarms above
LIMIT (Page 1954; k = 1 and h = 6 are what trainscope uses on median and MAD of 200).
"""

import sys
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

SIZE = 200
LEAST = 12
ALLOWANCE = 1.0
LIMIT = 6.0
FLOOR = 0.003  # of the median: below that a printed loss shows rounding rather than noise
TINY = 1e-9
MANY = 500_000  # values from which loading numba pays
SOME = 1_000  # values from which it pays where it is loaded already
MEMORY = 10_000  # values over which the usual spread is averaged


@dataclass(slots=True)
class Past:
    """The last values in order of arrival and of size, and the run-up of the CUSUM.

    `usual` is the spread averaged over a longer past, from `judged` values.
    """

    ring: list[float] = field(default_factory=list)
    order: list[float] = field(default_factory=list)
    total: float = 0.0
    usual: float = 0.0
    judged: int = 0

    def push(self, value: float) -> None:
        """Take in one finite value and let the oldest of more than SIZE go."""
        self.ring.append(value)
        insort(self.order, value)
        if len(self.ring) > SIZE:
            del self.order[bisect_left(self.order, self.ring.pop(0))]

    def level(self) -> tuple[float, float]:
        """Median and spread of what is there; the spread is wider while little is known."""
        order, n = self.order, len(self.order)
        median = order[n >> 1]
        quartiles = (order[(3 * n) >> 2] - order[n >> 2]) / 1.349
        tail = (order[(19 * n) // 20] - median) / 1.645
        floor = FLOOR * abs(median) + TINY
        return median, max(quartiles, tail, floor) * (1.0 + 10.0 / n)


def worth_compiling(count: int) -> bool:
    """Whether `rolling_compiled.advance`, which says the same, is the quicker way for so many."""
    return count >= (SOME if "numba" in sys.modules else MANY)


@dataclass(frozen=True, slots=True)
class Alarm:
    """Where `advance` stopped; `onset` and `first` may lie before the given values (negative).

    `index` is that of the alarming value, or the number of values where nothing alarmed. `onset`
    is where the run-up began, `first` its first value three spreads above the median (None where
    there is no run-up, or no such value).
    """

    index: int
    onset: int | None
    first: int | None


def advance(
    values: Sequence[float],
    start: int,
    past: Past,
    onset: int | None = None,
    first: int | None = None,
) -> Alarm:
    """Feed finite values from `start` on until one alarms; that one is not taken in."""
    order, push, total = past.order, past.push, past.total
    for i in range(start, len(values)):
        value = values[i]
        if len(order) >= LEAST:
            median, spread = past.level()
            past.judged += 1
            past.usual += (spread - past.usual) / min(past.judged, MEMORY)
            z = (value - median) / spread
            total += z - ALLOWANCE
            if total > 0.0:
                onset = i if onset is None else onset
                first = i if first is None and z >= 3.0 else first
                if total > LIMIT:
                    past.total = total
                    return Alarm(i, onset, first)
            else:
                total, onset, first = 0.0, None, None
        push(value)
    past.total = total
    return Alarm(len(values), onset, first)
