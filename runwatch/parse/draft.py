"""The parts that the numbers of a line play: axes that say where it belongs, and measurements."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from runwatch.parse.number import NUMBER_MARK
from runwatch.parse.plan import Field
from runwatch.parse.quantity import Names
from runwatch.parse.text import END_MARK, Number, Sentence

_SINGULAR = frozenset(("step", "iter", "iteration", "epoch", "update", "batch", "global step"))
_NO_AXIS = frozenset(
    [
        "per",
        "each",
        "warmup",
        "total",
        "max",
        "num",
        "number",
        "accumulation",
        "every",
        "save",
        "saving",
        "eval",
        "log",
        "logging",
        "by",
    ]
)
_TRAILING = frozenset(("at", "number", "no", "of", "is"))
_LEADING = re.compile(r"(?:\]|:(?=\t)|)[\t ](?=\S*[A-Za-z])")
_LOCATED_AT = re.compile(
    r"\b(?:at|for|after|of|in)\s+(?:the\s+)?(?:global\s+)?(step|iteration|iter|epoch|update)$"
)
_STEP_UNITS = frozenset(("it", "its", "ba", "steps", "iters", "iterations", "batches"))
_BETWEEN = re.compile(r"^\]?\s*\[\s*$|^\s*:\s*$")
_NEXT_FRACTION = re.compile(r"^%?[\])]*[\s|,]*[\[(]?\s*$")  # "[1/25][10/1583]"
_RANGE = re.compile(r"^-\s*$")
_AFTER = re.compile(r"\bafter\s*$")
_CUT = re.compile(r"[,;|\t(]|\s{2,}|: .|\s-\s")
_RATE_UNIT = re.compile(r"/|%?per\b")
_LONG_NAME = 4  # words; a longer name without a separator is a sentence


@dataclass(slots=True)
class Axes:
    """The slots that say where a line belongs, while they are being found."""

    step: int | None = None
    total_steps: int | None = None
    epoch: int | None = None
    total_epochs: int | None = None
    rank: int | None = None
    announced_steps: int | None = None
    announced_epochs: int | None = None
    rank_of_step: int = (
        0  # how strong the claim on `step` is: 1 a name, 2 a fraction, 3 a global name
    )
    bar: str | None = None


@dataclass(slots=True)
class Draft:
    """A line's fields while they are being found, and what speaks for and against them."""

    axes: Axes = field(default_factory=Axes)
    fields: list[Field] = field(default_factory=list)
    clues: int = 0
    known: int = 0  # names of which the quantity is known
    sure: bool = False  # one of the clues is sure to be a measurement wherever it stands
    settings: int = 0
    rates: int = 0  # nameless numbers with a unit like tok/s
    prose: int = 0
    weak: list[Field] = field(default_factory=list)  # unknown names without a separator
    prefix: str = ""  # "layer 5" of "layer 5 norm: 0.3"


def assign(
    sentence: Sentence, literals: Sequence[str], offset: int, draft: Draft, names: Names
) -> None:
    """Give each number its part: an axis, a measurement, or none."""
    numbers = sentence.numbers
    for i, number in enumerate(numbers):
        before = numbers[i - 1] if i else None
        after = numbers[i + 1] if i + 1 < len(numbers) else None
        slot = number.slot + offset
        if number.link == "of" and before is not None:
            _second(number, before, slot, draft, names)
        elif number.link == "avg" and before is not None:
            _average(number, before, slot, draft, names)
        elif slot == 0 and literals[0] in ("", "[") and _LEADING.match(literals[1]):
            draft.axes.step, draft.axes.rank_of_step = slot, 1  # "[10]\ttrain-rmse:0.5"
        elif _is_axis(number, before, after, literals, slot, draft, names):
            continue
        elif number.name:
            _measure(number, literals[number.slot], slot, draft, names)
        elif number.unit and _RATE_UNIT.search(number.unit):
            draft.fields.append(Field(slot, number.unit, ""))
            draft.rates += 1


def _is_axis(
    number: Number, before: Number | None, after: Number | None, literals: Sequence[str],
    slot: int, draft: Draft, names: Names,
) -> bool:  # fmt: skip
    """Whether the number counts on an axis; takes it if so."""
    axes = draft.axes
    fraction = after is not None and after.link == "of"
    listed = number.link == "item" or (after is not None and after.link == "item")
    axis = None if listed else _axis_of(number, names)
    if number.unit in _STEP_UNITS and axis is None and names.quantity(number.name) is None:
        axis = "step"
    if axis == "step":
        claim = 3 if names.is_global(number.name) else 2 if fraction else 1
        if claim > axes.rank_of_step:
            axes.step, axes.rank_of_step, axes.total_steps = slot, claim, None
        if names.is_global(number.name):
            draft.fields.append(Field(slot, number.name))
        return True
    if axis == "epoch":
        axes.epoch = slot if axes.epoch is None else axes.epoch
        return True
    if axis == "rank":
        axes.rank = slot
        return True
    if axis is not None:
        if axis == "total_steps":
            axes.announced_steps = slot
        else:
            axes.announced_epochs = slot
        draft.settings += 1
        return True
    gap = literals[slot]
    if _RANGE.match(gap) and before is not None and axes.step is not None and axes.step == slot - 1:
        axes.step = slot  # a range gives its end
        return True
    label = not number.name or names.quantity(number.name) is None
    if fraction and label and (not number.name or number.joined_by in ("[", " ", ":")):
        if after is not None and after.unit and _RATE_UNIT.search(after.unit):
            return False  # "5120/4988 tok/s"
        if (
            axes.rank_of_step == 2 and axes.epoch is None and not number.name
            and axes.total_steps in (slot - 1, slot - 2) and before is not None
            and before.link in ("of", "avg") and _NEXT_FRACTION.match(gap)
        ):  # fmt: skip
            axes.epoch, axes.total_epochs = axes.step, axes.total_steps
            axes.rank_of_step, axes.total_steps = 1, None
        if axes.rank_of_step < 2:
            axes.step, axes.rank_of_step = slot, 2
        return True
    following = literals[slot + 1] if after is not None else ""
    if (
        number.name and label and number.joined_by in (" ", ":", "[")
        and after is not None and not after.name and _BETWEEN.match(following)
        and axes.epoch is None
    ):  # fmt: skip
        axes.epoch = slot  # "Train: 0 [ 50/312", "TRAIN [8][320/321]"
        return True
    if number.trailing and names.axis(number.trailing) == "step" and _AFTER.search(gap):
        axes.step, axes.rank_of_step = slot, max(1, axes.rank_of_step)
        return True
    return False


def _axis_of(number: Number, names: Names) -> str | None:
    """The axis that the number's name counts on, by the whole name or by its last words."""
    name = number.name
    if not name:
        return None
    if m := _LOCATED_AT.search(name.lower()):
        return "epoch" if m.group(1) == "epoch" else "step"
    if axis := names.axis(name):
        return axis
    if number.slot == 0 and number.joined_by in (":", " ") and name in names.axes["leading"]:
        return "step"
    words = name.replace("_", " ").replace("/", " ").lower().split()
    while words and words[-1] in _TRAILING:
        words.pop()
    if len(words) == 1 and words[0] in _SINGULAR:
        return "epoch" if words[0] == "epoch" else "step"
    if len(words) < 2 or names.quantity(name) is not None:
        return None
    if len(words) > 2 and (axis := names.axis(" ".join(words[-2:]))) in ("step", "epoch"):
        return axis
    for tail in (" ".join(words[-2:]), words[-1]):
        if tail in _SINGULAR and not _NO_AXIS & set(words[: -len(tail.split())]):
            return "epoch" if tail == "epoch" else "step"
    return None


def _second(number: Number, first: Number, slot: int, draft: Draft, names: Names) -> None:
    """The second number of a fraction: the total of an axis, or the mean of a measurement."""
    axes = draft.axes
    if axes.step == slot - 1:
        axes.total_steps = slot
    elif axes.epoch == slot - 1:
        axes.total_epochs = slot
    elif first.name and draft.fields and draft.fields[-1].slot == slot - 1:
        draft.fields.append(Field(slot, f"{draft.fields[-1].metric}.avg", number.unit))


def _average(number: Number, first: Number, slot: int, draft: Draft, names: Names) -> None:
    """A number in parentheses behind another: its running mean, or a time beside an axis."""
    if draft.fields and draft.fields[-1].slot == slot - 1:
        metric = draft.fields[-1].metric
        if not metric.endswith(".avg"):
            draft.fields.append(Field(slot, f"{metric}.avg", number.unit))
    elif number.unit and number.unit != "%":
        draft.fields.append(Field(slot, number.unit, ""))


def _measure(number: Number, before: str, slot: int, draft: Draft, names: Names) -> None:
    """A named number: a measurement, as far as its name and its form tell."""
    name = number.name
    if draft.prefix and not _CUT.search(before) and number.joined_by in (":", "="):
        name = f"{draft.prefix} {name}"  # "layer 5 norm: 0.3"
        draft.prose -= 1
        draft.weak.pop()
    draft.prefix = ""
    if number.joined_by == " " and len(name.split()) > _LONG_NAME:
        draft.prose += 2
        return
    rule = names.quantity(name)
    metric = name
    if number.index is not None:
        metric = ".".join((name, *map(str, number.index)))
    draft.known += rule is not None
    if rule is not None and rule.clue:
        draft.clues += 1
        draft.sure |= rule.sure
    elif rule is None and number.unit and _RATE_UNIT.search(number.unit):
        draft.clues += 1  # "rate: 1.2it/s"
    elif rule is None and names.is_setting(name):
        draft.settings += 1
    if rule is None and number.joined_by in (" ", "[", "|"):
        draft.prose += 1  # "loaded file in 0.01": only a known name is one without a separator
        draft.weak.append(Field(slot, metric, number.unit))
        draft.prefix = f"{name} {NUMBER_MARK}{slot}{END_MARK}" if number.joined_by == " " else ""
        return
    draft.fields.append(Field(slot, metric, number.unit))
