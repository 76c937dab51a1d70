"""Whether the gradient norm explodes or vanishes."""

import math

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
        return Signal.of(
            "gradients", Opinion.UNSURE, f"the last values of {curve.metric} are no numbers", curve
        )
    now = _median(finite[-LAST:])
    usual = _median([block.value for block in curve.blocks])
    words = f"{curve.metric} {now:.3g}, usually {usual:.3g}"
    if now > TIMES * usual:
        exploding = "exploding" if now > HUGE else "far above"
        return Signal.of("gradients", Opinion.UNSURE, f"{words}: {exploding}", curve)
    if now < GONE * usual:
        return Signal.of("gradients", Opinion.UNSURE, f"{words}: vanishing", curve)
    return Signal.of("gradients", Opinion.FINE, words, curve)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]
