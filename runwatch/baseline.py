"""What a run is measured against: numbers of a paper, or another run at the same step."""

import math
from collections.abc import Sequence
from typing import Self

from runwatch.curve import Curve, higher_is_better, words_of
from runwatch.errors import UsageError
from runwatch.pattern import compiled
from runwatch.slotted import frozen

_PAIR = compiled(r"\s*(?P<name>[^=<>]+?)\s*(?P<sign>[=<>])=?\s*(?P<value>\S+)\s*")
# Names that a quantity goes by, the evaluation first: a baseline is a number of an evaluation.
_WORDS = {
    "loss": ("eval_loss", "loss"),
    "ppl": ("perplexity",),
    "perplexity": ("perplexity",),
    "acc": ("eval_accuracy", "accuracy"),
    "accuracy": ("eval_accuracy", "accuracy"),
    "reward": ("reward",),
}


@frozen
class Baseline:
    """A metric and the value that it should reach. `rises` where higher is better."""

    name: str
    value: float
    rises: bool

    @classmethod
    def parse_all(cls, text: str) -> tuple[Self, ...]:
        """`loss=2.1,acc=0.7`; `<` and `>` instead of `=` say that lower or higher is better.

        Raises UsageError.
        """
        return tuple(cls._parse(part) for part in text.split(",") if part.strip())

    @classmethod
    def _parse(cls, part: str) -> Self:
        found = _PAIR.fullmatch(part)
        try:
            value = float(found["value"]) if found else math.nan
        except ValueError:
            value = math.nan
        if found is None or not math.isfinite(value):
            raise UsageError(f"{part.strip()!r} is no baseline", hint="write loss=2.1,acc=0.7")
        rises = found["sign"] == ">" or (found["sign"] == "=" and higher_is_better(found["name"]))
        return cls(found["name"], value, rises)

    def curve(self, curves: Sequence[Curve]) -> Curve | None:
        """The curve that it is about: `loss` and `acc` are those of the evaluation where there is
        one; other names are those of a metric, whole or at its end."""
        wanted = _plain(self.name)
        for quantity in _WORDS.get(wanted, ()):
            for curve in curves:
                if curve.quantity == quantity:
                    return curve
        for curve in curves:
            if wanted in (_plain(curve.metric), curve.quantity):
                return curve
        ends = [curve for curve in curves if f" {_plain(curve.metric)}".endswith(f" {wanted}")]
        return ends[0] if ends else None

    def __str__(self) -> str:
        return f"{self.name}={self.value:g}"


@frozen
class Reference:
    """Another run, to be compared with at the same step."""

    run: str
    curves: tuple[Curve, ...]

    def of(self, curve: Curve) -> Curve | None:
        """Its curve of the same metric."""
        return next((other for other in self.curves if other.metric == curve.metric), None)


def _plain(name: str) -> str:
    return " ".join(words_of(name))
