"""Whether the learning rate goes as schedules go."""

from runwatch.judge.picture import Picture
from runwatch.judge.signal import Opinion, Signal


def look(picture: Picture) -> Signal:
    """In which part of its schedule it is; what no schedule explains is for the detector."""
    curve = picture.curve("lr")
    if curve is None or curve.last is None or not curve.blocks:
        return Signal("learning_rate", Opinion.UNKNOWN, "no learning rate was reported")
    now, values = curve.last.value, [block.value for block in curve.blocks]
    highest = max(values)
    if values[-1] >= highest and values[0] < 0.9 * highest:
        part = "warming up"
    elif min(values) >= 0.98 * highest:
        part = "constant"
    elif now <= 0.02 * highest:
        part = "at the end of its decay"
    else:
        part = "decaying" if now < 0.98 * highest else "at its peak"
    words = f"{curve.metric} {now:.3g}: {part}"
    return Signal.of("learning_rate", Opinion.FINE, words, curve)
