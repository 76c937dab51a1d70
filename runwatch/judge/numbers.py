"""NaN and Inf, in the loss or the gradients."""

import math

from runwatch.judge.picture import Picture
from runwatch.judge.signal import Opinion, Signal


def look(picture: Picture) -> Signal:
    """What is no number now is for detectors to weigh; here is said what was looked at."""
    curves = [curve for curve in picture.curves if curve.quantity in ("loss", "grad_norm")]
    for curve in curves:
        if curve.last is not None and not math.isfinite(curve.last.value):
            words = f"{curve.metric} is {curve.last.value} at {curve.last}"
            return Signal.of("numbers", Opinion.UNSURE, words, curve)
    if not curves:
        return Signal("numbers", Opinion.UNKNOWN, "no loss and no gradient norm was reported")
    names = " and ".join(curve.metric for curve in curves[:3])
    return Signal("numbers", Opinion.FINE, f"none stands in {names}")
