"""Loss scales: where they change."""

from typing import Any

from runwatch.kernels.run import DONE, SEGMENT
from runwatch.kernels.tracks import Field

CHANGED = 2  # row `at[2]` has another scale than the one before

FIELDS = (Field("segment"), Field("scale", 0.0), Field("seen"))


def follow(
    line: Any, time: Any, step: Any, epoch: Any, value: Any, order: Any, begins: Any,
    segments: Any, slots: Any, states: Any, at: Any,
) -> int:  # fmt: skip
    """Go on from series `at[0]` and place `at[1]` until a scale changes."""
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
            if v - v != 0.0 or not v > 0.0:
                continue
            s.seen += 1
            if v != s.scale:
                s.scale = v
                at[0], at[1], at[2] = g, k, i
                return CHANGED
        g += 1
    return DONE
