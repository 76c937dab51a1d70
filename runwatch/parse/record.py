"""One text of a line understood: its measurements with their values, and where it belongs."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from runwatch.parse.number import value_of
from runwatch.parse.plan import Evidence, Plan
from runwatch.pattern import compiled

MAX_RANK = 1_000_000  # no run has more; a longer number is something else

_SCALES = {"k": 1000, "K": 1000, "M": 1_000_000, "B": 1_000_000_000}
_INNER = compiled("[\x01\x02\x03](\\d+)\x04")


class Point(NamedTuple):
    """A measurement: name and unit as printed."""

    metric: str
    value: float
    unit: str


class Record(NamedTuple):
    """What one text says. `key` names its form, for records that must come twice to count.

    `step` is None where the text names none; `bar` is the description of a progress bar;
    `training` is False where it speaks of evaluation.
    """

    evidence: Evidence = Evidence.NONE
    points: tuple[Point, ...] = ()
    step: int | None = None
    total_steps: int | None = None
    epoch: float | None = None
    total_epochs: int | None = None
    rank: int | None = None
    bar: str | None = None
    training: bool = True
    key: str = ""

    @property
    def located(self) -> bool:
        """Whether the text itself says where in the run it belongs."""
        return self.step is not None or self.epoch is not None


NOTHING = Record()


def fill(plan: Plan, values: Sequence[str], key: str) -> Record:
    """Put the numbers of a line into the plan of its shape."""
    return Record(
        plan.evidence,
        tuple(
            Point(
                _named(f.metric, values) if "\x04" in f.metric else f.metric,
                number(values[f.slot]),
                f.unit,
            )
            for f in plan.fields
        ),
        _count(values, plan.step, _SCALES.get(plan.step_unit, 1)),
        _count(values, plan.total_steps),
        None if plan.epoch is None else finite(number(values[plan.epoch])),
        _count(values, plan.total_epochs),
        rank_of(values[plan.rank]) if plan.rank is not None else None,
        plan.bar,
        plan.training,
        key,
    )


def counts_plainly(plan: Plan, values: Sequence[str]) -> bool:
    """Whether the step, if the plan has one, is a whole number in these values, or a fraction whose
    other digits are another step: from other lines nothing can be learned of steps."""
    if plan.step is None:
        return True
    text = values[plan.step]
    value = number(text) * _SCALES.get(plan.step_unit, 1)
    counted = count(value)
    return counted == value or (counted is not None and text.lower().find("e") < 0)


def _named(metric: str, values: Sequence[str]) -> str:
    return _INNER.sub(lambda m: values[int(m.group(1))], metric)


def number(text: str) -> float:
    """The value of a token, whatever kind of number it is."""
    try:
        return value_of(text)
    except ValueError:
        word = text.lower().removesuffix(".0")  # "inf.0"
        return value_of(word if "n" in word else word.replace("f", "e"))  # "0.125f0"


def finite(value: float) -> float | None:
    """The value, or None where it is nan or infinite."""
    return value if math.isfinite(value) else None


def count(value: float | None) -> int | None:
    """A counter as a whole number; None where it is none or does not fit 64 bits."""
    if value is None or not math.isfinite(value) or abs(value) >= 2**62:
        return None
    return int(value)


def rank_of(text: str) -> int | None:
    """A rank; None where the number cannot be one."""
    value = count(number(text))
    return value if value is not None and 0 <= value < MAX_RANK else None


def _count(values: Sequence[str], slot: int | None, scale: int = 1) -> int | None:
    return None if slot is None else count(number(values[slot]) * scale)
