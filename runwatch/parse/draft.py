"""The parts that the numbers of a line play: axes that say where it belongs, and measurements."""

from collections.abc import Sequence
from dataclasses import field

from runwatch.parse.axis import (
    Axes,
    axis_of,
    is_epoch_of_a_split,
    is_of_the_best,
    is_pair,
    is_strong,
    is_sure,
    leading,
    names_its_step,
    take_behind,
)
from runwatch.parse.name import END_MARK
from runwatch.parse.number import NUMBER_MARK
from runwatch.parse.plan import Field
from runwatch.parse.quantity import Names
from runwatch.parse.text import Number, Sentence
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_STEP_UNITS = frozenset(("it", "its", "ba", "steps", "iters", "iterations", "batch", "batches"))
_EPOCH_UNITS = frozenset(("epoch", "epochs"))
_BETWEEN = compiled(r"^\]?\s*\[\s*$|^\s*:\s*$")
_SLASHED = compiled(r"^\s*/\s*$")
_COUNTER = compiled(r"^\s*[/%\]]")  # behind the number of "[ 50/312" or "[320]"
_NEXT_FRACTION = compiled(r"^%?[\])]*[\s|,]*+[\[(]?\s*$")  # "[1/25][10/1583]"
_EQUALS = compiled(r"^\s*=\s*$")
_RANGE = compiled(r"^-\s*$")
_SPAN = compiled(r"^(?:-| and | to |\.\.)\s*$")  # "between steps 0 and 100"
_BEST = compiled(r"(?i)\bbest\b")  # behind it stands when that was: "best: 0.62 (12)"
_AFTER = compiled(r"\b[Aa]fter\s*$")
_COUNTED_BEHIND = compiled(
    r"(?i) (?:training |optimizer |global )?(step|iteration|update|epoch)s?\b"
)
_OPENS_CELL = compiled(r"(?:^|\|)\s*$")
_ENDS_CELL = compiled(r"^ [a-z]+ \|")  # "| 12000 updates |"
_IN_CELL = compiled(r"^[^|\t]*(?:\|\s+|\t\s*)\w+(?:\s+| \w+\s+)$")  # "| eps 0.91 | bleu 17.1"
_CUT = compiled(r"[,;|\t()]|\s{2,}|: .|\s-\s")
_LABEL = compiled(r"\[[A-Za-z]\w* $")  # "[session 1][iter 300]"
_BYTES = compiled(r"B/s$")  # of a disk or a network
_RATE_UNIT = compiled(r"/|%?per\b")
_TIME_UNITS = frozenset(("s", "ms", "sec", "secs", "seconds", "min", "minutes", "h", "hours"))
_STATISTIC = compiled(
    r"(?i)^(?:mean|avg|average|median)\b|(?:^|[ _/])(?:mean|avg|std|stddev)$|[_/](?:mean|avg)[_/]"
)
# What is counted beside training: "EarlyStopping counter: 3 out of 10", "Loading shard 3/10".
_ASIDE = compiled(
    r"(?i)\b(?:counter|patience|attempts?|retry|retries|tries|shards?|files?|chunks?|download\w*"
    r"|folds?|seeds?|repeats?|stages?|tasks?|clients?|load(?:ed|ing)?|saved?|saving|tokeniz\w*|upload\w*|extract\w*)\b"
)
_BOOKKEEPING = frozenset(
    ("pid", "ppid", "tid", "timestamp", "port", "line", "lineno", "v_num", "process", "proc",
     "run", "part", "fold", "seed", "client", "shard", "checkpoint")
)  # fmt: skip
_LONG_NAME = 4  # words; a longer name without a separator is a sentence


@mutable
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
    twice: bool = False  # whether two steps are named: "Step 1: add them. Step 2: halve it."
    episodes: bool = False  # whether episodes are counted
    prefix: str = ""  # "layer 5" of "layer 5 norm: 0.3"
    timed: bool = False  # whether it says that its numbers are times


def assign(
    sentence: Sentence, literals: Sequence[str], offset: int, draft: Draft, names: Names
) -> None:
    """Give each number its part: an axis, a measurement, or none."""
    numbers = sentence.numbers
    done = leading(literals, numbers, draft.axes) if numbers and not offset else frozenset()
    for i, number in enumerate(numbers):
        before = numbers[i - 1] if i else None
        after = numbers[i + 1] if i + 1 < len(numbers) else None
        slot = number.slot + offset
        if slot in done:
            continue
        if _is_quotient(before, literals[number.slot], draft.fields):
            draft.fields[-2:] = [Field(slot, draft.fields[-2].metric, number.unit)]
        elif number.link == "of" and before is not None:
            _second(number, before, slot, draft, names)
        elif number.link == "avg" and before is not None and (after is None or after.link != "of"):
            _average(number, before, slot, draft, names)
        elif number.link == "avg" and draft.fields and draft.fields[-1].slot == slot - 1:
            continue  # "Acc: 91.2% (912/1000)"
        elif _is_axis(number, before, after, literals, slot, draft, names):
            draft.prefix = ""
        elif number.name:
            _measure(number, after, literals[number.slot], slot, draft, names)
        elif (
            i and is_sure(number.trailing, names)
            and not (number.unit and number.trailing.startswith(number.unit))
            and literals[number.slot].strip() != "="  # "(* 1 = 0.21 loss)" weighs one before
        ):  # fmt: skip
            draft.fields.append(Field(slot, number.trailing, number.unit))  # "| 41.2% MFU |"
            draft.clues += 1
        elif number.unit and _RATE_UNIT.search(number.unit):
            draft.fields.append(Field(slot, number.unit, ""))
            draft.rates += 1
        draft.prefix = draft.prefix if number.name else ""


def _is_axis(
    number: Number, before: Number | None, after: Number | None, literals: Sequence[str],
    slot: int, draft: Draft, names: Names,
) -> bool:  # fmt: skip
    """Whether the number counts on an axis; takes it if so."""
    axes = draft.axes
    gap = literals[slot]
    fraction = after is not None and after.link == "of" and number.unit != "%"
    if fraction and "/" in number.name and is_pair(number.name, names):
        axes.epoch, axes.step, axes.rank_of_step = slot, slot + 1, 3  # "epoch/iter: 19/5159"
        return True
    if _RANGE.match(gap) and draft.fields and draft.fields[-1].slot == slot - 1 and number.unit:
        draft.fields.pop()  # it began the range
    listed = number.link == "item" or (after is not None and after.link == "item")
    # "Step: 12ms"
    axis = None if listed or number.unit in _TIME_UNITS else axis_of(number, names)
    if draft.timed and axis != "rank" and not is_strong(number.name):
        axis = None  # "time (ms) | train_batch: 12.1"
    name = number.name.lower()
    if name == "steps" and draft.episodes and not fraction:
        return False  # how long an episode was
    draft.episodes |= axis == "step" and name.endswith("episode")
    if number.unit in _EPOCH_UNITS and axis is None and not number.name:
        axis = "epoch"  # "1epoch:train:1-412batch:"
    if number.unit in _STEP_UNITS and axis is None and names.quantity(number.name) is None:
        axis = "step"
    if axis is None and names_its_step(number, before, after, literals, names):
        axis = "step"
    if number.name and number.slot == 0 and is_epoch_of_a_split(number, after, literals, names):
        axis = "epoch"
    if axis in ("step", "epoch") and is_of_the_best(number, before, gap, literals):
        return True
    if axis == "step":
        claim = (
            4 if names.is_global(number.name) else 3 if fraction or is_strong(number.name) else 1
        )
        draft.twice |= axes.step is not None and claim == axes.rank_of_step == 3 and not fraction
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
    if _SPAN.match(gap) and before is not None and axes.step is not None and axes.step == slot - 1:
        axes.step = slot  # a range gives its end
        return True
    words = number.name.split()
    label = not words or not (names.quantity(number.name) or names.quantity(words[-1]))
    if fraction and _ASIDE.search(number.name):
        return True
    if fraction and label and (not number.name or number.joined_by in ("[", " ", ":")):
        if after is not None and after.unit and after.unit not in _STEP_UNITS | {"%"}:
            return False  # "5120/4988 tok/s", "12/80GB"
        if (
            axes.rank_of_step in (2, 3) and axes.epoch is None and not number.name
            and axes.total_steps in (slot - 1, slot - 2) and before is not None
            and before.link in ("of", "avg") and _NEXT_FRACTION.match(gap)
        ):  # fmt: skip
            axes.epoch, axes.total_epochs = axes.step, axes.total_steps
            axes.rank_of_step, axes.total_steps = 1, None
        if axes.rank_of_step < 2:
            axes.step, axes.rank_of_step, axes.total_steps = slot, 2, None
        return True
    following = literals[slot + 1] if after is not None else ""
    if (
        number.name and label and number.joined_by in (" ", ":", "[")
        and after is not None and not after.name and _BETWEEN.match(following)
        and (_COUNTER if "[" in following else _SLASHED).match(literals[slot + 2])
        and axes.epoch is None
    ):  # fmt: skip
        axes.epoch = slot  # "Train: 0 [ 50/312", "TRAIN [8][320/321]"
        return True
    if _AFTER.search(gap) and (m := _COUNTED_BEHIND.match(literals[slot + 1])):
        return take_behind(m.group(1), slot, axes)  # "After 120 steps the training loss is 2.3"
    behind = number.trailing and names.axis(number.trailing) == "step"
    in_cell = _OPENS_CELL.search(gap) and _ENDS_CELL.match(literals[slot + 1])
    if behind and (_AFTER.search(gap) or (axes.step is None and in_cell)):
        axes.step, axes.rank_of_step = slot, max(1, axes.rank_of_step)
        return True
    return False


def _is_quotient(before: Number | None, gap: str, fields: Sequence[Field]) -> bool:
    """Whether a number is what the fraction before it comes to: "acc: 912/1000=0.912"."""
    of = before is not None and before.link == "of" and _EQUALS.match(gap) is not None
    return of and len(fields) > 1 and fields[-1].metric == f"{fields[-2].metric}.avg"


def _second(number: Number, first: Number, slot: int, draft: Draft, names: Names) -> None:
    """The second number of a fraction: the total of an axis, or the mean of a measurement."""
    axes = draft.axes
    if axes.step == slot:
        return
    if axes.step == slot - 1:
        axes.total_steps = slot
    elif axes.epoch == slot - 1:
        axes.total_epochs = slot
    elif first.name and draft.fields and draft.fields[-1].slot == slot - 1:
        draft.fields.append(Field(slot, f"{draft.fields[-1].metric}.avg", number.unit))


def _average(number: Number, first: Number, slot: int, draft: Draft, names: Names) -> None:
    """A number in parentheses behind another: its running mean, or a time beside an axis."""
    other = number.unit not in ("", "%", first.unit)  # "loss = 2.3 (812.1 examples/sec)"
    if draft.fields and draft.fields[-1].slot == slot - 1 and not other:
        metric = draft.fields[-1].metric
        if not metric.endswith(".avg") and not _BEST.search(metric):
            draft.fields.append(Field(slot, f"{metric}.avg", number.unit))
    elif number.unit and number.unit != "%":
        draft.fields.append(Field(slot, number.unit, ""))


def _measure(
    number: Number, after: Number | None, before: str, slot: int, draft: Draft, names: Names
) -> None:
    """A named number: a measurement, as far as its name and its form tell."""
    name = number.name
    if name.lower() in _BOOKKEEPING and not number.unit:
        return
    if name.lower() == "gpu" and number.joined_by == " " and not slot and not number.unit:
        return  # "GPU 3 | step 120 | loss 0.4" says who speaks
    if draft.prefix and not _CUT.search(before) and number.joined_by in (":", "="):
        name = f"{draft.prefix} {name}"  # "layer 5 norm: 0.3"
        draft.prose -= 1
        draft.weak.pop()
    draft.prefix = ""
    if number.joined_by == " " and len(name.split()) > _LONG_NAME:
        draft.prose += 2
        return
    draft.prose += number.told
    rule = None if _BYTES.search(number.unit) else names.quantity(name)
    metric = name
    if number.index is not None:
        metric = ".".join((name, *map(str, number.index)))
    draft.known += rule is not None
    if rule is not None and rule.clue:
        draft.clues += 1
        draft.sure |= rule.sure
    elif rule is None and number.unit and _RATE_UNIT.search(number.unit):
        draft.clues += 1  # "rate: 1.2it/s"
    elif rule is None and names.is_setting(name) and not _is_measured(number):
        draft.settings += 1
    in_cell = bool(slot and number.joined_by == " " and _IN_CELL.match(before))
    meter = after is not None and after.link == "avg" and after.unit == number.unit
    timed = name.lower().endswith("time") and number.unit in _TIME_UNITS  # "total wall time 2.4 s"
    if rule is None and number.joined_by in (" ", "[") and not (in_cell or meter or timed):
        draft.prose += 1  # "loaded file in 0.01": only a known name is one without a separator
        if _LABEL.search(before):
            return
        draft.weak.append(Field(slot, metric, number.unit))
        draft.prefix = f"{name} {NUMBER_MARK}{slot}{END_MARK}" if number.joined_by == " " else ""
        return
    draft.fields.append(Field(slot, metric, number.unit))


def _is_measured(number: Number) -> bool:
    """Whether a name speaks of something measured, whatever its other words: a mean, a time."""
    name = number.name.lower()
    timed = "time" in name and (number.unit in _TIME_UNITS or name.endswith(("_s", "_ms")))
    return timed or _STATISTIC.search(number.name) is not None
