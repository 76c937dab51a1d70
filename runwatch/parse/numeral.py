"""Numbers as they are written in a line, and others to put in their place."""

import re

from runwatch.pattern import compiled

Match = re.Match[bytes]
NUMBER = rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"

_WIDTHS = (b"6", b"35", b"742", b"9183", b"60174", b"00417")
_WIDER = b"520963"  # than any rank is that a kernel takes
_SMALL = 8  # digits of which a time in Unix seconds has at least two more

# Behind such a number another value might make another thing of it: a clock, a date, a thousand.
_UNSAFE = compiled(
    rb"[,:]\d|\.|[eE]|(?:h|m(?:in)?) ?\d| days?\b|[-/]\d+[-/]\d|(?:/\d+)? \d\d:\d\d:\d"
)
_UNSAFE_BEFORE = compiled(rb"(?:[\d.,]|\d[:,]|\d[-/]\d+[-/]|\d(?:h|m(?:in)?) ?)$")
_UNSAFE_MIDDLE = compiled(rb"\d[-/]$"), compiled(rb"[-/]\d")


def alike(m: Match, text: bytes) -> bool:
    """Whether another number is the same to a float, so that where it goes cannot be seen."""
    return float(text) == float(m.group())


def is_free(line: bytes, m: Match) -> bool:
    """Whether a number of any other width would still be the same kind of thing here."""
    before = line[: m.start()]
    if _UNSAFE.match(line, m.end()) or _UNSAFE_BEFORE.search(before[-64:]):
        return False
    alone = before.endswith(b"[") and line[m.end() : m.end() + 1] == b"]"
    if alone and len(m.group()) == 5 and m.group().isdigit():
        return False  # with a 0 in front, it is a process
    behind, ahead = _UNSAFE_MIDDLE
    return not (behind.search(before[-2:]) and ahead.match(line, m.end()))


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


def wider(text: bytes, index: int = 0, *, small: bool = False) -> bytes:
    """Another number with a digit more, a whole one in the place of a fraction, as it might mean a
    rank or a process where a fraction does not. A `small` one is no time in Unix seconds."""
    another = other(text, index // 9).replace(b".", b"")
    if small and len(another) > _SMALL:
        another = bytes(byte for byte in another if 48 <= byte <= 57)[:_SMALL]
    first = re.search(rb"\d", another)
    assert first is not None
    return another[: first.start()] + b"%d" % (9 - index % 9) + another[first.start() :]


def widths(*, rank: bool) -> tuple[bytes, ...]:
    """Numbers of all widths that a whole number may have, or a rank."""
    return _WIDTHS if rank else (*_WIDTHS, _WIDER)
