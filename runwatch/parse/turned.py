"""Lines that tell each value before its name: `3: 0.21 loss, 0.001 rate, 12 images`."""

from runwatch.parse import unit as units
from runwatch.parse.name import SIGHT
from runwatch.pattern import compiled

_VALUE_FIRST = compiled(r"^(?:[:,]|\s+([A-Za-z][\w /()%-]*),)\s+$")
_EQUAL = compiled(r"^\s+=\s+([A-Za-z][\w /()%-]*)$")  # "0.8512  = Validation score"
_NAME_OPENS = compiled(r"(?:^|[\s|,])[A-Za-z]\w{0,40}[(<]$")
_NEXT_OPENS = compiled(r"^[)>][\s,;|]{1,4}[A-Za-z]\w{0,40}[(<]$")
_NAME_LAST = compiled(r"^\s+([A-Za-z][\w /-]*?)(?:\s+per\s.*|[.;)\s]*)$")


def names_behind(lits: list[str]) -> list[str]:
    """The names of a line that tells each value before its name, or nothing: `3: 0.21 loss, 0.001
    rate, 12 images`."""
    rests = [units.take(text)[1] for text in lits[1:]]
    if len(rests) == 1 and not lits[0].strip() and (m := _EQUAL.match(rests[0])):
        return [" ".join(m.group(1).split())]
    if len(rests) < 3:
        return []
    rests[-1:] = [rests[-1] if rests[-1].strip() else lits[-1]]  # "6121 GFLOPS": a name, too
    if rests[0].isspace() and len(rests) > 3:
        rests[0] = ", "  # "  120   41.2 ms run, 2.1 ms fetch, 124.2 loss"
    if len(rests[-1]) > SIGHT or not (last := _NAME_LAST.match(rests[-1])):
        return []
    inner = [_VALUE_FIRST.match(rest) for rest in rests[:-1]]
    if not all(inner) or sum(m is not None and m.group(1) is not None for m in inner) < 2:
        return []
    return [*(m.group(1) or "" for m in inner if m), last.group(1)]


def unwrapped(lits: list[str]) -> list[str]:
    """`step(120) loss(2.3)` with a colon between each name and its value."""
    first, last = _NAME_OPENS.search(lits[0]), lits[-1][:1] in (")", ">")
    if len(lits) < 3 or not first or not last or not all(map(_NEXT_OPENS.match, lits[1:-1])):
        return lits
    return [f"{lits[0][:-1]}: ", *(f"{text[1:-1]}: " for text in lits[1:-1]), lits[-1][1:]]


def unchained(lits: list[str]) -> list[str]:
    """`812.1 samples/sec 12.1 tokens/sec` with a comma behind each rate that another follows: in a
    chain of them the last one tells that they are units, not names."""
    out = list(lits)
    chain: list[int] = []
    for position, text in enumerate(lits[1:], 1):
        if units.is_rate(text.strip()) and text[:1] == text[-1:] == " ":
            chain.append(position)
            continue
        if chain and units.is_rate(units.take(text)[0]):
            for at in chain:
                out[at] = f"{lits[at][:-1]}, "
        chain = []
    return out
