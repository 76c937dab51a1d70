"""A stamp in bytes is the moment that the readable path says it is, in every way to write one."""

from datetime import datetime

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runwatch.kernels.building import built
from runwatch.kernels.layout import PAD
from runwatch.kernels.native import Library
from runwatch.parse.moment import Layout, UnixTime
from runwatch.parse.stamp import microseconds

LIBRARY = Library("tested", "tests fail")
stamp_at = LIBRARY.kernel("moment.stamp_at", "nn")
unix_moment = LIBRARY.kernel("moment.unix_moment", "x")
LIBRARY.take(built(LIBRARY))

YEAR = 2024
WRITTEN = {  # by kind, as `stamp.py` names it, and in which years it can be written
    "time %Y-%m-%d %H:%M:%S": (1970, 9999),
    "time %Y-%m-%dT%H:%M:%S.%f": (1970, 9999),
    "time %Y-%m-%d %H:%M:%S,%f123": (1970, 9999),
    "time %Y/%m/%d_%H:%M.%S": (1970, 9999),
    "time %Y.%m.%d:%H:%M:%S:%f": (1970, 9999),
    "time %Y-%m-%dT%H:%M:%SZ": (1970, 9999),
    "slash %m/%d/%Y %H:%M:%S": (1970, 9999),
    "slash %m/%d/%Y %H:%M:%S,%f": (1970, 9999),
    "slash %m/%d/%Y %I:%M:%S %p": (1970, 9999),
    "slash %m/%d/%y %H:%M:%S": (2000, 2099),
    "slash %m/%d %H:%M:%S": (YEAR, YEAR),
    "slash %y/%m/%d %H:%M:%S": (2013, 2099),
    "glog %m%d %H:%M:%S.%f": (YEAR, YEAR),
    "glog %m%d %H:%M:%S.%f789": (YEAR, YEAR),
    "glog %Y%m%d %H:%M:%S": (1970, 9999),
    "syslog %b %d %H:%M:%S": (YEAR, YEAR),
    "ctime %a %b %d %H:%M:%S %Y": (1970, 9999),
    "ctime %a %b %d %H:%M:%S UTC %Y": (1970, 9999),
}


def by_kernel(text: str, layout: Layout) -> int | None:
    """What compiled code reads; None where it is no date."""
    data = np.zeros(64 + PAD, np.uint8)
    data[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    found = int(stamp_at(int(data.ctypes.data), layout.code))
    return found if found >= 0 else None


@pytest.mark.parametrize("written", WRITTEN)
@given(moment=st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31)))
@example(moment=datetime(2016, 2, 29, 0, 0, 0, 1))
@example(moment=datetime(2016, 12, 1, 12, 59, 59, 999_999))
def test_a_stamp_is_the_same_moment_to_all(written: str, moment: datetime) -> None:
    """To who reads one, to who reads many by where its fields stand, and to compiled code."""
    first, last = WRITTEN[written]
    moment = moment.replace(year=min(max(moment.year, first), last), day=min(moment.day, 28))
    kind, _, form = written.partition(" ")
    text = moment.strftime(form)
    layout = Layout.of(text.encode(), YEAR)
    expected = microseconds(kind, text, YEAR)
    assert layout is not None
    assert expected is not None
    assert expected == layout.read(text.encode()) == by_kernel(text, layout)


@pytest.mark.parametrize("written", WRITTEN)
@given(data=st.data())
def test_what_is_no_date_is_none_to_all(written: str, data: st.DataObject) -> None:
    """Month 13 and 29 February of the wrong year are not made into something else."""
    kind, _, form = written.partition(" ")
    first = datetime(2024, 5, 17, 10, 11, 12, 131415).strftime(form).encode()
    layout = Layout.of(first, YEAR)
    assert layout is not None
    free = layout.free(first)
    text = bytes(
        data.draw(st.integers(48, 57)) if any_digit else byte
        for byte, any_digit in zip(first, free, strict=True)
    )
    if Layout.of(text, YEAR) != layout:
        return  # another kind of stamp
    moments = microseconds(kind, text.decode(), YEAR), layout.read(text)
    read, laid = (None if moment is None or moment < 0 else moment for moment in moments)
    assert read == laid == by_kernel(text.decode(), layout)


ALIKE = datetime(2019, 11, 24, 9, 47, 38, 131415)


@pytest.mark.parametrize("moment", [ALIKE, ALIKE.replace(month=8, day=2)])
@pytest.mark.parametrize("written", [*WRITTEN, "glog 824 %H:%M:%S.%f", "glog 102 %H:%M:%S.%f"])
def test_another_stamp_differs_in_every_field(written: str, moment: datetime) -> None:
    """So that none can be taken for another one."""
    text = moment.strftime(written.partition(" ")[2]).encode()
    layout = Layout.of(text, YEAR)
    assert layout is not None
    other = layout.other(text)
    assert layout.read(other) is not None
    assert Layout.of(other, YEAR) == layout
    assert not any(
        text[at : at + width] == other[at : at + width]
        for at, width in (
            (layout.hour, 2), (layout.hour + 3, 2), (layout.hour + 6, 2), layout.day,
            *(field for field in (layout.month, layout.year, layout.fraction) if field[1]),
        )
    )  # fmt: skip


@given(st.floats(1e9, 2e9 - 1), st.integers(0, 9))
@example(1703967475.0000005, 9)
def test_unix_seconds_are_rounded_as_datetime_does(seconds: float, digits: int) -> None:
    """Half a microsecond goes to the even one."""
    text = f"{seconds:.{digits}f}"
    assert microseconds("epoch", text, YEAR) == int(unix_moment(float(text)))
    layout = UnixTime.of(text.encode())
    assert layout is not None
    assert layout.read(text.encode()) == int(unix_moment(float(text)))


@given(st.integers(10**12, 2 * 10**12 - 1))
def test_many_unix_seconds_are_milliseconds(milliseconds: int) -> None:
    """To compiled code, too."""
    expected = microseconds("epoch", str(milliseconds), YEAR)
    assert expected == milliseconds * 1000 == int(unix_moment(float(milliseconds)))


def test_a_stamp_is_no_wider_than_its_layout_can_say() -> None:
    """Blanks before a day are any number to a pattern, and six bits to compiled code."""
    assert Layout.of(b"Jan" + b" " * 50 + b"1 12:00:00", YEAR) is not None
    assert Layout.of(b"Jan" + b" " * 70 + b"1 12:00:00", YEAR) is None


def test_half_a_day_is_told_by_its_letter() -> None:
    """Midnight is 12 AM and noon 12 PM."""
    hours = {
        text: (microseconds("slash", f"01/01/1970 {text}", YEAR) or 0) / 3.6e9
        for text in ("12:00:00 AM", "01:00:00 AM", "12:00:00 PM", "11:00:00 PM")
    }
    assert hours == dict(zip(hours, (0, 1, 12, 23), strict=True))
    assert microseconds("slash", "01/01/1970 13:00:00 PM", YEAR) is None
