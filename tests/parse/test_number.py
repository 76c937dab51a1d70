"""Numbers are found where numbers are, and are worth what they say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.parse.number import split, value_of
from runwatch.parse.record import number

DECIMALS = st.from_regex(r"\A[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?\Z")


@given(DECIMALS)
def test_a_number_is_worth_what_float_says(text: str) -> None:
    """To the last bit, for every decimal that can be written."""
    tokens = split(f"loss: {text} ")
    assert [text] == tokens.values
    assert float(text).hex() == value_of(tokens.values[0]).hex()


@given(st.floats(allow_nan=False))
def test_a_printed_double_comes_back(value: float) -> None:
    """What `repr` prints of a double is that double again."""
    assert value == number(split(f"x={value!r}").values[0])


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234,567", 1234567.0), ("76,631.5", 76631.5), ("1,200,", 1200.0), ("9e999", math.inf),
     ("-inf", -math.inf),
     ("Infinity", math.inf), ("3.", 3.0), (".5", 0.5), ("1E-03", 0.001)],
)  # fmt: skip
def test_every_way_to_write_a_number(text: str, value: float) -> None:
    """Thousands separators, exponents, infinities and bare points are read."""
    assert value == number(split(f"loss: {text}").values[0])


@pytest.mark.parametrize(
    "text",
    ["2024-05-01", "12:34:56", "10.0.0.1:8265", "0xdeadbeef", "top1", "Acc@1", "mAP50-95", "w2v",
     "3.10.14", "1h 23m", "output #1", "xla:0/2", "Sat Jun  1 10:20:31 2024"],
)  # fmt: skip
def test_what_is_no_number(text: str) -> None:
    """Dates, clocks, addresses, versions and words with digits hold no number."""
    assert "\x01" not in split(f"x {text} y").marks
