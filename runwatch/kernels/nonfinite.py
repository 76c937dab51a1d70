"""Values that are no finite numbers: one spell a segment, with what came before it."""

from typing import Any

from runwatch.kernels.run import DONE, over
from runwatch.kernels.tracks import NOTHING, REPEATED, Field, numbers, repeats

TAIL = 10  # values shown from before the spell

FIELDS = (
    Field("segment"),
    *REPEATED,
    *numbers("seen", "tail_n"),
    Field("good_segment", -1),
    Field("tail_at", 0, TAIL),
    Field("tail_value", 0.0, TAIL),
    *numbers("count", "run", "longest", "good", "is_nan", "first_index"),
    *numbers("line", "step", "time", "last_line", "before_n"),
    Field("before_at", 0, TAIL),
    Field("before_value", 0.0, TAIL),
)


def broken(s: Any, value: float, line: int, step: int, time: int) -> None:
    """One more value that is no number; all of a segment belong to one spell."""
    if s.count == 0:
        s.is_nan = 1 if value != value else 0
        s.first_index = s.seen
        s.line = line
        s.step = step
        s.time = time
        s.before_n = min(s.tail_n, TAIL)
        for j in range(s.before_n):
            k = (s.tail_n - s.before_n + j) % TAIL
            s.before_at[j] = s.tail_at[k]
            s.before_value[j] = s.tail_value[k]
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
        s.tail_at[s.tail_n % TAIL] = line if step == NOTHING else step
        s.tail_value[s.tail_n % TAIL] = value
        s.tail_n += 1
    s.seen += 1
    return DONE


follow = over(row)
