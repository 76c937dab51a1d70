"""Numbers that are part of a word or of a name are none: `7b-chat`, `last 100 steps`, `class 3`."""

from runwatch.parse import unit as units
from runwatch.parse.name import END_MARK, INSIDE, near
from runwatch.parse.number import NAN_MARK, OPAQUE_MARK
from runwatch.pattern import compiled

# COCO: "AP @[ IoU=0.50:0.95 | area= all ] = 0.2"
_QUALIFIED = compiled(r"@ ?(?:\w+ ?=)?\[[^\]]*$")
_NOTE = compiled(r"\w ?\((?!(?:epoch|step|iter)\b)[A-Za-z ]+ $")  # "LR (group 0)=1e-5"
_NOTE_END = compiled(r"\) ?[=:]")
_NOTED = compiled(r"[A-Za-z]\($")
_NOTED_END = compiled(r" ?[A-Za-z]{2,12}\) ?[:=]")  # "Time(200 iters): 5.4s"
_GIVEN_THAT = compiled(r"\w\([A-Za-z]\w{0,11}=$")  # "NDCG(k=20): 0.2"
_GIVEN_END = compiled(r"\) ?[:=]")
_INSIDE_END = compiled(
    r" (?:\w+ )?(?:steps|iterations|iters|batches|episodes|epochs|games|runs|updates|samples"
    r"|examples|images|sentences|nodes|GPUs?|GPU\(s\)|devices|workers|processes)\s*[:=]"
)  # "mean over the last 100 steps: 0.4"
_SPAN = compiled(r" for (?:minibatches|batches|iterations|steps) (\x01\d+\x04-)?$")
_SPAN_END = compiled(r" (?:is|was) |\s?[:=]")  # "average objective for minibatches 0-9 is 0.4"
_NUMBERED = compiled(r"([A-Za-z]\w*) $")
_INDEXED = compiled(r"(?i)(?<!epoch)(?<!step)(?<!iter)(?<!iteration)(?<!batch)(?<=\w)\[$")
_INDEXED_END = compiled(r"\]\s?[:=]\s?$")
_ASSIGNED = compiled(r"\s?[:=]\s?$")
# The output of an operation: "words_per_sec/features:0: 3275.1".
_OUTPUT = compiled(r"(?i)(?<!step)(?<!epoch)(?<!iter)(?<!iteration)(?<!batch)(?<!update)(?<=\w):$")
_OUTPUT_END = compiled(r"(?:: | ?= ?)$")


def merge(literals: list[str], marks: str) -> tuple[list[str], list[int]]:
    """Put opaque tokens, and numbers that are part of a word, back into the text around them."""
    lits: list[str] = []
    slots: list[int] = []
    pieces, before = [literals[0]], near(literals[0])
    enumerated = _enumerated(literals, marks)
    for slot, mark in enumerate(marks):
        after = literals[slot + 1]
        if mark == OPAQUE_MARK or slot in enumerated or _belongs(mark, before, after):
            pieces.append(f"{mark}{slot}{END_MARK}{after}")
            before = near(before + pieces[-1])
        else:
            slots.append(slot)
            lits.append("".join(pieces))
            pieces, before = [after], near(after)
    return [*lits, "".join(pieces)], slots


def _belongs(mark: str, before: str, after: str) -> bool:
    """Whether a number belongs to the text around it."""
    return bool(
        _is_word(mark, before, after)
        or _QUALIFIED.search(before)
        or (_NOTE.search(before) and _NOTE_END.match(after))
        or (
            (m := _SPAN.search(before)) and (_SPAN_END.match(after) if m.group(1) else after == "-")
        )
        or (_NOTED.search(before) and _NOTED_END.match(after))
        or (_GIVEN_THAT.search(before) and _GIVEN_END.match(after))
        or (INSIDE.search(before) and _INSIDE_END.match(after))
    )


def _enumerated(literals: list[str], marks: str) -> set[int]:
    """The slots that number the name before them: `class 0: 0.9, class 1: 0.8`, `acc[3] = 0.9`."""
    found: dict[str, list[int]] = {}
    indexed = set()
    for slot in range(len(marks) - 1):
        if _INDEXED_END.match(literals[slot + 1]) and _INDEXED.search(near(literals[slot])):
            indexed.add(slot)
        if _OUTPUT_END.fullmatch(literals[slot + 1]) and _OUTPUT.search(near(literals[slot])):
            indexed.add(slot)
        if _ASSIGNED.match(literals[slot + 1]) and (m := _NUMBERED.search(near(literals[slot]))):
            found.setdefault(m.group(1), []).append(slot)
    return indexed | {slot for slots in found.values() if len(slots) > 1 for slot in slots}


# What stands before and behind a NaN that is a value, or a word: `loss: nan`, `nan in the loss`.
_LED = compiled(r"(?:[:=(\[,|/]|\w)\s*$")
_CELL = compiled(r"\s*+[|;]\s*+|\s{2,}+|\t|\"?,\"?")
_GIVEN = compiled(r"[:=]\s*$")
_NAN_OF = compiled(
    r"\s+(?:(?:iterations?|values?|or|and|in|detected)\b"
    r"|(?:grads?|gradients?|loss)\b(?!\s*[:=]?\s*$))"
)
_GOES_ON = compiled(r"-[A-Za-z]|:\w")


def _is_word(mark: str, before: str, after: str) -> bool:
    """Whether a number is really a piece of a word: `7b-chat`, `nan iterations`, `3-way`."""
    if mark == NAN_MARK:
        return not (_LED.search(before) or _CELL.fullmatch(before)) or bool(
            _NAN_OF.match(after) and not _GIVEN.search(before)
        )
    if after and (after[0].isalpha() or after[0] in "_%µ/"):
        unit, _ = units.take(after)
        return not unit and after[0] != "/"
    return bool(_GOES_ON.match(after))
