"""The last values of every rank."""

from typing import Any

from runwatch.kernels.run import DONE, SEGMENT
from runwatch.kernels.tracks import REPEATED, Field, numbers, repeats

KEPT = 100  # values per rank whose median is compared

FIELDS = (
    Field("segment"),
    *REPEATED,
    *numbers("seen", "line", "step", "time", "last_line"),
    Field("values", 0.0, KEPT),
)


def follow(
    line: Any, time: Any, step: Any, epoch: Any, value: Any, order: Any, begins: Any,
    segments: Any, slots: Any, states: Any, at: Any,
) -> int:  # fmt: skip
    """Go on from series `at[0]` and place `at[1]` to the end."""
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
            if repeats(s, step[i], epoch[i], finite) or not finite:
                continue
            if s.seen == 0:
                s.line = line[i]
                s.step = step[i]
                s.time = time[i]
            s.values[s.seen % KEPT] = v
            s.seen += 1
            s.last_line = line[i]
        g += 1
    return DONE
