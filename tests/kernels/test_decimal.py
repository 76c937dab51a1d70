"""Numbers in bytes are worth what Python says they are."""

import re
import struct

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from runwatch.kernels.building import built
from runwatch.kernels.layout import PAD
from runwatch.kernels.native import Library, Native

LIBRARY = Library("tested", "tests fail")
number_at = LIBRARY.kernel("decimal.number_at", "nn")
thousands_at = LIBRARY.kernel("decimal.thousands_at", "nn")
ends_thousands = LIBRARY.kernel("decimal.ends_thousands", "nn")
LIBRARY.take(built(LIBRARY))

DECIMAL = st.from_regex(r"\A-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?\Z")
PRINTED = st.floats(allow_nan=False, allow_infinity=False).map(repr)


def read(text: str, kernel: Native = number_at) -> tuple[float, int]:
    """The value at the start of a text and the characters it takes."""
    data = np.zeros(len(text) + PAD, np.uint8)
    data[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    result = np.zeros(1)
    start = int(data.ctypes.data)
    behind = int(kernel(start, int(result.ctypes.data)))
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


@given(
    st.integers(0, 10**17), st.sampled_from(["", " ", "x", "}", "\n", "-", ".", "5", ",5", ",123x"])
)
def test_a_number_with_commas_is_read_whole_or_not_at_all(value: int, behind: str) -> None:
    """Groups of three digits, as `format` writes them."""
    text = f"{value:,}"
    found, length = read(text + behind, thousands_at)
    if "," in text and behind[:1] not in (",", "5"):
        assert (found, length) == (float(value), len(text))
    elif length:
        assert behind == ",123x"


@given(st.text("0123456789.,-x ", max_size=12), st.text("0123456789.,-x ", max_size=8))
def test_digits_that_may_end_a_thousand_are_told(before: str, behind: str) -> None:
    """As the reader's pattern does, which looks for the whole number."""
    text = f"{before}7,{behind}"
    data = np.zeros(len(text) + PAD, np.uint8)
    data[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    start, at = int(data.ctypes.data), len(before) + 2
    told = bool(ends_thousands(start + at, start))
    assert told == (
        re.match(r"\d{3}(?!\d|,\d)", behind) is not None
        and (re.search(r"(?<![\w.@])\d{1,3}\Z", f"{before}7") is not None)
    )
