"""The members of an object, taken one by one: its measurements, and where in the run it belongs."""

import re
from dataclasses import field
from typing import Any, TypeGuard

from runwatch.parse import unit
from runwatch.parse.axis import is_strong
from runwatch.parse.number import NAN_MARK, NUMBER_MARK, split
from runwatch.parse.quantity import Names
from runwatch.parse.record import Point, finite, number
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_FRACTION = compiled(r"(\d{1,15}) ?/ ?(\d{1,15})")


@mutable
class Members:
    """What the members that were taken so far say."""

    points: list[Point] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    words: int = 0  # values that are text
    step: float | None = None
    step_claim: int = 0
    total_steps: float | None = None
    epoch: float | None = None
    total_epochs: float | None = None
    rank: float | None = None

    def take(self, name: str, item: Any, names: Names | None) -> None:
        """Take one value: an axis, a measurement, or nothing. Without names there are no axes."""
        suffix = ""
        if isinstance(item, str):
            if names is not None and (m := _FRACTION.fullmatch(item.strip())):
                self._place(name.split("/")[0], m, names)
                return
            tokens = split(item.strip())
            if tokens.marks not in (NUMBER_MARK, NAN_MARK) or tokens.literals[0]:
                self.words += bool(item) and not tokens.marks
                return
            suffix, rest = unit.take(tokens.literals[1])
            if rest:
                self.words += 1
                return
            value = number(tokens.values[0])
        elif is_numeric(item):
            value = _double(item)
        else:
            return
        self.keys.append(name)
        if names is not None and self._axis(name, value, names):
            return
        self.points.append(Point(name, value, suffix))

    def move(self, name: str, axis: str, names: Names) -> None:
        """Take a measurement for an axis that goes by another name."""
        for point in self.points:
            if point.metric == name and self._axis(axis, point.value, names):
                self.points.remove(point)
                return

    def _place(self, name: str, said: re.Match[str], names: Names) -> None:
        """Take an axis with its total: `'global_step/max_steps': '5/250'`."""
        at, total = map(float, said.groups())
        self._axis(name, at, names)
        axis = names.axis(name)
        if axis == "step" and self.step == at:  # and not another step
            self.total_steps = total
        elif axis == "epoch":
            self.total_epochs = total

    def _axis(self, name: str, value: float, names: Names) -> bool:
        """Take a value whose name counts on an axis; False where it is a measurement, too."""
        if "." in name and names.is_global(inner := name.rsplit(".", 1)[1]):
            name = inner  # `trainer.global_step` can be nothing else; `timers.step` is a time
        axis = names.axis(name)
        if axis is None:
            return False
        if axis == "step":
            claim = 3 if names.is_global(name) else 2 if is_strong(name) else 1
            if claim > self.step_claim:
                self.step, self.step_claim = finite(value), claim
            return claim < 3
        if axis == "epoch":
            self.epoch = finite(value) if self.epoch is None else self.epoch
        elif axis == "rank":
            self.rank = finite(value)
        elif axis == "total_steps":
            self.total_steps = finite(value)
        else:
            self.total_epochs = finite(value)
        return True


def is_numeric(item: Any) -> TypeGuard[float]:
    """Whether a value of an object is a number as it stands."""
    return isinstance(item, (int, float)) and not isinstance(item, bool)


def finite_of(item: Any) -> float | None:
    """A number of an object that has a value of its own; None for all else."""
    return finite(_double(item)) if is_numeric(item) else None


def _double(item: float) -> float:
    try:
        return float(item)
    except OverflowError:
        return float("inf") if item > 0 else float("-inf")
