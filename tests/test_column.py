"""Columns and frames: what is put in comes out, here and in Arrow, whichever rows are chosen."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.arrow import TYPES, array, record_batch
from runwatch.column import Column, Frame, Kind, distinct, joined

WHOLE = st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=40)
TEXTS = st.lists(st.none() | st.text(max_size=9), max_size=20)
WORDS = st.lists(st.none() | st.sampled_from(["loss", "lr", "mfu"]), max_size=40)
CUT = st.integers(0, 40)
WHOLE_KINDS: tuple[Kind, ...] = ("int32", "int64", "time")


def worded(words: list[str | None]) -> Column:
    """A column of these words."""
    known = ["loss", "lr", "mfu"]
    return Column.of("word", [None if w is None else known.index(w) for w in words], words=known)


@given(WHOLE, st.sampled_from(WHOLE_KINDS))
def test_whole_numbers_and_times_from_a_list_and_from_an_array(
    values: list[int | None], kind: Kind
) -> None:
    null = np.array([v is None for v in values], np.bool_)
    whole = np.array([7 if v is None else v for v in values], np.int64)
    for column in (Column.of(kind, values), Column.of(kind, whole, null)):
        whole[:] = -1  # who fills an array again and again changes no column
        assert column.tolist() == values
        assert column.known.tolist() == [v is not None for v in values]
        assert column.numbers(-7).tolist() == [-7 if v is None else v for v in values]
        assert column.empty == all(v is None for v in values)
        made = array(column)
        made.validate(full=True)
        assert made.equals(pa.array(values, pa.int64()).cast(TYPES[kind]))


@given(st.lists(st.none() | st.floats(), max_size=40))
def test_measurements_keep_their_bits(values: list[float | None]) -> None:
    column = Column.of("float64", values)
    expected = np.array([math.nan if v is None else v for v in values], np.float64)
    np.testing.assert_array_equal(column.numbers(math.nan), expected)
    assert repr(array(column).to_pylist()) == repr(values) == repr(column.tolist())


@given(WORDS)
def test_words_are_their_places_among_the_words(words: list[str | None]) -> None:
    column = worded(words)
    assert column.tolist() == words == array(column).to_pylist()
    assert column.says("loss").tolist() == [word == "loss" for word in words]
    assert not column.says("unheard").any()


@given(TEXTS)
def test_a_column_of_texts(values: list[str | None]) -> None:
    made = array(Column.of("text", values))
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))
    assert Column.of("text", values).tolist() == values


def test_half_a_surrogate_pair_is_no_text_to_arrow() -> None:
    assert array(Column.of("text", ["a\ud83db"])).to_pylist() == ["a?b"]


@given(WHOLE, TEXTS, CUT, CUT)
def test_rows_are_chosen_alike_in_every_column(
    numbers: list[int | None], texts: list[str | None], start: int, count: int
) -> None:
    size = min(len(numbers), len(texts))
    frame = Frame(
        {
            "number": Column.of("int64", numbers[:size]),
            "text": Column.of("text", texts[:size]),
            "flag": Column.of("flag", np.arange(size) % 2 == 0),
            "once": Column.repeated("text", "x", size),
        }
    )
    rows = [
        {"number": n, "text": t, "flag": i % 2 == 0, "once": "x"}
        for i, (n, t) in enumerate(zip(numbers, texts, strict=False))
    ]
    mask = np.array([i % 3 == 0 for i in range(size)], np.bool_)
    chosen: list[tuple[Any, list[Any]]] = [
        (slice(start, start + count), rows[start : start + count]),
        (mask, rows[::3]),
        (np.flatnonzero(mask)[::-1], rows[::3][::-1]),
    ]
    for places, expected in chosen:
        assert record_batch(frame[places]).to_pylist() == expected
        assert len(frame[places]) == len(expected)
    both = joined([frame, frame[mask]])
    assert record_batch(both).to_pylist() == rows + rows[::3]


def test_a_column_cannot_be_written_to() -> None:
    """Batches are kept until they are stored, while others read them."""
    with pytest.raises(ValueError, match="read-only"):
        Column.of("int64", [1, 2]).values[0] = 3


@given(st.lists(st.integers(-9, 9) | st.integers(), max_size=40))
def test_distinct_values_are_those_of_a_set(values: list[int]) -> None:
    values = [v for v in values if -(2**63) <= v < 2**63]
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))
