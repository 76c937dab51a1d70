"""Where the training loss goes, or the reward where a run learns by that."""

from runwatch.curve import Curve
from runwatch.judge.picture import Picture, longer, recent
from runwatch.judge.signal import Opinion, Signal
from runwatch.plain import counted
from runwatch.trend import Trend, trend

FEW = 10  # values before which nothing is told
CLEARLY = 3.5  # normal deviations of a rise that is no chance, however it is looked at
LOST = 0.2  # share of what was learned that a clear rise has lost
RELATIVE = 0.05  # share of the best value by which it must be higher
SPREADS = 3.0  # spreads by which it must be higher
NOISY = 0.3  # spread as a share of the level from which a series tells nothing
LATE = 0.9  # share of the steps from which a loss may be flat: the schedule ends


def look(picture: Picture) -> Signal:
    """Falling is fine, rising bad once it is clear, flat or noisy a matter of judgement."""
    reward = picture.curve("reward")
    curve = reward or picture.curve("loss")
    if curve is None or curve.count < FEW:
        return _too_little(picture, curve)
    told = trend(recent(curve))
    if told is None:
        return _too_little(picture, curve)
    slow = trend(longer(curve)) or told
    better, worse = (told.climbs, told.falls) if reward else (told.falls, told.climbs)
    better |= not worse and (slow.climbs if reward else slow.falls)
    if better:
        return Signal.of(
            "loss", Opinion.FINE, f"{_moved(curve)}: {'rising' if reward else 'falling'}", curve
        )
    if worse and not reward:
        return _rising(curve, told)
    if worse:
        return Signal.of("loss", Opinion.UNSURE, f"{_moved(curve)}: falling", curve)
    if _settled(picture):
        return Signal.of(
            "loss", Opinion.FINE, f"{_moved(curve)}: flat, as the schedule ends", curve
        )
    level = abs(recent(curve)[-1])
    if told.noise > NOISY * level and told.noise > abs(told.change):
        words = f"{curve.metric} is too noisy to tell a trend: {told.noise:.2g} around {level:.3g}"
        return Signal.of("loss", Opinion.UNSURE, words, curve)
    return Signal.of(
        "loss", Opinion.UNSURE, f"{_moved(curve)}: flat, neither falling nor rising", curve
    )


def _rising(curve: Curve, told: Trend) -> Signal:
    """A rise that is clear, that lasts, and that costs what was learned is a divergence."""
    values = [block.value for block in curve.blocks]
    level = sorted(values[-3:])[1]
    best = min(sum(values[i : i + 3]) / 3 for i in range(len(values) - 2))
    learned, lost = max(0.0, values[0] - best), level - best
    clear = told.z >= CLEARLY and lost > max(
        LOST * learned, SPREADS * told.noise, RELATIVE * abs(best)
    )
    if clear:
        words = f"{_moved(curve)}: diverging, {lost:.3g} above its best of {best:.4g}"
        return Signal.of("loss", Opinion.BAD, words, curve)
    return Signal.of("loss", Opinion.UNSURE, f"{_moved(curve)}: rising a little", curve)


def _too_little(picture: Picture, curve: Curve | None) -> Signal:
    if curve is None:
        return Signal("loss", Opinion.UNKNOWN, "no training loss was reported")
    opinion = Opinion.FINE if picture.over else Opinion.UNKNOWN
    return Signal.of(
        "loss", opinion, f"only {counted(curve.count, 'value')} of {curve.metric} so far", curve
    )


def _settled(picture: Picture) -> bool:
    """Whether the run is so far that its loss need not move any more."""
    if picture.over or (picture.progress or 0.0) >= LATE:
        return True
    rate = picture.curve("lr")
    highest = max((block.value for block in rate.blocks), default=0.0) if rate else 0.0
    return bool(rate and rate.last and highest > 0 and rate.last.value < 0.02 * highest)


def _moved(curve: Curve) -> str:
    """From where to where it came over the window that was looked at, single spikes left out."""
    values = recent(curve)
    blocks = curve.blocks[-len(values) :]
    first, last = (sorted(part)[1] for part in (values[:3], values[-3:]))
    return f"{curve.metric} {first:.4g} at {blocks[0]} → {last:.4g} at {blocks[-1]}"
