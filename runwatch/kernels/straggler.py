"""The last values of every rank."""

from typing import Any

from runwatch.kernels.field import REPEATED, Field, counts, numbers
from runwatch.kernels.run import DONE, over

KEPT = 100  # values per rank whose median is compared

FIELDS = (
    Field("segment"),
    *REPEATED,
    *numbers("seen", "line", "step", "time", "last_line"),
    Field("values", 0.0, KEPT),
)


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more row of a series."""
    if not counts(s, value, step, epoch):
        return DONE
    if s.seen == 0:
        s.line = line
        s.step = step
        s.time = time
    s.values[s.seen % KEPT] = value
    s.seen += 1
    s.last_line = line
    return DONE


follow = over(row, None, FIELDS)
