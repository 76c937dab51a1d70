"""What `runwatch.column` makes and reads of Arrow columns is what pyarrow makes and reads."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

from runwatch.column import array, distinct, known, numbers, says

WHOLE = st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=40)
CUT = st.integers(0, 40)


@given(WHOLE, CUT, CUT, st.sampled_from([pa.int32(), pa.int64(), pa.timestamp("us", "UTC")]))
def test_whole_numbers_and_times_with_nulls_from_anywhere_in_a_longer_column(
    values: list[int | None], start: int, length: int, kind: pa.DataType
) -> None:
    column = pa.array(values, kind).slice(start, length)
    there = pc.is_valid(column).to_numpy(zero_copy_only=False)
    assert known(column).tolist() == there.tolist()
    expected = [-7 if v is None else v for v in values[start : start + length]]
    assert numbers(column, -7).tolist() == expected


@given(st.lists(st.none() | st.floats(), max_size=40), CUT)
def test_measurements_keep_their_bits(values: list[float | None], start: int) -> None:
    column = pa.array(values, pa.float64())[start:]
    expected = np.array([np.nan if v is None else v for v in values[start:]], np.float64)
    np.testing.assert_array_equal(numbers(column, np.nan), expected)


@given(st.lists(st.none() | st.sampled_from(["loss", "lr", "mfu"]), max_size=40), CUT)
def test_where_a_column_says_a_word(words: list[str | None], start: int) -> None:
    column = pa.array(words, pa.string()).dictionary_encode()[start:]
    assert says(column, "loss").tolist() == [word == "loss" for word in words[start:]]


NUMBERS = [pa.int32(), pa.int64(), pa.float64(), pa.timestamp("us", "UTC")]


@given(WHOLE, st.sampled_from(NUMBERS))
def test_a_column_of_numbers_from_a_list_and_from_an_array(
    values: list[int | None], kind: pa.DataType
) -> None:
    expected = pa.array(values, pa.int64()).cast(kind)
    made = array(values, kind)
    made.validate(full=True)
    assert made.equals(expected)
    null = np.array([v is None for v in values], np.bool_)
    whole = np.array([0 if v is None else v for v in values], np.int64)
    made = array(whole, kind, null)
    whole[:] = -1  # who fills an array again and again changes no column
    assert made.equals(expected)


@given(st.lists(st.none() | st.text(max_size=9), max_size=20))
def test_a_column_of_texts(values: list[str | None]) -> None:
    made = array(values, pa.string())
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert array(["a\ud83db"], pa.string()).to_pylist() == ["a?b"]


@given(st.lists(st.integers(-9, 9) | st.integers(), max_size=40))
def test_distinct_values_are_those_of_a_set(values: list[int]) -> None:
    values = [v for v in values if -(2**63) <= v < 2**63]
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))
