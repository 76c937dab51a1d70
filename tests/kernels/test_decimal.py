"""Numbers and stamps in bytes are worth what Python says they are."""

import struct
from datetime import UTC, datetime

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from runwatch.kernels.building import built
from runwatch.kernels.layout import PAD
from runwatch.kernels.native import Library

LIBRARY = Library("tested", "tests fail")
number_at = LIBRARY.kernel("decimal.number_at", "nn")
stamp_at = LIBRARY.kernel("moment.stamp_at", "nn")
LIBRARY.take(built(LIBRARY))

DECIMAL = st.from_regex(r"\A-?[0-9]{1,12}(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?\Z")
PRINTED = st.floats(allow_nan=False, allow_infinity=False).map(repr)


def read(text: str) -> tuple[float, int]:
    """The value at the start of a text and the characters it takes."""
    data = np.zeros(len(text) + PAD, np.uint8)
    data[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    result = np.zeros(1)
    start = int(data.ctypes.data)
    behind = int(number_at(start, int(result.ctypes.data)))
    return float(result[0]), behind - start if behind else 0


@given(st.one_of(DECIMAL, PRINTED), st.sampled_from(["", " ", ",", "x", "}", "\n", "-", "."]))
@example("9007199254740993", "")
@example("2.2250738585072011e-308", "")
@example("5e-324", " ")
@example("1.7976931348623157e308", " ")
@example("0.00000000000000000001", "x")
def test_a_number_is_worth_what_float_says(text: str, behind: str) -> None:
    """To the last bit, whatever stands behind it; or it is left to others."""
    value, length = read(text + behind)
    if length:
        assert (len(text), struct.pack("d", float(text))) == (length, struct.pack("d", value))
    else:
        assert len(text.lower().split("e")[0].replace(".", "").lstrip("-0")) > 19


@given(st.text("0123456789.eE+-x ", max_size=24))
def test_no_text_is_read_beyond_its_number(text: str) -> None:
    """What is taken is a number by itself, and nothing is taken where none begins."""
    value, length = read(text)
    if length:
        assert struct.pack("d", float(text[:length])) == struct.pack("d", value)


@given(st.datetimes(datetime(1970, 1, 1), datetime(2099, 12, 31)), st.integers(0, 6))
def test_a_stamp_is_the_moment_that_datetime_says(moment: datetime, digits: int) -> None:
    """In microseconds since 1970, with any number of digits of the second."""
    text = moment.strftime("%Y-%m-%d %H:%M:%S,") + f"{moment.microsecond:06}"[:digits]
    data = np.zeros(64 + PAD, np.uint8)
    data[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    micro = int(f"{moment.microsecond:06}"[:digits].ljust(6, "0"))
    expected = int(moment.replace(tzinfo=UTC, microsecond=0).timestamp()) * 1_000_000 + micro
    assert expected == stamp_at(int(data.ctypes.data), digits)


@given(st.from_regex(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\Z"))
def test_a_stamp_that_is_no_moment_is_none(text: str) -> None:
    """Month 13 and 29 February of the wrong year are not made into something else."""
    data = np.zeros(64 + PAD, np.uint8)
    data[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    found = int(stamp_at(int(data.ctypes.data), 0))
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        assert found == -1
    else:
        assert found == (moment.timestamp() * 1_000_000 if moment.year >= 1970 else -1)
