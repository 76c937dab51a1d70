"""The grammar of text lines: `iter 100: loss 3.4, time 98.2ms`, `key=value`, `lr: [1e-4, 1e-4]`.

`understand` reads the shape of a line from left to right. Each number takes its name from the text
before it, its unit from the text behind it. Nothing here looks at a number's value, so what is
found holds for every line of the shape.
"""

import re
from collections.abc import Sequence
from dataclasses import field

from runwatch.parse import unit as units
from runwatch.parse.language import ours
from runwatch.parse.name import SIGHT, count, near, trailing_name
from runwatch.parse.number import NAN_MARK
from runwatch.parse.turned import names_behind, unchained, unwrapped
from runwatch.parse.word import merge
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_WRAPPER = compiled(
    r"(?:(?:tensor|array|Decimal|(?:np|numpy|jnp|torch)\.\w+)\(\s*[\[]?|\$|~|≈|<|(?<![\w>-])>=?"
    r"|about |(?<=\s)(?:\*\*|[`'\"]))\s*$"
)
_SEPARATOR = compiled(r"\s*(?::=|[:=\uff1a]|\.{3,}:?|->|→)\s*(?:['\"]|['\"],\s+)?$")
_PAIRED = compiled(
    r"\(\s*(?:'[^'(]{1,60}'|\"[^\"(]{1,60}\")(,\s+)$"
)  # "[('loss', 2.5), ('acc', 0.5)]"
_REPR = compiled(
    r"^.*?(?<![A-Za-z_])[A-Za-z_]\w{0,63}\((?=(?:(?:global_)?(?:step|iter(?:ation)?|epoch)|(?:\w{1,20}_)?loss)=(?:tensor\(|array\()?$)"
)
_LIST = compiled(r"(?<=[:=\s\w'\"])\s*[\[({]{1,8}+\s*$")
_ITEM = compiled(r"^\s*+['\"]?\s*+[\])]*,?\s*+[\[(]*\s*+['\"]?$")
_OPEN = compiled(r"^\s*\(\s*+(?:avg:?|mean:?)?\s*$")
_COUNTS = compiled(  # "(50 steps in 3s)", "(122,412 distinct boards)"
    r"\s+(?!avg|mean|average|median)[A-Za-z]{3,} (?:in|of|to|and|over) "
    r"|\s+(?!avg|mean|average|median|total|overall|running|moving|global|smooth|best|last|max)"
    r"[a-z]{4,}(?: [a-z]{4,})*[,)]"
)
_SLASH = compiled(r"^\s*(?:/|of|out of)\s*$")
_INDEX = compiled(r"([A-Za-z_@][\w@/.()-]*)\s?\[\s*$")
_CHANGED = compiled(
    r"\s(?:improved|decreased|increased|dropped|reduced|fell|rose|changed|went)"
    r"(?:\s+(?:up|down))?(?:\s*\(\s*|\s+(?:\(\s*)?from\s+)$"
)
_CHANGED_TO = compiled(r"^\s*(?:to|-+>|=+>|→)\s*$")
_COPULA = compiled(r"^\)?\s*(?:is|was|:|=)\s*$")
_COUNTER = r"(?:step|epoch|iteration|iter|update|batch|round|episode)"
_PLACED = (
    compiled(  # "Loss after epoch 3: 0.4", "loss (epoch 3): 0.4", "Score at iteration 3 is 0.4"
        rf"(?i)(?:^\s{{0,40}}|[\]|,;:-]\s+)([A-Za-z][\w./@() -]{{0,60}}?)\s+"
        rf"(?:(?:at|after|in|for)(?: the)?|\((?:at |after )?)\s*(?:global )?{_COUNTER}\s+$"
    )
)
_COUNTING = compiled(rf"(?i){_COUNTER}\s+$")
_AND_PLACE = compiled(
    rf"(?i)^,?\s+(?:and )?(?:global )?{_COUNTER}\s+$"
)  # "in epoch 2 iteration 12"
_AFTER = compiled(
    r"^\s+(epoch|step|iteration|iter|update|batch|episode)e?s?(?: with [a-z ]{1,40})?\s*[:=]\s*$"
)
_TRAILING = compiled(r"\s*([A-Za-z][\w/ -]*?)\s*(?:$|[,;|)\]]|\s{2,})")
_ABOUT = compiled(r"(.{0,80}?[A-Za-z]) for [^,;|]* (?:is|was)\s*$")
_TOLD = compiled(r" (?:is|was|of)\s*$")
_BEHIND = compiled(r"^\s+[A-Za-z][\w /-]*[|,;]\s+$")
_UNIT_FIRST = compiled(r"([munµ]?s|secs?|seconds|[KMGT]i?B|%) (\S.*)$")  # "41.2 ms run"
_DASHED = compiled(r"(?:^|[\s\[(|,])[A-Za-z]+-$")
# Between values: "12\ttrain cost\t0.3", "step;120;loss;2.3".
_TABBED = compiled(r"^([\t;])([A-Za-z][^\t;:=]{0,60})\1$")
_TABBED_FIRST = compiled(r"^([A-Za-z][^\t;:=]{0,60})[\t;]$")
_CELL = compiled(r"^\s*[|│┃]\s*$")
_EVAL = compiled(r"\b(?:val|valid|validation|eval|evaluation|evaluating|test|testing|dev)\b", re.I)


def speaks_of_eval(text: str) -> bool:
    """Whether a text is about evaluation rather than training."""
    if not text.isascii():
        text = ours(text.lower())
    return _EVAL.search(text) is not None


@mutable
class Number:
    """One number of a line with what stands around it.

    `link` says how it hangs together with the one before: "" not at all, "of" as the second of a
    fraction, "avg" in parentheses behind it, "item" as the next of a list.
    """

    slot: int
    name: str = ""
    unit: str = ""
    link: str = ""
    joined_by: str = ""  # the separator: ":", "=", " ", "[", or "" where there is no name
    trailing: str = ""  # the words behind it, for "225 layers"
    subject: str = ""  # what has changed from this number to the next
    index: tuple[int, ...] | None = None
    finite: bool = True
    about: str = ""  # what has this place: "Loss" of "Loss after epoch 3"
    told: bool = False  # whether it is part of a sentence: "the loss was 0.5"
    quoted: bool = False  # whether it counts on an axis by its whole name only, as a quoted key


@mutable
class Sentence:
    """A line read: its numbers and how many of its words belong to none of them."""

    numbers: list[Number] = field(default_factory=list)
    loose_words: int = 0
    values: int = 0  # tokens that are numbers, named or not
    turned: bool = False  # whether each value stands before its name


def read(literals: Sequence[str], marks: str) -> Sentence:
    """Find the numbers of a line, their names and units."""
    lits, slots = merge(list(literals), marks)
    lits[0] = _REPR.sub("", lits[0])  # `TrainStep(step=10, loss=2.5)` is `step=10, loss=2.5`
    out = Sentence(values=len(slots))
    if names := names_behind(lits):
        return _value_first(lits, slots, marks, names)
    depth_list = False
    cells = all(_CELL.match(text) for text in lits[1:-1]) and not lits[-1].strip(" |│┃")
    lits = unchained(unwrapped(lits))
    before = lits[0]
    tabbed = len(lits) > 3 - (";" in lits[0]) and all(_TABBED.match(text) for text in lits[1:-1])
    previous: Number | None = None
    for position, slot in enumerate(slots):
        number = Number(slot, finite=marks[slot] != NAN_MARK)
        number.unit, rest = units.take(lits[position + 1])
        if tabbed and (m := _TABBED.match(before) or _TABBED_FIRST.match(before)):
            number.name, number.joined_by = m.groups()[-1], ":"
        else:
            out.loose_words += _name(number, before, rest, previous, depth_list, cells)
        number.about = _about(before, previous)
        depth_list = _in_list(number, before, depth_list, previous)
        out.numbers.append(number)
        previous = number
        before = rest
    if not any(number.subject for number in out.numbers):  # else a sentence, and understood
        out.loose_words += count(before)
    _behind(out.numbers, lits)
    return out


def _about(before: str, previous: Number | None) -> str:
    """What has the place that the text before a number names, if the number is a place."""
    if not _COUNTING.search(before[-12:]):
        return ""
    if (m := _PLACED.search(near(before))) is not None:
        return m.group(1)
    return previous.about if previous is not None and _AND_PLACE.match(before) else ""


def _value_first(lits: list[str], slots: list[int], marks: str, names: list[str]) -> Sentence:
    """A line whose names stand behind their values; the first number may have one before it."""
    out = Sentence(values=len(slots), turned=True)
    for slot, name, text in zip(slots, names, lits[1:], strict=True):
        number = Number(slot, name, units.take(text)[0], finite=marks[slot] != NAN_MARK)
        if m := _UNIT_FIRST.match(name):
            number.unit, number.name = m.groups()
        if not name and slot != slots[0] and number.unit.isalpha() and len(number.unit) > 2:
            number.name, number.unit = number.unit, ""  # "0.31 seconds, 6400 images"
        name = number.name
        number.joined_by = " " if name else ""
        number.quoted = True  # "262,144 tokens a step" counts no steps
        out.numbers.append(number)
    if not names[0]:
        out.loose_words = _name(out.numbers[0], lits[0], "", None, False, False)
    return out


def _name(
    number: Number, before: str, after: str, previous: Number | None, in_list: bool, cells: bool
) -> int:
    """Name a number by the text before it; the count of words there that are not its name."""
    if previous is not None and _hangs_on(number, before, after, previous, in_list, cells):
        return 0
    if after[:1] == "}" and before.endswith("{"):
        before = before[:-1]  # "loss: {0.31}"
    return count(before[:-SIGHT]) + _called(number, near(before), previous, cells)


def _called(number: Number, before: str, previous: Number | None, cells: bool) -> int:
    """Name a number by the text in sight before it; the count of words there beside its name."""
    if m := _CHANGED.search(before):
        number.subject, skipped = trailing_name(before[: m.start()], ":")
        return skipped + 1
    text = _WRAPPER.sub("", before)
    text = text[:-1] if text.endswith(" #") else text  # "Epoch #1"
    text = f"{text[:-1]} " if _DASHED.search(text) else text  # "Iter-100"
    if text.rstrip().endswith("[") and (m := _INDEX.search(text)):
        number.name, number.joined_by = m.group(1), "["
        if text[m.end(1)] != "[":
            number.index = (0,)
        return count(text[: m.start()])
    opened = _LIST.search(text)
    if opened and _SEPARATOR.search(text[: opened.start()]):
        depth = len(text[opened.start() :].strip())
        number.index = (0,) * depth
        text = text[: opened.start()]
    if cells and text.rstrip().endswith(("|", "│", "┃")) and (row := text.strip(" |│┃")):
        number.joined_by, region = "|", row  # "accuracy | 0.71 | 0.68"
    elif m := _PAIRED.search(text):
        number.joined_by, region = ":", text[: m.start(1)]
    elif m := _SEPARATOR.search(text):
        number.joined_by = ":" if {":", "\uff1a"} & set(m.group()) else "="
        region = text[: m.start()]
    elif previous is not None and _BEHIND.match(text) and _is_bare(previous):
        return count(text)  # "| 41.2% MFU | 167992 tok/s": the number before has its name behind it
    elif text.rstrip() != text and text.strip():
        number.joined_by = " "
        region = text
        if text.rstrip().endswith("|") and len([c for c in text.split("|") if c.strip()]) > 1:
            number.joined_by = ""  # "1 | loss | CrossEntropyLoss | 0": words in cells name nothing
            return count(text)
    else:
        return count(text)
    if number.joined_by == " " and (m := _ABOUT.match(region)):
        region = m.group(1)  # "Average objective for 'output' for minibatches 0-9 is -0.2"
    number.told = number.joined_by == " " and _TOLD.search(region) is not None
    number.quoted = region.rstrip().endswith(('"', "'"))
    number.name, skipped = trailing_name(region, number.joined_by)
    if not number.name:
        number.joined_by = ""
    return skipped


def _is_bare(number: Number) -> bool:
    """Whether the words behind a number may be its name: it has none and is no mean."""
    return not number.name and number.link in ("", "of")


def _hangs_on(
    number: Number, before: str, after: str, previous: Number, in_list: bool, cells: bool
) -> bool:
    """Whether the number before says what this one is: a fraction, a mean, a list, a change."""
    if _SLASH.match(before):
        number.link = "of"
    elif previous.subject and _CHANGED_TO.match(before):
        number.name, number.joined_by = previous.subject, ":"
    elif _OPEN.match(before) and not _COUNTS.match(after):
        number.link = "avg"
    elif previous.about and _COPULA.match(before):  # "Score at iteration 10 is 2.3"
        number.name, number.joined_by = previous.about, ":"
    elif previous.name.endswith(" after") and (m := _AFTER.match(before)):
        number.name, number.joined_by = previous.name.removesuffix(" after"), ":"
        previous.name = m.group(1)  # "Loss after 500 iterations: 0.3"
    elif cells and previous.name and previous.joined_by in (" ", "|"):
        number.name, number.joined_by = previous.name, "|"  # a row: "accuracy | 0.71 | 0.68"
    elif in_list and _ITEM.match(before) and _closed(before) < len(previous.index or ()):
        number.link = "item"
    else:
        return False
    return True


def _in_list(number: Number, before: str, was: bool, previous: Number | None) -> bool:
    """Whether a list is open behind this number; counts its indices."""
    if number.link in ("item", "avg", "of"):
        if number.link == "item" and previous is not None and previous.index:
            number.name, number.joined_by = previous.name, previous.joined_by
            number.index = _next(previous.index, before)
        return was
    return number.index is not None


def _next(index: tuple[int, ...], between: str) -> tuple[int, ...]:
    """The index of the next item, where `between` closes and opens nested lists."""
    closed = _closed(between)
    kept = index[: len(index) - closed]
    return (*kept[:-1], kept[-1] + 1, *(0,) * closed)


def _closed(between: str) -> int:
    """How many lists end between two items."""
    return between.count("]") + between.count(")")


def _behind(numbers: list[Number], lits: list[str]) -> None:
    """Give nameless numbers the words behind them: `225 layers`, `1,210 tok/s`."""
    for position, number in enumerate(numbers):
        if number.name or number.link:
            continue
        text = lits[position + 1]
        m = _TRAILING.match(text) or _TRAILING.match(units.take(text)[1])
        if m and len(m.group(1).split()) <= 3:
            number.trailing = m.group(1)
