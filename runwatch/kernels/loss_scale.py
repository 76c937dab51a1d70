"""Loss scales: where they change."""

from typing import Any

from runwatch.kernels.field import Field
from runwatch.kernels.run import DONE, over

CHANGED = 2  # a row has another scale than the one before

FIELDS = (Field("segment"), Field("scale", 0.0), Field("seen"))


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more row of a series; CHANGED where the scale is another."""
    if value - value != 0.0 or not value > 0.0:
        return DONE
    s.seen += 1
    if value == s.scale:
        return DONE
    s.scale = value
    return CHANGED


follow = over(row, None, FIELDS)
