"""Time stamps of all common kinds as microseconds since 1970, UTC.

A stamp without a zone is taken as UTC; one without a year gets the year that the reader is told.
A time of day without a date says nothing about when, and gives None.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NO_MONTH = _NOON = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(kind: str, text: str, year: int) -> int | None:
    """Read one stamp; None where it is no date after all (month 13, a time of day)."""
    read = _READERS.get(kind)
    if read is None:
        return None
    try:
        moment = read(text, year)
    except (ValueError, OverflowError, OSError):  # the last is of seconds that are too many
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def _iso(text: str, _year: int) -> datetime:
    text = text.removesuffix(" UTC")
    date = text[:10].replace("/", "-").replace(".", "-")
    clock, zone = text[11:], ""
    for mark in ("Z", "+", "-"):
        if (at := clock.find(mark)) > 0:
            clock, zone = clock[:at].rstrip(), clock[at:]
            break
    if clock[5:6] == ".":
        clock = f"{clock[:5]}:{clock[6:]}"  # "10:21.31", as structlog is told by some
    if len(clock) > 8 and clock[8] in ",:":
        clock = f"{clock[:8]}.{clock[9:]}"
    return datetime.fromisoformat(f"{date}T{clock[:15]}{zone}")


def _glog(text: str, year: int) -> datetime:
    date, clock = text.split()
    date = date if len(date) > 4 else f"{year}{date:0>4}"  # "I20240501 12:00:01"
    return datetime.fromisoformat(f"{date}T{clock[:15]}")


def _slash(text: str, year: int) -> datetime:
    date, clock, *half = text.split()
    month, day, *rest = date.split("/")
    if rest:
        if len(rest[0]) == 2 and int(month) > _NO_MONTH:  # as Spark writes them, year first
            month, day, rest = day, rest[0], [month]
        year = int(rest[0]) + (2000 if len(rest[0]) == 2 else 0)
    moment = datetime.fromisoformat(f"{year:04}-{month}-{day}T{clock[:15].replace(',', '.')}")
    if half:
        if not 1 <= moment.hour <= _NOON:
            raise ValueError("no hour of half a day")
        moment = moment.replace(hour=moment.hour % _NOON + _NOON * (half[0] == "PM"))
    return moment


def _syslog(text: str, year: int) -> datetime:
    month, day, clock = text.split()
    number = _MONTHS.index(month.lower()) + 1
    return datetime.fromisoformat(f"{year}-{number:02}-{int(day):02}T{clock}")


def _ctime(text: str, _year: int) -> datetime:
    _, month, day, clock, *_, year = text.split()
    return _syslog(f"{month} {day} {clock}", int(year))


def _day(text: str, _year: int) -> datetime:
    *_, day, month, year, clock = text.replace("-", " ").split()
    return _syslog(f"{month} {day} {clock}", int(year))


def _unix(text: str, _year: int) -> datetime:
    seconds = float(text)
    return datetime.fromtimestamp(seconds / 1000 if seconds > 1e11 else seconds, UTC)


_READERS: dict[str, Callable[[str, int], datetime]] = {
    "time": _iso,
    "glog": _glog,
    "slash": _slash,
    "syslog": _syslog,
    "ctime": _ctime,
    "day": _day,
    "epoch": _unix,
}
KINDS = tuple(_READERS)
