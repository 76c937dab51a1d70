"""Numbers to stand in for those of a line: others, as wide or wider, that it could have had."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.parse import numeral

NUMBER = rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
WRITTEN = st.from_regex(rb"\A-?[0-9]{1,6}(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?\Z")


@given(text=WRITTEN, index=st.integers(0, 40))
def test_another_number_is_as_wide_and_another(text: bytes, index: int) -> None:
    """Its point and exponent stand where they stood, and it has no zero in front that is new."""
    other = numeral.other(text, index)
    assert len(other) == len(text)
    assert re.sub(rb"\d", b"0", other) == re.sub(rb"\d", b"0", text)
    assert float(other) != float(text)
    assert text.lstrip(b"-").startswith(b"0") or not other.lstrip(b"-").startswith(b"0")


@given(text=WRITTEN, index=st.integers(0, 40))
def test_a_wider_number_has_a_digit_more_and_no_point(text: bytes, index: int) -> None:
    """So that whole numbers are tried where a fraction stands."""
    wider = numeral.wider(text, index)
    assert len(wider) == len(text.replace(b".", b"")) + 1
    assert re.fullmatch(NUMBER, wider)
    assert wider.startswith(b"-") == text.startswith(b"-")


@pytest.mark.parametrize(
    ("line", "free"),
    [
        (b"loss <2.5> ok", True), (b"step <10>/900", True), (b"at <12>:30", False),
        (b"total 1,<234>", False), (b"2024-<05>-01", False), (b"took <3>h 12m", False),
        (b"took 3m <10>s", False), (b"took <3>min 10s", False),
    ],
)  # fmt: skip
def test_the_width_counts_where_it_makes_a_clock_a_date_or_a_thousand(
    line: bytes, *, free: bool
) -> None:
    at = line.index(b"<")
    plain = line.replace(b"<", b"").replace(b">", b"")
    m = re.compile(rb"[\d.]+").match(plain, at)
    assert m is not None
    assert numeral.is_free(plain, m) == free
