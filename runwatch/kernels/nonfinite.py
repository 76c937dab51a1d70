"""Values that are no finite numbers: one spell a segment, with what came before it."""

from typing import Any

from runwatch.kernels.run import DONE, SEGMENT
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


def follow(
    line: Any, time: Any, step: Any, epoch: Any, value: Any, order: Any, begins: Any,
    segments: Any, slots: Any, states: Any, at: Any, only_nan: Any,
) -> int:  # fmt: skip
    """Go on from series `at[0]` and place `at[1]` to the end; infinity is a value like any other
    where `only_nan` is 1."""
    g, k = at[0], at[1]
    while g < len(slots):
        s = states[slots[g]]
        if s.segment != segments[g]:
            at[0], at[1] = g, k
            return SEGMENT
        k = max(k, begins[g])
        while k < begins[g + 1]:
            i = order[k]
            k += 1
            v = value[i]
            finite = v - v == 0.0
            if repeats(s, step[i], epoch[i], finite):
                continue
            if finite or (only_nan == 1 and v == v):
                s.good_segment = s.segment
                if s.count > 0:
                    s.good += 1
                    s.run = 0
            else:
                broken(s, v, line[i], step[i], time[i])
            if finite:
                s.tail_at[s.tail_n % TAIL] = line[i] if step[i] == NOTHING else step[i]
                s.tail_value[s.tail_n % TAIL] = v
                s.tail_n += 1
            s.seen += 1
        g += 1
    return DONE
