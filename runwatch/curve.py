"""The course of one metric, kept small: means of equal blocks, and the last values as they were."""

import itertools
from collections.abc import Sequence

from runwatch.slotted import frozen

# Lower is better for these words of a metric's name, and for whatever is a loss or a perplexity.
_COSTS = frozenset(
    (
        "loss", "losses", "nll", "ppl", "perplexity", "err", "error", "errors", "wer", "cer", "fid",
        "rmse", "mse", "mae", "mape", "rmsle", "bpc", "bpb", "merror", "mlogloss", "logloss",
    )
)  # fmt: skip
_COSTLY = frozenset(("loss", "eval_loss", "perplexity"))


@frozen
class Spot:
    """A value and where it stands; `epoch` and `step` are None where the log tells none."""

    epoch: float | None
    step: int | None
    line: int
    value: float

    def __str__(self) -> str:
        if self.step is not None:
            return f"step {self.step}"
        return f"line {self.line}" if self.epoch is None else f"epoch {self.epoch:g}"


@frozen
class Curve:
    """One metric of a run. `blocks` are means of equally many finite values each, at the place of
    their last; `tail` the last values, NaN and infinities included; `count` all finite ones."""

    metric: str
    quantity: str | None
    stream: str
    count: int
    blocks: tuple[Spot, ...]
    tail: tuple[Spot, ...]

    @property
    def last(self) -> Spot | None:
        """Where it stands."""
        return self.tail[-1] if self.tail else None

    @property
    def rises(self) -> bool:
        """Whether higher is better."""
        return higher_is_better(self.metric, self.quantity)

    def near(self, spot: Spot) -> float | None:
        """Its value at the place of a spot of another run, between the two blocks around it.

        None before its first and behind its last block.
        """
        by_step = spot.step is not None and _ordered([b.step for b in self.blocks])
        here = float(spot.step or 0) if by_step else spot.epoch
        if here is None:
            return None
        places = [float(b.step or 0) if by_step else b.epoch for b in self.blocks]
        for i, place in enumerate(places):
            if place is None or place < here:
                continue
            if place == here or i == 0:
                return self.blocks[i].value if place == here else None
            before = places[i - 1]
            if before is None or before == place:
                return None
            share = (here - before) / (place - before)
            low, high = self.blocks[i - 1].value, self.blocks[i].value
            return low + share * (high - low)
        return None


def higher_is_better(metric: str, quantity: str | None = None) -> bool:
    """What a better value is, told from the name: losses and errors fall, the rest rises."""
    if quantity in _COSTLY:
        return False
    words = words_of(metric)
    return not any(word in _COSTS or word.endswith(("loss", "error")) for word in words)


def words_of(name: str) -> list[str]:
    """The words of a metric's name, in small letters, whatever stands between them."""
    return "".join(c if c.isalnum() else " " for c in name.lower()).split()


def _ordered(steps: Sequence[int | None]) -> bool:
    """Whether the steps count through the whole run, rather than within each epoch."""
    told = [step for step in steps if step is not None]
    return len(told) == len(steps) and all(a <= b for a, b in itertools.pairwise(told))
