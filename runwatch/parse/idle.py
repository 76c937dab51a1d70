"""Whether the numbers of a line that mean nothing do so whatever they are, found out by putting
others in their place: the digit of a name may make it a known one, the head of a line be a time."""

from typing import TYPE_CHECKING

from runwatch.parse.parts import Fixed, Hex, Part

if TYPE_CHECKING:
    from runwatch.parse.lesson import Known, Lesson, Match

_NO_RANK = 7  # digits of a number that is too large for a rank
# May be a rank or a process where no fraction, and nothing below 0 or as large, may; the line's own
# rank would not be seen.
_FEWEST, _OTHER = b"7", b"6"
_TIMES = [b"1714564801", b"1714564801123"]  # in Unix seconds and milliseconds
_ADDRESSES = b"0xb4d1c0ffee17", b"0x7", b"0x1060e5"
_SIGHT = 64  # bytes in front of a number


def addresses(lesson: "Lesson") -> dict[int, Part]:
    """The addresses in memory of a line by where they stand, any others of which mean as little;
    texts where they do not."""
    found = [m for m in lesson.tokens if m.group(3) is not None]
    open = found and all(_are_idle(lesson, found, other) for other in _ADDRESSES)
    return {m.start(): Hex() if open else Fixed(m.group(), bytes(len(m.group()))) for m in found}


def _are_idle(lesson: "Lesson", found: "list[Match]", other: bytes) -> bool:
    seen = lesson.look([(m.start(), m.end(), other) for m in found])
    return seen is not None and seen.same(lesson.base)


def all_idle(lesson: "Lesson", known: "Known") -> bool:
    """Whether all numbers that mean nothing do so together."""
    rounds: list[list[tuple[Match, bytes]]] = []
    for m in lesson.numbers:
        roles, free = known[m.start()]
        if roles is None or any(roles):
            continue
        changed = lesson.changed.get(m.start())
        others = (other for other in telling(lesson, m, free=free) if other != changed)
        for i, other in enumerate(others):
            rounds[i:] = rounds[i:] or [[]]
            rounds[i].append((m, other))
    return all(_mean_nothing(lesson, changes) for changes in rounds)


def is_idle(lesson: "Lesson", m: "Match", *, free: bool) -> bool:
    """Whether one number does."""
    return all(_mean_nothing(lesson, [(m, other)]) for other in telling(lesson, m, free=free))


def is_idle_in_its_width(lesson: "Lesson", m: "Match") -> bool:
    """Whether a number means nothing in its own width that would mean something in another, as a
    time at the head of a line. A fraction stays one where only digits change."""
    text = m.group()
    return len(text) < len(_TIMES[0]) and (not text.isdigit() or is_idle(lesson, m, free=False))


def telling(lesson: "Lesson", m: "Match", *, free: bool) -> list[bytes]:
    """Others to put in the place of a number that would mean something if any did."""
    before = lesson.line[max(0, m.start() - _SIGHT) : m.start()]
    if free and not before.endswith(b"-"):
        times = [] if lesson.line[: m.start()].strip(b" [") else _TIMES
        if m.group().isdigit() and len(m.group()) < _NO_RANK and not times:
            return []
        return [*times, _FEWEST if lesson.base.places[-1] != int(_FEWEST) else _OTHER]
    if not free and not m.group().isdigit():
        return []  # it stays a fraction, or below 0, as it was when it was changed
    widths = (1, 2) if free else (len(m.group()),)  # "Rank-10"
    return [text for width in widths for text in lesson.probe.digits(width, before)]


def _mean_nothing(lesson: "Lesson", changed: "list[tuple[Match, bytes]]") -> bool:
    roles = lesson.roles_of([m for m, _ in changed], [other for _, other in changed])
    return roles is not None and not any(map(any, roles))
