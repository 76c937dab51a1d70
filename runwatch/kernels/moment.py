"""Time stamps in bytes to microseconds since 1970."""

import numpy as np

from runwatch.kernels.layout import (
    S_DAY,
    S_DAY_WIDTH,
    S_DIGITS,
    S_FRACTION,
    S_HALF,
    S_HOUR,
    S_MONTH,
    S_MONTH_WIDTH,
    S_YEAR,
    S_YEAR_WIDTH,
    SPARK,
)
from runwatch.kernels.memory import byte_at

_DAYS = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_NEVER = -(1 << 62)  # no moment: before all of them, whatever its zone
_MILLISECONDS = 1e11  # as seconds that would be in the year 5138


def _two(address):
    """A number of two digits, which are there."""
    return byte_at(address) * 10 + byte_at(address + 1) - 528


def _field(address, width):
    """A number of one digit or two."""
    return byte_at(address) - 48 if width == 1 else _two(address)


def stamp_at(at, code):
    """Microseconds since 1970 of a stamp whose fields stand where a code of `layout.stamp_code`
    says, and are digits; a moment long before 1970 where it is no date.

    Days from a civil date: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    """
    year, wide = code >> S_YEAR, (code >> S_YEAR_WIDTH) & 7
    if wide == 4:
        year = _two(at + year) * 100 + _two(at + year + 2)
    elif wide > 0:
        year = _two(at + year)
        if wide == SPARK and year <= 12:
            return np.int64(_NEVER)
        year += 2000
    month, long = (code >> S_MONTH) & 63, (code >> S_MONTH_WIDTH) & 3
    if long > 0:
        month = _field(at + month, long)
    day = _field(at + ((code >> S_DAY) & 63), (code >> S_DAY_WIDTH) & 3)
    clock = at + ((code >> S_HOUR) & 63)
    hour, minute, second = _two(clock), _two(clock + 3), _two(clock + 6)
    half = (code >> S_HALF) & 63
    if half:
        if hour < 1 or hour > 12:
            return np.int64(_NEVER)
        hour = hour % 12 + (12 if byte_at(at + half) == 80 else 0)
    if not (year >= 1970 and 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1]):
        return np.int64(_NEVER)
    if month == 2 and day == 29 and (year % 4 or (year % 100 == 0 and year % 400)):
        return np.int64(_NEVER)
    if hour > 23 or minute > 59 or second > 59:
        return np.int64(_NEVER)
    y = year - (1 if month <= 2 else 0)
    era = y // 400
    of_era = y - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    micro, fraction = np.int64(0), at + ((code >> S_FRACTION) & 63)
    digits = (code >> S_DIGITS) & 7
    for i in range(6):
        micro = micro * 10 + (byte_at(fraction + i) - 48 if i < digits else 0)
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micro


def unix_moment(seconds):
    """Microseconds since 1970 of seconds since then, or of milliseconds where there are too many,
    rounded as `datetime.fromtimestamp` does: half to even."""
    if seconds > _MILLISECONDS:
        seconds /= 1000.0
    whole = np.trunc(seconds)
    micro = (seconds - whole) * 1e6
    floor = np.trunc(micro)
    rest = micro - floor
    if rest > 0.5 or (rest == 0.5 and np.int64(floor) % 2 == 1):
        floor += 1.0
    return np.int64(whole) * 1_000_000 + np.int64(floor)
