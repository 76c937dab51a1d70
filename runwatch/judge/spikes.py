"""Sudden jumps of the loss: more than ten times its normal variance."""

import itertools
import math

from runwatch.judge.picture import Picture
from runwatch.judge.signal import Opinion, Signal

TIMES = 10.0  # spreads
FEW = 8  # values that the normal spread is told from


def look(picture: Picture) -> Signal:
    """A jump among the last values. One alone is noise: it makes unsure, never stops."""
    curve = picture.curve("loss")
    if curve is None or len(curve.tail) <= FEW:
        return Signal("spikes", Opinion.UNKNOWN, "too few losses to know their normal variance")
    values = [spot.value for spot in curve.tail if math.isfinite(spot.value)]
    jump = _jump(values)
    if jump is None:
        return Signal.of("spikes", Opinion.FINE, "none among the last values", curve)
    words = f"{curve.metric} jumped to {values[-1]:.4g}, {jump:.0f} times its normal variance"
    return Signal.of("spikes", Opinion.UNSURE, words, curve)


def _jump(values: list[float]) -> float | None:
    """How many spreads the last value is above those before; None where it is no jump.

    The spread is that of the differences from value to value, so a trend does not widen it.
    """
    if len(values) <= FEW:
        return None
    *before, last = values
    moves = sorted(abs(b - a) for a, b in itertools.pairwise(before))
    level = sorted(before)[len(before) // 2]
    spread = max(1.4826 * moves[len(moves) // 2] / math.sqrt(2), 1e-3 * abs(level), 1e-12)
    height = (last - max(level, before[-1])) / spread
    return height if height > TIMES else None
