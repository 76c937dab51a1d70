"""A run as the signals see it: what was found, how its numbers went, what they should have been."""

from dataclasses import field

from runwatch.baseline import Baseline, Reference
from runwatch.curve import Curve
from runwatch.finding import Finding
from runwatch.slotted import frozen
from runwatch.summary import Steps

WINDOW = 64  # blocks that a trend is told from, at most
LEAST = 12  # and at least, where there are as many


@frozen
class Picture:
    """`tolerance` is the share by which a value may be worse than its baseline; `over` says that
    the run has come to its end as it should."""

    findings: tuple[Finding, ...]
    curves: tuple[Curve, ...]
    steps: Steps = field(default_factory=Steps)
    baselines: tuple[Baseline, ...] = ()
    reference: Reference | None = None
    tolerance: float = 0.1
    over: bool = False

    def curve(self, quantity: str) -> Curve | None:
        """The curve of this quantity that was measured most often."""
        found = [curve for curve in self.curves if curve.quantity == quantity]
        return max(found, key=lambda curve: curve.count, default=None)

    @property
    def progress(self) -> float | None:
        """The share of the announced steps that is done; None where none were announced."""
        if not self.steps.total or self.steps.last is None:
            return None
        return min(1.0, self.steps.last / self.steps.total)


def recent(curve: Curve) -> list[float]:
    """The blocks of the last quarter of a curve."""
    values = [block.value for block in curve.blocks]
    return values[-min(WINDOW, max(LEAST, len(values) // 4)) :]


def longer(curve: Curve) -> list[float]:
    """Those of its last half, or more where there are few: a slow trend shows only there."""
    values = [block.value for block in curve.blocks]
    return values[-min(2 * WINDOW, max(3 * LEAST, len(values) // 2)) :]
