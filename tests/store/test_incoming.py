"""Rows come to DuckDB as they are, whichever way they are handed over."""

from typing import Any

import duckdb
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runwatch.arrow import record_batch
from runwatch.column import Column, Frame
from runwatch.store.incoming import as_lists
from runwatch.store.opening import UTC

ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**31), 2**31 - 1),
        st.none() | st.integers(-(2**62), 2**62),
        st.none() | st.floats(),
        st.none() | st.integers(0, 2**51),
        st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
        st.booleans(),
    ),
    max_size=20,
)


def answer(connection: duckdb.DuckDBPyConnection, source: str, values: list[Any]) -> str:
    """All rows and the types of the columns; as text, so that nan equals nan."""
    found = connection.execute(f"SELECT * FROM {source}", values)
    types = [str(column[1]) for column in found.description or ()]
    return repr((types, found.fetchall()))


@given(ROWS)
def test_rows_as_lists_and_as_arrow_are_the_same(rows: list[tuple[Any, ...]]) -> None:
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) or [()] * 6
    frame = Frame(
        {
            "rank": Column.of("int32", columns[0]),
            "step": Column.of("int64", columns[1]),
            "value": Column.of("float64", columns[2]),
            "time": Column.of("time", columns[3]),
            "text": Column.of("text", columns[4]),
            "tail": Column.of("flag", np.array(columns[5], np.bool_)),
        }
    )
    with duckdb.connect(":memory:") as connection:
        connection.execute(UTC)
        connection.register("as_arrow", record_batch(frame))
        expected = answer(connection, "as_arrow", [])
        assert answer(connection, *as_lists(frame)) == expected


def test_what_is_no_text_becomes_a_question_mark() -> None:
    frame = Frame({"text": Column.of("text", ["a\ud83db"])})
    with duckdb.connect(":memory:") as connection:
        assert answer(connection, *as_lists(frame)) == "(['VARCHAR'], [('a?b',)])"
