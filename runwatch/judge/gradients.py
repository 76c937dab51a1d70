"""Whether the gradient norm explodes or vanishes."""

import math

from runwatch.curve import Curve
from runwatch.judge.picture import Picture
from runwatch.judge.signal import Opinion, Signal

HUGE = 1000.0  # a norm above this is an explosion, unless it has always been so
TIMES = 10.0  # the run's own median
GONE = 1e-3  # share of the run's own median below which it vanishes
FEW = 8
LAST = 5  # values whose median tells where it stands


def look(picture: Picture) -> Signal:
    """The median of the last values against the run's own."""
    curve = picture.curve("grad_norm")
    if curve is None or curve.count < FEW:
        return Signal("gradients", Opinion.UNKNOWN, "no gradient norm was reported, or too few")
    finite = [spot.value for spot in curve.tail if math.isfinite(spot.value)]
    if not finite:
        return _signal(curve, Opinion.UNSURE, f"the last values of {curve.metric} are no numbers")
    now = _median(finite[-LAST:])
    usual = _median([block.value for block in curve.blocks])
    words = f"{curve.metric} {now:.3g}, usually {usual:.3g}"
    if now > TIMES * usual:
        exploding = "exploding" if now > HUGE else "far above"
        return _signal(curve, Opinion.UNSURE, f"{words}: {exploding}")
    if now < GONE * usual:
        return _signal(curve, Opinion.UNSURE, f"{words}: vanishing")
    return _signal(curve, Opinion.FINE, words)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _signal(curve: Curve, opinion: Opinion, words: str) -> Signal:
    line = 0 if curve.last is None else curve.last.line
    return Signal("gradients", opinion, words, curve.stream, line)
