"""Whether a short series goes up, down or nowhere, told by its order rather than by its shape."""

import math
from collections.abc import Sequence

from runwatch.slotted import frozen

SURE = 2.6  # normal deviations of the Mann-Kendall statistic: one false trend in a hundred
FEW = 8  # values below which no trend is told


@frozen
class Trend:
    """`z` in normal deviations (positive: up), `change` from the first value to the last along the
    median slope, `noise` the spread around it."""

    z: float
    change: float
    noise: float

    @property
    def falls(self) -> bool:
        """Whether it surely goes down."""
        return self.z <= -SURE

    @property
    def climbs(self) -> bool:
        """Whether it surely goes up."""
        return self.z >= SURE


def trend(values: Sequence[float]) -> Trend | None:
    """The trend of a series; None where it is shorter than FEW.

    The statistic is Mann-Kendall's (Mann, Econometrica 1945; Kendall, Rank Correlation Methods,
    1975), without a correction for ties; the slope is Theil-Sen's. One spike moves neither much.
    The cost grows with the square of the length.
    """
    count = len(values)
    if count < FEW:
        return None
    slopes, order = [], 0
    for i, before in enumerate(values):
        for j in range(i + 1, count):
            rise = values[j] - before
            order += (rise > 0) - (rise < 0)
            slopes.append(rise / (j - i))
    slope = _median(slopes)
    rest = [value - slope * i for i, value in enumerate(values)]
    middle = _median(rest)
    noise = 1.4826 * _median([abs(one - middle) for one in rest])
    spread = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return Trend((order - (order > 0) + (order < 0)) / spread, slope * (count - 1), noise)


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else 0.5 * (ordered[half - 1] + ordered[half])
