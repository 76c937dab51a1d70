"""Numbers as they are written in a line, and others to put in their place."""

import re
from collections.abc import Sequence

from runwatch.kernels.layout import MAX_GROUPS
from runwatch.pattern import compiled

Match = re.Match[bytes]
NUMBER = rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
# Behind a colour, whose last letter is part of no word.
COLOURED = rb"(?<=\x1b\[\dm)|(?<=\x1b\[\d\dm)|(?<=\x1b\[\d;\d\dm)"
GROUPED = rb"\d{1,3}(?:,\d{3}){1,%d}+(?![\d,])" % MAX_GROUPS

_WIDTHS = (b"6", b"35", b"742", b"9183", b"60174", b"00417")
_WIDER = b"520963"  # than any rank is that a kernel takes
_SMALL = 8  # digits of which a time in Unix seconds has at least two more

# Behind such a number another value might make another thing of it: a clock, a date, a thousand.
_UNSAFE = rb"[,:]\d|\.|[eE]|(?:h|m(?:in)?) ?\d| days?\b|[-/]\d+[-/]\d|(?:/\d+)? \d\d:\d\d:\d"
_UNSAFE_BEFORE = rb"(?:[\d.,]|\d[:,]|\d[-/]\d+[-/]|\d(?:h|m(?:in)?) ?)$"
_AROUND = compiled(_UNSAFE_BEFORE), compiled(_UNSAFE)
# Where numbers beside it are known to be others.
_LISTED = tuple(compiled(text.replace(b",", b"")) for text in (_UNSAFE_BEFORE, _UNSAFE))
_COLOUR = compiled(rb"\x1b\[[\d;]*m")
_SIGHT = 64  # bytes before and behind a number
_BEHIND_NUMBER, _BEFORE_NUMBER = compiled(rb"\d,\Z"), compiled(rb",\d")
_THREE = compiled(rb"\d{3}(?!\d)")
_MAY_BE_GROUPED = compiled(rb"(?<![\w.@])\d{1,3},\d{3}(?!\d|,\d)")
_UNSAFE_MIDDLE = compiled(rb"\d[-/]$"), compiled(rb"[-/]\d")


def alike(m: Match, text: bytes) -> bool:
    """Whether another number is the same to a float, so that where it goes cannot be seen."""
    return value(text) == value(m.group())


def value(text: bytes) -> float:
    """What a number is worth."""
    return float(text.replace(b",", b""))


def is_free(line: bytes, m: Match, *, listed: bool = False) -> bool:
    """Whether a number of any other width would still be the same kind of thing here. Next to the
    commas of a list it is, while it stands apart."""
    before, behind = line[max(0, m.start() - _SIGHT) : m.start()], line[m.end() : m.end() + _SIGHT]
    if b"\x1b" in line:
        before, behind = _COLOUR.sub(b"", before), _COLOUR.sub(b"", behind)
    unsafe_before, unsafe = _LISTED if listed else _AROUND
    if unsafe.match(behind) or unsafe_before.search(before):
        return False
    alone = before.endswith(b"[") and behind.startswith(b"]")
    if alone and len(m.group()) == 5 and m.group().isdigit():
        return False  # with a 0 in front, it is a process
    left, right = _UNSAFE_MIDDLE
    return not (left.search(before) and right.match(behind))


def listed(line: bytes, numbers: Sequence[Match], times: Sequence[Match]) -> dict[int, bool]:
    """By where they stand, the numbers of lists with commas and no blanks, as in a file of
    comma-separated values, and whether another one is in front of the comma; the first of a list
    may stand behind a time in seconds. No list is one whose digits may be a number with commas
    between its thousands."""
    behind_times = {m.end() + 1 for m in times if m.group(2) is not None}
    found: dict[int, bool] = {}
    chain: list[Match] = []
    for m in (*numbers, None):
        if chain and (m is None or m.start() != chain[-1].end() + 1 or line[m.start() - 1] != 44):
            if _is_list(line, chain, behind_times):
                found |= {one.start(): one is not chain[0] for one in chain}
            chain = []
        if m is not None:
            chain.append(m)
    return found


def _is_list(line: bytes, chain: Sequence[Match], behind_times: set[int]) -> bool:
    """Whether numbers with commas between them are numbers of their own whatever they are."""
    begin, end = chain[0].start(), chain[-1].end()
    joined = _BEHIND_NUMBER.search(line, max(0, begin - 2), begin) and begin not in behind_times
    if joined or _BEFORE_NUMBER.match(line, end):
        return False  # what is beside it is something else
    are_free = all(m.group(2) is not None and is_free(line, m, listed=True) for m in chain)
    return are_free and not may_be_grouped(line[begin:end])


def may_be_grouped(line: bytes) -> bool:
    """Whether digits may be a number with commas between its thousands."""
    return _MAY_BE_GROUPED.search(line) is not None


def is_three(text: bytes) -> bool:
    """Whether a number begins with three digits, no more and no fewer."""
    return _THREE.match(text) is not None


def other(text: bytes, index: int = 0) -> bytes:
    """Another number of the same width: digits changed, none leading with 0 that did not. The
    numbers of a line are changed by their index, so that they can be told apart: each digit by one
    of the index's own to the base of 5, from the last on."""
    out = bytearray(text)
    for i in range(len(text) - 1, -1, -1):
        byte = text[i]
        if 48 <= byte <= 57:
            digit = (byte - 48 + 3 + index % 5) % 10
            index //= 5
            if digit == 0 and byte != 48:
                digit = 5 if byte != 53 else 4
            out[i] = 48 + digit
    exponent = re.search(rb"[eE][+-]?(\d+)$", text)
    if exponent:  # a large exponent would make it infinite
        out[exponent.start(1) :] = text[exponent.start(1) :]
    return bytes(out)


def wider(text: bytes, index: int = 0, *, small: bool = False, apart: bool = False) -> bytes:
    """Another number with a digit more, a whole one in the place of a fraction, as it might mean a
    rank or a process where a fraction does not. A `small` one is no time in Unix seconds, one that
    stands `apart` no end of a thousand; of one with commas the first digits are more or fewer."""
    first, comma, rest = text.partition(b",")
    if comma:
        return b"%d" % (9 - index % 9) + b"52"[: len(first) % 3] + b"," + other(rest, index // 9)
    another = other(text, index // 9).replace(b".", b"")
    if small and len(another) > _SMALL:
        another = bytes(byte for byte in another if 48 <= byte <= 57)[:_SMALL]
    digit = re.search(rb"\d", another)
    assert digit is not None
    begin = b"%d" % (9 - index % 9) + (b"4" if apart and len(another) == 2 else b"")
    return another[: digit.start()] + begin + another[digit.start() :]


def widths(*, rank: bool) -> tuple[bytes, ...]:
    """Numbers of all widths that a whole number may have, or a rank."""
    return _WIDTHS if rank else (*_WIDTHS, _WIDER)
