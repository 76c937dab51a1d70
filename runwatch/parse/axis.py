"""Axes: the numbers of a line that say where in the run it belongs."""

from collections.abc import Sequence

from runwatch.parse.quantity import Names
from runwatch.parse.text import Number
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_LETTERS = frozenset((("e", "s"), ("e", "b"), ("e", "i"), ("ep", "s"), ("ep", "b"), ("ep", "i")))
_SINGULAR = frozenset(("step", "iter", "iteration", "epoch", "update", "batch", "global step"))
_BEST_SO_FAR = compiled(r"(?i)\(\s*best\b[^()]*$")  # "PSNR: 34.1 (best: 34.2 @epoch 11)"
_STRONG = frozenset(("step", "iter", "iteration", "update", "steps", "iterations", "updates"))
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
_PHASES = frozenset(  # before "batch", where it counts
    ("train", "training", "val", "valid", "validation", "eval", "test", "current", "cur", "global",
     "mini", "step", "epoch", "in")
)  # fmt: skip
_TRAILING = frozenset(("at", "number", "no", "of", "is"))
_LOCATED_AT = compiled(
    r"\b(?:at|for|after|of|in)\s+(?:the\s+)?(?:global\s+)?(step|iteration|iter|epoch|update)$"
)
_LEADING = compiled(r"(?:\][\t ]{0,8}|[>,]|:(?=\t)|)[\t ](?:[|/-]\s+)?(?=\S*[A-Za-z])")
_DASH = compiled(r"^ -\s+$")
_NAMELESS = compiled(r"^:\s+$")
_OPENS_CELL = compiled(r"\|[A-Za-z]")
_BRACKETED, _EDGED = compiled(r"\]\s+$"), compiled(r"\s*(?:\|{1,2}|:|-)\s")
_PAIR_OPENS = compiled(r"^\s*(?:\[[^\[\]]*\]\s*|-\s+)?[\[(]\s*$|^\]\($")
_PAIR_COMMA = compiled(r"^,\s*$")
_PAIR_TIME = compiled(r"^\s\|\s$")
_PAIR_CLOSES = compiled(r"^[\])](?::?\s+|\t)(?=[^\W\d_]\S*)")

_COLON = compiled(r"^:\s+$")
_PHASE = compiled(r"(?i)(?:train|training|valid|val|validation|test)\s\w+$")


@mutable
class Axes:
    """The slots that say where a line belongs, while they are being found."""

    step: int | None = None
    total_steps: int | None = None
    epoch: int | None = None
    total_epochs: int | None = None
    rank: int | None = None
    announced_steps: int | None = None
    announced_epochs: int | None = None
    # How strong the claim on `step` is: 1 a place in the line or a name like "batch", 2 a fraction
    # without a name, 3 a name like "step" or a fraction with one, 4 a name that counts over the
    # whole run.
    rank_of_step: int = 0
    bar: str | None = None


def leading(literals: Sequence[str], numbers: Sequence[Number], axes: Axes) -> frozenset[int]:
    """Take the nameless counters at the head of a line; the slots that are done with.

    `10 | loss`, `[12000] loss`: the step. `[1,  2000] loss`, `(0, 120) loss`: epoch and step.
    `[100 | 181.44] loss`: the step and the seconds. `[xla:3](120)`: the step behind a device.
    `[3: 12/451] loss`: the epoch, before a step and its total.
    `E: 12 | S: 12000 | R: 212.1`: letters of both.
    """
    first = numbers[0].slot
    pair = tuple(number.name.lower() for number in numbers[:2])
    if len(numbers) > 2 and pair in _LETTERS:
        axes.epoch, axes.step, axes.rank_of_step = first, numbers[1].slot, 1
        return frozenset((first, numbers[1].slot))
    opens = _PAIR_OPENS.match(literals[first]) is not None
    nameless = first == 0 and not numbers[0].name
    if nameless and literals[0].strip() in ("", "[", "<") and _LEADING.match(literals[1]):
        axes.step, axes.rank_of_step = 0, 1
        return frozenset((0,))
    if nameless and len(numbers) > 2 and _is_epoch_apart(literals, numbers):
        axes.epoch, axes.step, axes.rank_of_step = 0, 1, 1
        return frozenset((0, 1))
    if nameless and len(numbers) > 3 and _is_epoch_of(literals, numbers):
        axes.epoch = 0
        return frozenset((0,))
    in_cell = nameless and len(literals) > 2 and literals[:2] == ["", "|"]
    if in_cell and _OPENS_CELL.match(literals[2]):
        axes.epoch, axes.step, axes.rank_of_step = 0, 1, 1  # "1|12|Loss: 1.2"
        return frozenset((0, 1))
    blank = nameless and not literals[0].strip()
    if blank and len(numbers) > 2 and (done := _bare(literals, numbers, axes)):
        return done
    if opens and first and literals[first] == "](" and _PAIR_CLOSES.match(literals[first + 1]):
        axes.step, axes.rank_of_step = first, 1
        return frozenset((first,))
    if len(numbers) < 2 or not opens or numbers[1].slot != first + 1:
        return frozenset()
    between, behind = literals[first + 1], literals[first + 2]
    if not _PAIR_CLOSES.match(behind):
        return frozenset()
    if _PAIR_COMMA.match(between):
        axes.epoch, axes.step, axes.rank_of_step = first, first + 1, 1
    elif _PAIR_TIME.match(between):
        axes.step, axes.rank_of_step = first, 1
    else:
        return frozenset()
    return frozenset((first, first + 1))


def _is_epoch_apart(literals: Sequence[str], numbers: Sequence[Number]) -> bool:
    """Whether an epoch stands in brackets before a bare step: "[  3]   120 || B: 6.9 | C: 6.2"."""
    bracketed = literals[0].strip() == "[" and _BRACKETED.match(literals[1]) is not None
    apart = not numbers[1].name and _EDGED.match(literals[2]) is not None
    return bracketed and apart and bool(numbers[2].name)


def _is_epoch_of(literals: Sequence[str], numbers: Sequence[Number]) -> bool:
    """Whether an epoch stands before a step and its total: "[3: 12/451] train loss: 0.4"."""
    counted = numbers[2].link == "of" and not numbers[1].name and literals[3][:1] == "]"
    return literals[0].strip() == "[" and literals[1] in (": ", ":") and counted


def _bare(literals: Sequence[str], numbers: Sequence[Number], axes: Axes) -> frozenset[int]:
    """Take bare counters at the head of a line of which later numbers have names."""
    second, third = numbers[1], numbers[2]
    dashed = _DASH.match(literals[1]) and "/" in second.unit  # "500 -   14.1 sent/s - loss: 2.1"
    rounded = _NAMELESS.match(literals[1]) and not second.name and third.name
    # "  120   41.2 ms run,    2.1 ms fetch,  124.2 loss": each value before its name
    turned = literals[1].isspace() and second.name and second.quoted and third.quoted
    if dashed or rounded or turned:  # "12: 0.31, 0.35 avg loss, 0.001 rate"
        axes.step, axes.rank_of_step = 0, 1
        return frozenset((0,))
    paired = literals[:2] == ["", " "] and (second.slot, third.slot) == (1, 2)
    if paired and not second.name and third.name:
        axes.epoch, axes.step, axes.rank_of_step = 0, 1, 1  # "12 154 Loss=0.2"
        return frozenset((0, 1))
    return frozenset()


def is_pair(name: str, names: Names) -> bool:
    """Whether a name is those of both numbers of a fraction: the epoch and the step."""
    first, _, second = name.partition("/")
    return names.axis(first) == "epoch" and names.axis(second) == "step"


def names_its_step(
    number: Number,
    before: Number | None,
    after: Number | None,
    literals: Sequence[str],
    names: Names,
) -> bool:
    """Whether a step stands between a name and its value: `Validation loss 1000: 1.21`,
    `Train loss 7 41.2 Grad norm 12.1`. Then the name goes to the value."""
    if before is not None or after is None or after.name or after.link or number.joined_by != " ":
        return False
    name = number.name.removesuffix(" @")  # "loss @ 100 0.51"
    if (rule := names.quantity(name.split()[-1])) is None or not rule.sure:
        return False
    gap = literals[number.slot + 1]
    if not (_COLON.match(gap) or (name != number.name and gap.isspace())) and not (
        gap == " " and _PHASE.match(name) and literals[after.slot + 1][:1] == " "
    ):
        return False
    after.name, after.joined_by = name, ":"
    return True


def take_behind(counter: str, slot: int, axes: Axes) -> bool:
    """Take a number that its counter stands behind; it may be the place of the line."""
    if counter.lower() == "epoch":
        axes.epoch = slot if axes.epoch is None else axes.epoch
    elif axes.step is None:
        axes.step, axes.rank_of_step = slot, 1
    return True


def is_strong(name: str) -> bool:
    """Whether a name counts steps of training beyond doubt; a batch may be a size."""
    return bool(words := name.lower().split()) and words[-1] in _STRONG


def axis_of(number: Number, names: Names) -> str | None:
    """The axis that the number's name counts on, by the whole name or by its last words."""
    name = number.name
    if not name:
        return None
    if m := _LOCATED_AT.search(name.lower()):
        return "epoch" if m.group(1) == "epoch" else "step"
    if (axis := names.axis(name)) or number.quoted:
        return axis
    if number.slot == 0 and number.joined_by in (":", " "):
        for axis, leading_names in (("step", "leading"), ("epoch", "leading epoch")):
            if name in names.axes[leading_names]:
                return axis
    words = name.replace("_", " ").replace("/", " ").lower().split()
    while words and words[-1] in _TRAILING:
        words.pop()
    if len(words) == 1 and words[0] in _SINGULAR:
        return "epoch" if words[0] == "epoch" else "step"
    if len(words) < 2 or names.quantity(name) is not None:
        return None
    if len(words) > 2 and (axis := names.axis(" ".join(words[-2:]))) in ("step", "epoch"):
        return axis
    if words[-1] == "batch" and not set(words[:-1]) <= _PHASES:
        return None  # "norm_normal_batch" is a norm
    for tail in (" ".join(words[-2:]), words[-1]):
        if tail in _SINGULAR and not _NO_AXIS & set(words[: -len(tail.split())]):
            return "epoch" if tail == "epoch" else "step"
    return None


def is_epoch_of_a_split(
    number: Number, after: Number | None, literals: Sequence[str], names: Names
) -> bool:
    """Whether a line begins with a split and an epoch: "Train 12, loss: 1.4, train acc: 0.9"."""
    split = literals[0].strip().lower() in names.axes.get("split", ())
    listed = literals[1][:2] == ", " and number.joined_by == " "
    return split and listed and after is not None and is_sure(after.name, names)


def is_of_the_best(
    number: Number, before: Number | None, gap: str, literals: Sequence[str]
) -> bool:
    """Whether a number tells when the value before it in parentheses, the best one, was reached."""
    behind = before is not None and before.slot == number.slot - 1 and "(" not in gap
    return behind and _BEST_SO_FAR.search(literals[number.slot - 1]) is not None


def is_sure(name: str, names: Names) -> bool:
    """Whether a name is a measurement wherever it stands."""
    rule = names.quantity(name)
    return rule is not None and rule.sure
