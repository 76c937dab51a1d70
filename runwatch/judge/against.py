"""The run against numbers that it should reach, and against another run at the same step."""

import itertools
from collections.abc import Iterator, Sequence

from runwatch.baseline import Baseline, Reference
from runwatch.curve import Curve, Spot
from runwatch.judge.picture import Picture
from runwatch.judge.signal import Opinion, Signal
from runwatch.trend import trend

LAST = 3  # values that must agree
SLIGHT = 0.02  # share by which a value is as good as its baseline
EARLY = 0.5  # share of the steps before which being worse than the final number says little
LATE = 0.8  # share from which even a run that still improves will hardly get there
ENOUGH = 6  # values from which a run of unknown length is no longer early
START = 0.05  # share of the steps in which runs differ by chance
_COMPARED = ("eval_loss", "eval_accuracy", "perplexity", "loss", "accuracy", "reward")


def against(picture: Picture) -> Iterator[Signal]:
    """One signal for each baseline and for each metric shared with the reference run."""
    for baseline in picture.baselines:
        yield _baseline(picture, baseline)
    if picture.reference is not None:
        yield _reference(picture, picture.reference)


def _baseline(picture: Picture, baseline: Baseline) -> Signal:
    """Worse than the number, by how much and how late, and whether it still comes nearer."""
    curve = baseline.curve(picture.curves)
    name = f"baseline {baseline}"
    if curve is None or not curve.blocks:
        seen = ", ".join(one.metric for one in picture.curves[:6]) or "nothing"
        opinion = Opinion.UNSURE if picture.over else Opinion.UNKNOWN
        return Signal(name, opinion, f"not measured; the log has {seen}")
    values = [spot.value for spot in _finite(curve)][-LAST:]
    gaps = sorted(_gap(value, baseline.value, rises=baseline.rises) for value in values)
    gap = gaps[len(gaps) // 2]
    words = f"{curve.metric} {values[-1]:.4g}, {_worse(gap)} {baseline.value:g}"
    if gap <= SLIGHT:
        return Signal.of(name, Opinion.FINE, words, curve)
    much = len(gaps) == LAST and gaps[0] > picture.tolerance
    if not picture.over and _improves(curve, rises=baseline.rises):
        late = (picture.progress or 0.0) >= LATE
        told = f"{words}, and still improving" + (", late in the run" if late and much else "")
        return Signal.of(name, Opinion.UNSURE if late and much else Opinion.FINE, told, curve)
    if much and not _early(picture, curve):
        return Signal.of(name, Opinion.BAD, f"{words}, in the last {LAST} values", curve)
    early = " but still early" if _early(picture, curve) else ""
    return Signal.of(name, Opinion.UNSURE, f"{words}{early}", curve)


def _reference(picture: Picture, reference: Reference) -> Signal:
    """The last values against those of the other run at the same step."""
    name, found = f"reference {reference.run}", []
    for quantity in _COMPARED:
        for curve in picture.curves:
            other = reference.of(curve) if curve.quantity == quantity else None
            gaps = _gaps(curve, other) if other is not None else []
            if gaps:
                found.append((curve, gaps))
    if not found:
        return Signal(name, Opinion.UNKNOWN, "no metric and step that both have")
    curve, gaps = max(found, key=lambda one: sorted(one[1])[len(one[1]) // 2])
    gap, agreed = sorted(gaps)[len(gaps) // 2], len(gaps) == LAST
    words = f"{curve.metric} {_worse(gap)} the reference at {curve.blocks[-1]}"
    if gap <= SLIGHT:
        return Signal.of(name, Opinion.FINE, words, curve)
    started = picture.progress is None or picture.progress > START
    if agreed and started and min(gaps) > picture.tolerance:
        return Signal.of(name, Opinion.BAD, f"{words}, in the last {LAST} values", curve)
    return Signal.of(name, Opinion.UNSURE, words, curve)


def _gaps(curve: Curve, other: Curve) -> list[float]:
    """By what share each of the last values is worse than the other run's there."""
    spots: Sequence[Spot] = curve.blocks if curve.count > len(curve.tail) else _finite(curve)
    return [
        _gap(spot.value, there, rises=curve.rises)
        for spot in spots[-LAST:]
        if (there := other.near(spot)) is not None
    ]


def _gap(value: float, wanted: float, *, rises: bool) -> float:
    """The share by which a value is worse; negative where it is better."""
    worse = wanted - value if rises else value - wanted
    return worse / max(abs(wanted), 1e-12)


def _worse(gap: float) -> str:
    if gap <= 0:
        return "at least as good as"
    return f"{gap:.0%} worse than" if gap > SLIGHT else "as good as"


def _early(picture: Picture, curve: Curve) -> bool:
    if picture.over:
        return False
    if picture.progress is not None:
        return picture.progress < EARLY
    return curve.count < ENOUGH


def _improves(curve: Curve, *, rises: bool) -> bool:
    """Whether it still gets better: by its trend, or for a few values by their order."""
    values = [block.value for block in curve.blocks][-24:]
    told = trend(values)
    if told is not None:
        return told.climbs if rises else told.falls
    pairs = list(itertools.pairwise(values))
    return len(pairs) >= 2 and all((b > a) is rises and a != b for a, b in pairs[-3:])


def _finite(curve: Curve) -> list[Spot]:
    return [spot for spot in curve.tail if spot.value - spot.value == 0.0]
