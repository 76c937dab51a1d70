"""The grammar of text lines: `iter 100: loss 3.4, time 98.2ms`, `key=value`, `lr: [1e-4, 1e-4]`.

`understand` reads the shape of a line from left to right. Each number takes its name from the text
before it, its unit from the text behind it. Nothing here looks at a number's value, so what is
found holds for every line of the shape.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from runwatch.parse import unit as units
from runwatch.parse.number import NAN_MARK, OPAQUE_MARK

_WRAPPER = re.compile(
    r"(?:(?:tensor|array|Decimal|(?:np|numpy|jnp|torch)\.\w+)\(\s*[\[]?|\$|~|≈|<|(?<![\w>])>=?|about )\s*$"
)
_SEPARATOR = re.compile(r"\s*(?::=|[:=：]|\.{3,}:?|->|→)\s*['\"]?$")
_LIST = re.compile(r"(?<=[:=\s\w'\"])\s*[\[({]+\s*$")
_ITEM = re.compile(r"^\s*['\"]?\s*[\])]*,?\s*[\[(]*\s*$")
_OPEN = re.compile(r"^\s*\(\s*(?:avg:?|mean:?)?\s*$")
_SLASH = re.compile(r"^\s*(?:/|of|out of)\s*$")
_BOUNDARY = re.compile(
    r"[,;，；|\t{}<>!?\"]|\s{2,}|\s[-\u2013\u2014*#]+\s|\]\s*(?:/\s+)?|\)\s|^[-*#>=\s|]+(?:/\s+)?|^/\s+|[\u2500-\u257f\u2588]+|\.\s|\s={2,}\s"
)
_INDEX = re.compile(r"([A-Za-z_@][\w@/.()-]*)\s?\[\s*$")
_WORDS = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(r"^[^\W\d_][\w@/%.+\-#:&° ()\[\]]*$|^_?[A-Za-z]")
_HAS_LETTER = re.compile(r"[^\W\d_]")
_PARENTHESES = re.compile(r"\s*(?:\([^()]*\)|<\w+>)\s*$")
_NO_NAME = re.compile(
    r"(?:an?|the|at|after|before|by|for|from|in|into|is|of|on|or|over|per|than|then|to|until|up|was"
    r"|with|within|about|all|and|are|as|be|has)$"
)
_QUALIFIED = re.compile(
    r"@ ?(?:\w+ ?=)?\[[^\]]*$"
)  # COCO: "AP @[ IoU=0.50:0.95 | area= all ] = 0.2"
_NOTE = re.compile(r"\w ?\((?!(?:epoch|step|iter)\b)[A-Za-z ]+ $")  # "LR (group 0)=1e-5"
_INSIDE = re.compile(r"(?i)\b(?:on|over|across|last|past|previous|first)(?: the)?(?: last)? $")
_INSIDE_END = re.compile(
    r" (?:\w+ )?(?:steps|iterations|iters|batches|episodes|epochs|games|runs|updates|samples|examples|nodes"
    r"|GPUs?|GPU\(s\)|devices|workers|processes)\s*[:=]"
)  # "mean over the last 100 steps: 0.4"
_COUNTED = re.compile(r"([A-Za-z]\w*) $")
_ASSIGNED = re.compile(r"\s?[:=]\s?$")
_NOTE_END = re.compile(r"\) ?[=:]")
_CALL = re.compile(r"\b[A-Za-z_]\w*(?<!Output)(?<!Result)(?<!Metrics)\([^()]*$")  # the arguments of a call, or of a printed module
_SOURCE = re.compile(r"\.(?:py|cc|cpp|cu|h|hpp|c|go|rs|java|js|ts|scala)$")  # then a line number
_CHANGED = re.compile(
    r"\s(?:improved|decreased|increased|dropped|reduced|fell|rose|changed|went)"
    r"(?:\s+(?:up|down))?(?:\s*\(\s*|\s+(?:\(\s*)?from\s+)$"
)
_CHANGED_TO = re.compile(r"^\s*(?:to|-+>|=+>|→)\s*$")
_VERB = re.compile(r" (?:is|was|reached)$")
_FILLER = re.compile(
    r"(?i)^\W*(?:(?:the|an?|with|and|at|of|is|has|had|to|its?|our|got|gets|achieved|obtained|now)\s)+"
)
_QUOTES = re.compile(r"(?<!\w)['\"]|['\"](?!\w)")
_COPULA = re.compile(r"^\s*(?:is|was|:|=)\s*$")
_AFTER = re.compile(r"^\s+(epoch|step|iteration|iter|update|batch|episode)e?s?\s*[:=]\s*$")
_CELL = re.compile(r"^\s*\|\s*$")
_STATED = re.compile(r"[\w.-]+=[A-Za-z][\w./-]*|[\w.]+: [A-Za-z]\w*(?=[,;|])")  # "mode=train"; many are a dump
_INNER = re.compile("[\x01\x02\x03]\\d+\x04")
_EVAL = re.compile(
    r"\b(?:val|valid|validation|eval|evaluation|evaluating|test|testing|dev)\b", re.I
)
END_MARK = "\x04"  # a mark that was put back into the text is followed by its slot and this


def speaks_of_eval(text: str) -> bool:
    """Whether a text is about evaluation rather than training."""
    return _EVAL.search(text) is not None


@dataclass(slots=True)
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


@dataclass(slots=True)
class Sentence:
    """A line read: its numbers and how many of its words belong to none of them."""

    numbers: list[Number] = field(default_factory=list)
    loose_words: int = 0
    values: int = 0  # tokens that are numbers, named or not


def read(literals: Sequence[str], marks: str) -> Sentence:
    """Find the numbers of a line, their names and units."""
    lits, slots = _merge(list(literals), marks)
    out = Sentence(values=len(slots))
    before = lits[0]
    depth_list = False
    cells = all(_CELL.match(text) for text in lits[1:-1]) and not lits[-1].strip(" |")
    previous: Number | None = None
    for position, slot in enumerate(slots):
        number = Number(slot, finite=marks[slot] != NAN_MARK)
        number.unit, rest = units.take(lits[position + 1])
        out.loose_words += _name(number, before, previous, depth_list, cells)
        depth_list = _in_list(number, before, depth_list, previous)
        out.numbers.append(number)
        previous = number
        before = rest
    if not any(number.subject for number in out.numbers):  # else a sentence, and understood
        out.loose_words += _count(before)
    _behind(out.numbers, lits)
    return out


def _merge(literals: list[str], marks: str) -> tuple[list[str], list[int]]:
    """Put opaque tokens, and numbers that are part of a word, back into the text around them."""
    lits, slots = [literals[0]], []
    enumerated = _enumerated(literals, marks)
    for slot, mark in enumerate(marks):
        after = literals[slot + 1]
        if (
            mark == OPAQUE_MARK
            or slot in enumerated
            or _is_word(mark, lits[-1], after)
            or _QUALIFIED.search(lits[-1])
            or (_NOTE.search(lits[-1]) and _NOTE_END.match(after))
            or (_INSIDE.search(lits[-1]) and _INSIDE_END.match(after))
        ):
            lits[-1] += f"{mark}{slot}{END_MARK}{after}"
        else:
            slots.append(slot)
            lits.append(after)
    return lits, slots


def _enumerated(literals: list[str], marks: str) -> set[int]:
    """The slots that number the name before them: `class 0: 0.91, class 1: 0.88`."""
    found: dict[str, list[int]] = {}
    for slot in range(len(marks) - 1):
        if _ASSIGNED.match(literals[slot + 1]) and (m := _COUNTED.search(literals[slot])):
            found.setdefault(m.group(1), []).append(slot)
    return {slot for slots in found.values() if len(slots) > 1 for slot in slots}


def _is_word(mark: str, before: str, after: str) -> bool:
    """Whether a number is really a piece of a word: `7b-chat`, `nan iterations`, `3-way`."""
    if mark == NAN_MARK:
        return not re.search(r"(?:[:=(\[,|/]|\w)\s*$", before) or bool(
            re.match(
                r"\s+(?:iterations?|values?|or|and|in|detected|grads?|gradients?|loss)\b", after
            )
            and not re.search(r"[:=]\s*$", before)
        )
    if after and (after[0].isalpha() or after[0] in "_%µ/"):
        unit, _ = units.take(after)
        return not unit and after[0] != "/"
    return bool(re.match(r"-[A-Za-z]|:\w", after))


def _name(
    number: Number, before: str, previous: Number | None, in_list: bool, cells: bool
) -> int:
    """Name a number by the text before it; the count of words there that are not its name."""
    if previous is not None:
        if _SLASH.match(before):
            number.link = "of"
            return 0
        if previous.subject and _CHANGED_TO.match(before):
            number.name, number.joined_by = previous.subject, ":"
            return 0
        if _OPEN.match(before):
            number.link = "avg"
            return 0
        if " at " in previous.name and _COPULA.match(before):  # "Score at iteration 10 is 2.3"
            number.name, number.joined_by = previous.name.split(" at ")[0], ":"
            return 0
        if previous.name.endswith(" after") and (m := _AFTER.match(before)):
            number.name, number.joined_by = previous.name.removesuffix(" after"), ":"
            previous.name = m.group(1)  # "Loss after 500 iterations: 0.3"
            return 0
        if cells and previous.name and previous.joined_by in (" ", "|"):
            number.name, number.joined_by = previous.name, "|"  # a row: "accuracy | 0.71 | 0.68"
            return 0
        if in_list and _ITEM.match(before) and _closed(before) < len(previous.index or ()):
            number.link = "item"
            return 0
    if m := _CHANGED.search(before):
        number.subject, skipped = _trailing_name(before[: m.start()], ":")
        return skipped + 1
    text = _WRAPPER.sub("", before)
    text = text[:-1] if text.endswith(" #") else text  # "Epoch #1"
    if m := _INDEX.search(text):
        number.name, number.joined_by = m.group(1), "["
        if text[m.end(1)] != "[":
            number.index = (0,)
        return _count(text[: m.start()])
    opened = _LIST.search(text)
    if opened and _SEPARATOR.search(text[: opened.start()]):
        depth = len(text[opened.start() :].strip())
        number.index = (0,) * depth
        text = text[: opened.start()]
    if cells and text.rstrip().endswith("|") and (row := text.strip(" |")):
        number.joined_by, region = "|", row  # "accuracy | 0.71 | 0.68"
    elif m := _SEPARATOR.search(text):
        number.joined_by = ":" if {":", "："} & set(m.group()) else "="
        region = text[: m.start()]
    elif text.rstrip() != text and text.strip():
        number.joined_by = " "
        region = text
    else:
        return _count(text)
    number.name, skipped = _trailing_name(region, number.joined_by)
    if not number.name:
        number.joined_by = ""
    return skipped


def _trailing_name(region: str, joined_by: str) -> tuple[str, int]:
    """The name at the end of a text and the number of words before it."""
    region = region.rstrip()
    note = ""
    if joined_by != " " and (m := _PARENTHESES.search(region)):
        note, region = m.group().rstrip(), region[: m.start()]
    if region.endswith("]") and "@[" in region:  # COCO: "Average Precision (AP) @[ IoU=… ] = 0.2"
        return _tidy(region.lstrip(" =") + note), 0
    if region.endswith(('"', "'")):
        quote = region[-1]
        start = region.rfind(quote, 0, -1)
        return _tidy(region[start + 1 : -1]) + note, _count(region[: max(start, 0)])
    start = 0
    for m in _BOUNDARY.finditer(region):
        if m.end() < len(region):
            start = m.end()
    colon = region.rfind(": ", start)
    if colon >= 0:
        start = colon + 2
    if (at := region.rfind(":", start)) >= 0 and joined_by != ":":
        start = at + 1
    if (bracket := region.rfind("(", start)) >= 0 and ")" not in region[bracket:]:
        start = bracket + 1
    if (bracket := region.rfind("[", start)) >= 0 and "]" not in region[bracket:]:
        start = bracket + 1
    for m in _INNER.finditer(region, start):
        inside = m.end() == len(region) or _INSIDE.search(region[: m.start()])
        if m.group()[0] != NAN_MARK and not inside:
            start = m.end()
    name = region[start:]
    if _CALL.search(region) or _NO_NAME.match(name.lower().strip()):
        return "", _count(region)
    return _tidy(name + note), _count(region[:start])


def _tidy(name: str) -> str:
    name = _FILLER.sub("", _VERB.sub("", " ".join(_QUOTES.sub("", name).split()))).strip("-\u2013*\u2022>|,;:. ")
    if not _HAS_LETTER.search(name) or _SOURCE.search(name) or len(name) > 100:
        return ""
    return name


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
        m = re.match(r"\s*([A-Za-z][A-Za-z/ _-]*?)\s*(?:$|[,;|)\]]|\s{2,})", text)
        if m and len(m.group(1).split()) <= 3:
            number.trailing = m.group(1)


def _count(text: str) -> int:
    return len(_WORDS.findall(_STATED.sub(" ", _INNER.sub(" ", text), count=1)))
