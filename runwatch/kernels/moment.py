"""Time stamps in bytes to microseconds since 1970."""

import numpy as np

from runwatch.kernels.memory import byte_at

_DAYS = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def _two(address):
    """A number of two digits; negative or above 99 where they are none."""
    tens, ones = byte_at(address) - 48, byte_at(address + 1) - 48
    return tens * 10 + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else -10000


def stamp_at(at, fraction):
    """Microseconds since 1970 of `YYYY?MM?DD?hh:mm:ss?f…` with 0 to 6 digits of fraction; -1 where
    it is no such moment.

    Days from a civil date: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    """
    year, month, day = _two(at) * 100 + _two(at + 2), _two(at + 5), _two(at + 8)
    hour, minute, second = _two(at + 11), _two(at + 14), _two(at + 17)
    if not (year >= 1970 and 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1]):
        return np.int64(-1)
    if month == 2 and day == 29 and (year % 4 or (year % 100 == 0 and year % 400)):
        return np.int64(-1)
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59):
        return np.int64(-1)
    y = year - (1 if month <= 2 else 0)
    era = y // 400
    of_era = y - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    micro = np.int64(0)
    for i in range(6):
        digit = np.int64(0)
        if i < fraction:
            digit = byte_at(at + 20 + i) - 48
            if digit < 0 or digit > 9:
                return np.int64(-1)
        micro = micro * 10 + digit
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + micro
