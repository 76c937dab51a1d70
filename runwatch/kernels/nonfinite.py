"""Values that are no finite numbers: one spell a segment, with what came before it."""

from typing import Any

from runwatch.kernels.field import (
    LAST,
    NOTHING,
    REPEATED,
    Field,
    follows,
    keep,
    keep_rows,
    look_back,
    numbers,
    passed,
    repeats,
)
from runwatch.kernels.run import DONE, over

FIELDS = (
    Field("segment"),
    *REPEATED,
    *LAST,
    *numbers("seen"),
    Field("good_segment", -1),
    *numbers("count", "run", "longest", "good", "is_nan", "first_index"),
    *numbers("line", "step", "time", "last_line"),
)


def broken(s: Any, value: float, line: int, step: int, time: int) -> None:
    """One more value that is no number; all of a segment belong to one spell."""
    if s.count == 0:
        s.is_nan = 1 if value != value else 0
        s.first_index = s.seen
        s.line = line
        s.step = step
        s.time = time
        look_back(s)
    s.count += 1
    s.run += 1
    s.longest = max(s.longest, s.run)
    s.good = 0
    s.last_line = line


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more row of a series; infinity is a value like any other where `more` is 1."""
    finite = value - value == 0.0
    if repeats(s, step, epoch, finite):
        return DONE
    if finite or (more == 1 and value == value):
        s.good_segment = s.segment
        if s.count > 0:
            s.good += 1
            s.run = 0
    else:
        broken(s, value, line, step, time)
    if finite:
        keep(s, line if step == NOTHING else step, value)
    s.seen += 1
    return DONE


def stretch(
    s: Any, line: Any, step: Any, epoch: Any, value: Any, time: Any, k: int, end: int, more: Any
) -> int:  # fmt: skip
    """`row` for finite values where none was lost before."""
    first, before = k, s.last_step
    if s.count > 0:
        return k
    while k < end and follows(value[k], step[k], before):
        before = step[k]
        k += 1
    if k > first:
        s.good_segment = s.segment
        s.seen += k - first
        keep_rows(s, line, step, value, first, k)
        passed(s, step, epoch, k - 1)
    return k


follow = over(row, stretch, FIELDS)
