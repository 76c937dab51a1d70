"""Whether the evaluations improve, or at least do not degrade."""

import math

from runwatch.curve import Curve
from runwatch.judge.picture import Picture
from runwatch.judge.signal import Opinion, Signal

_EVALUATIONS = ("eval_loss", "eval_accuracy")
_EITHER = ("perplexity", "accuracy")  # of training too, where it comes with every loss
SPARSER = 4  # times fewer values than losses: an evaluation
NOISY = 0.05  # share of the best by which the last may be worse without a word
SHOWN = 3


def evaluations(picture: Picture) -> list[Curve]:
    """The curves of evaluations, those that count most first."""
    training = picture.curve("loss")
    most = training.count / SPARSER if training is not None else float("inf")
    sure = [c for q in _EVALUATIONS for c in picture.curves if c.quantity == q]
    return sure + [
        c for q in _EITHER for c in picture.curves if c.quantity == q and c.count <= most
    ]


def look(picture: Picture) -> Signal:
    """The first evaluation that there is; detectors weigh those that get worse."""
    curve = next((one for one in evaluations(picture) if one.count), None)
    if curve is None or curve.last is None:
        return Signal("evaluation", Opinion.UNKNOWN, "no evaluation was reported")
    values = [spot.value for spot in curve.tail]
    shown = f"{curve.metric} {' → '.join(f'{value:.4g}' for value in values[-SHOWN:])}"
    if curve.count < 2:
        return Signal.of("evaluation", Opinion.UNKNOWN, f"{shown}: only one evaluation", curve)
    if not math.isfinite(values[-1]):
        return Signal.of("evaluation", Opinion.UNSURE, f"{shown}: no number", curve)
    best = (max if curve.rises else min)(block.value for block in curve.blocks)
    worse = best - values[-1] if curve.rises else values[-1] - best
    if worse <= 0:
        return Signal.of("evaluation", Opinion.FINE, f"{shown}: the best so far", curve)
    if worse <= NOISY * abs(best):
        return Signal.of("evaluation", Opinion.FINE, f"{shown}: near its best of {best:.4g}", curve)
    words = f"{shown}: off its best of {best:.4g}, a trend does not show"
    return Signal.of("evaluation", Opinion.FINE if picture.over else Opinion.UNSURE, words, curve)
