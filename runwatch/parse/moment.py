"""Where the fields of a time stamp stand in its bytes, so that a kernel can read others like it.

`stamp.py` is the definition of what a stamp says. A layout says where it says it; whether both
agree about a line is found out by asking (`dating.py`).
"""

import re
from datetime import UTC, datetime, timedelta

from runwatch.kernels import layout
from runwatch.parse import numeral, stamp
from runwatch.pattern import compiled
from runwatch.slotted import frozen

_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
           b"Dec")  # fmt: skip
_CLOCK = rb"(?P<hour>\d\d):\d\d:\d\d"
_NAMED = rb"(?P<name>" + b"|".join(_MONTHS) + rb") +(?P<day>\d{1,2}) " + _CLOCK
_BEHIND = rb" " + _CLOCK + rb"(?:[.,](?P<fraction>\d{1,9}))?(?: (?P<half>[AP])M)?"
# Each kind of stamp; `spark` is a year of two digits that is no month.
_FORMS = (
    rb"(?P<year>\d{4})[-/.](?P<month>\d\d)[-/.](?P<day>\d\d)[T _:](?P<hour>\d\d):\d\d[:.]\d\d"
    rb"(?:[.,:](?P<fraction>\d{1,9}))?(?:Z| ?[+-]\d\d:?\d\d| UTC)?",
    rb"(?P<spark>1[3-9]|[2-9]\d)/(?P<month>\d\d)/(?P<day>\d\d)" + _BEHIND,
    rb"(?P<month>\d\d)/(?P<day>\d\d)(?:/(?:(?P<year>\d{4})|(?P<short>\d\d)))?" + _BEHIND,
    rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) " + _NAMED + rb" (?:[A-Z]{3,4} )?(?P<year>\d{4})",
    _NAMED,
)
_GLOG_YEAR = rb"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d) " + _CLOCK
_GLOG = rb"(?P<month>\d{1,2})(?P<day>\d\d) " + _CLOCK + rb"\.(?P<fraction>\d{1,9})"
_ALL = [compiled(form) for form in (*_FORMS, _GLOG, _GLOG_YEAR)]
_LONGEST = 63  # bytes of a stamp, so that places take six bits
_MICROSECONDS = 6  # digits of a fraction that count
_UNIX = compiled(rb"1\d{9}(?:\.\d{1,9}|\d{3})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WIDTHS = {"year": 4, "short": 2, "spark": layout.SPARK}


def _nameless(form: bytes) -> bytes:
    return re.sub(rb"\(\?P<\w+>", rb"(?:", form)


# A stamp in a line. Google's loggers write a level before theirs: `I0501 12:00:01.123456`, and
# some a year: `I20240501 12:00:01`.
STAMP = (
    rb"(?:(?:(?<![\w.@#-])|"
    + numeral.COLOURED
    + rb")(?:"
    + b"|".join(map(_nameless, _FORMS))
    + rb")"
    rb"|(?:(?<=^[IWEFDV])|(?<=\W[IWEFDV]))(?:"
    + _nameless(_GLOG)
    + rb"|"
    + _nameless(_GLOG_YEAR)
    + rb"))(?!\d|[.,:]\d)"
)


@frozen
class Layout:
    """Where the fields of a stamp begin, and how wide they are. A month or year of no width is none
    of its bytes but that one; a fraction of no width and a half of the day at 0 are not there."""

    year: tuple[int, int]
    month: tuple[int, int]
    day: tuple[int, int]
    hour: int  # minutes and seconds follow it, each behind a mark
    fraction: tuple[int, int]
    half: int  # where its A or P stands
    end: int  # of the last field; a zone is behind it

    @classmethod
    def of(cls, text: bytes, year: int) -> "Layout | None":
        """That of a stamp, None where it is none. `year` is for those that do not say theirs."""
        m = next((m for pattern in _ALL if (m := pattern.fullmatch(text))), None)
        if m is None or len(text) > _LONGEST or not 0 <= year < layout.YEARS:
            return None
        said = m.groupdict()
        dated = next((name for name in _WIDTHS if said.get(name)), None)
        part, digits = _place(m, "fraction") if said.get("fraction") else (0, 0)
        return cls(
            (year, 0) if dated is None else (m.start(dated), _WIDTHS[dated]),
            (_MONTHS.index(said["name"]) + 1, 0) if "name" in said else _place(m, "month"),
            _place(m, "day"), m.start("hour"), (part, min(digits, _MICROSECONDS)),
            m.start("half") if said.get("half") else 0,
            max(m.start("hour") + 8, part + digits, *(m.end(name) for name in said if said[name])),
        )  # fmt: skip

    @property
    def fields(self) -> tuple[tuple[int, int] | int, ...]:
        """All that it is made from."""
        return (
            self.year, self.month, self.day, self.hour, self.fraction, self.half, self.end
        )  # fmt: skip

    @property
    def code(self) -> int:
        """All of it in one number, as kernels take it."""
        return layout.stamp_code(
            *self.year, *self.month, *self.day, self.hour, *self.fraction, self.half
        )

    def read(self, text: bytes) -> int | None:
        """Microseconds since 1970 that a stamp says, without its zone; None where it is no date."""
        (year, wide), (month, long), (at, width) = self.year, self.month, self.day
        if wide:
            wide = min(wide, 2) if wide == layout.SPARK else wide
            year = int(text[year : year + wide]) + (2000 if wide == 2 else 0)
        if long:
            month = int(text[month : month + long])
        hour, minute, second = (int(text[self.hour + k : self.hour + k + 2]) for k in (0, 3, 6))
        if self.half:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + 12 * (text[self.half : self.half + 1] == b"P")
        begin, digits = self.fraction
        micro = int(text[begin : begin + digits].ljust(_MICROSECONDS, b"0"))
        try:
            moment = datetime(
                year, month, int(text[at : at + width]), hour, minute, second, micro, UTC
            )
        except ValueError:
            return None
        return (moment - _EPOCH) // timedelta(microseconds=1)

    def other(self, text: bytes) -> bytes:
        """A stamp of this layout that has another number in each field."""
        out = bytearray(text)
        (year, wide), (month, long), (day, width) = self.year, self.month, self.day
        fields = [
            (self.hour, b"09"), (self.hour + 3, b"47"), (self.hour + 6, b"38"),
            (day, b"24"[:width]), (month, (b"", b"8", b"11")[long]),
            (year, b"" if not wide else b"2019" if wide == 4 else b"19"),
        ]  # fmt: skip
        for at, digits in fields:
            count = len(digits)
            if out[at : at + count] == digits and digits:
                digits = b"%0*d" % (count, int(digits) - 1)
            out[at : at + count] = digits
        begin, count = self.fraction
        out[begin : begin + count] = numeral.other(text[begin : begin + count])
        return bytes(out)

    def free(self, text: bytes) -> bytes:
        """Where any digit may stand: not in a zone."""
        return bytes(i < self.end and 48 <= byte <= 57 for i, byte in enumerate(text))


@frozen
class UnixTime:
    """Seconds since 1970, or milliseconds, with a fraction or without."""

    @staticmethod
    def of(text: bytes) -> "UnixTime | None":
        """That of a number that may be one."""
        return UnixTime() if _UNIX.fullmatch(text) else None

    def read(self, text: bytes) -> int | None:
        """Microseconds since 1970."""
        return stamp.microseconds("epoch", text.decode("ascii"), 1970)

    def other(self, text: bytes) -> bytes:
        """Another one of the same width."""
        return text[:1] + numeral.other(text[1:])

    def free(self, text: bytes) -> bytes:
        """Where any digit may stand: it begins with a 1."""
        return bytes(i > 0 and 48 <= byte <= 57 for i, byte in enumerate(text))


def _place(m: re.Match[bytes], name: str) -> tuple[int, int]:
    """Where a field begins, and its width."""
    return m.start(name), m.end(name) - m.start(name)
