"""Which texts of a line say its time, found out by putting others in their place."""

from typing import TYPE_CHECKING

from runwatch.parse.moment import Layout, UnixTime
from runwatch.parse.parts import Fixed, Moment, Part

if TYPE_CHECKING:
    from runwatch.parse.lesson import Lesson, Match

_QUARTER = 15 * 60 * 1_000_000  # microseconds; zones are whole quarters of an hour apart
_FARTHEST = 4 * 15 * _QUARTER


def dating(lesson: "Lesson", m: "Match", *, stamped: bool) -> Part | None:
    """What a token is that looks like a time: the line's time, or digits that mean nothing. A
    stamp that is neither is text; a number that is neither is a number, and gives None."""
    text, base = m.group(), lesson.base
    found = Layout.of(text, lesson.probe.year) if stamped else UnixTime.of(text)
    neither = Fixed(text, bytes(len(text))) if stamped else None
    if found is None:
        return neither
    other = found.other(text)
    seen = lesson.look([(m.start(), m.end(), other)])
    if seen is not None and seen.same(base):
        return Fixed(text, found.free(text))
    told, then = found.read(text), found.read(other)
    if seen is None or not seen.same_but_time(base) or told is None or then is None:
        return neither
    if base.time is not None and seen.time is not None:
        offset = told - base.time
        is_zone = offset % _QUARTER == 0 and abs(offset) <= _FARTHEST
        if is_zone and then - seen.time == offset:
            return Moment(text, found, offset)
    return neither
