"""What a record of one series is made of, and what several kernels do with it at every row."""

import math
from typing import Any

import numpy as np

from runwatch.slotted import frozen

NOTHING = int(np.iinfo(np.int64).min)  # a null step, time or rank


@frozen
class Field:
    """One number of a record, or an array of `size` of them.

    `count` names the field that tells how many of them are in use, all where it is empty.
    """

    name: str
    start: float | int = 0
    size: int = 0
    count: str = ""

    @property
    def dtype(self) -> Any:
        """As numpy describes it."""
        kind = "i8" if isinstance(self.start, int) else "f8"
        return (self.name, kind, (self.size,)) if self.size else (self.name, kind)

    def fresh(self) -> Any:
        """Its value before anything was seen."""
        if not self.size:
            return self.start
        return [] if self.count else [self.start] * self.size


def numbers(*names: str, start: float | int = 0) -> tuple[Field, ...]:
    """Fields of one number each, which begin alike."""
    return tuple(Field(name, start) for name in names)


REPEATED = (  # what `repeats` has to know of the row before
    Field("last_step", NOTHING),
    Field("last_epoch", math.nan),
    Field("last_finite", 1),
)


def repeats(s: Any, step: int, epoch: float, finite: bool) -> bool:
    """Whether a row repeats the step of the one before, as several loggers make it; takes it in.

    Where no step is told every row counts, and so does a value that turns non-finite.
    """
    same = (
        step != NOTHING
        and step == s.last_step
        and finite == (s.last_finite == 1)
        and (epoch == s.last_epoch or (epoch != epoch and s.last_epoch != s.last_epoch))
    )
    s.last_step = step
    s.last_epoch = epoch
    s.last_finite = 1 if finite else 0
    return same


def counts(s: Any, value: float, step: int, epoch: float) -> bool:
    """Whether a value is a number of a step that was not reported before; takes the step in."""
    finite = value - value == 0.0
    return not repeats(s, step, epoch, finite) and finite


def follows(value: float, step: int, before: int) -> bool:
    """Whether a value counts whatever was before it: finite, and of another step than `before`."""
    return value - value == 0.0 and (step != before or step == NOTHING)


def passed(s: Any, step: Any, epoch: Any, k: int) -> None:
    """A stretch of values that count ended with row `k`: what `repeats` has to know of it."""
    s.last_step = step[k]
    s.last_epoch = epoch[k]
    s.last_finite = 1


TAIL = 10  # values shown from before something that happened

LAST = (  # the last TAIL values with their places, a ring, and those before what happened, in order
    *numbers("tail_n", "before_n"),
    Field("tail_at", 0, TAIL),
    Field("tail_value", 0.0, TAIL),
    Field("before_at", 0, TAIL),
    Field("before_value", 0.0, TAIL),
)


def keep(s: Any, at: int, value: float) -> None:
    """Take a value into the ring of the last ones."""
    k = s.tail_n % TAIL
    s.tail_at[k] = at
    s.tail_value[k] = value
    s.tail_n += 1


def keep_rows(s: Any, line: Any, step: Any, value: Any, k: int, end: int) -> None:
    """`keep` the rows from `k` to `end`, each with its step, or its line where it tells none."""
    for i in range(max(k, end - TAIL), end):
        j = (s.tail_n + i - k) % TAIL
        s.tail_at[j] = line[i] if step[i] == NOTHING else step[i]
        s.tail_value[j] = value[i]
    s.tail_n += end - k


def look_back(s: Any) -> None:
    """Hold what the ring has by now: the values before what happens next."""
    s.before_n = min(s.tail_n, TAIL)
    for j in range(s.before_n):
        k = (s.tail_n - s.before_n + j) % TAIL
        s.before_at[j] = s.tail_at[k]
        s.before_value[j] = s.tail_value[k]
