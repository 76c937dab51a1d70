"""What is compiled does what Python does."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runwatch.kernels.field import Field, numbers
from runwatch.kernels.tracks import Tracks
from tests.kernels.compiler.taking import taken


def loops(n: int, most: int) -> int:
    found = last = 0
    for i in range(n):
        if i % 3 == 1:
            continue
        if found > most:
            break
        for j in range(i, i + 2):
            found += j
        last = i
    while True:
        last += 1
        if last > 20:
            break
        while found > 100:
            found -= 90
    return 1000 * found + last


@given(st.integers(-3, 40), st.integers(0, 400))
def test_loops(n: int, most: int) -> None:
    """`break` and `continue` are those of their own loop, and a range may be empty."""
    assert loops(n, most) == taken(loops, "nn")(n, most)


def pair(a: int, b: int) -> tuple[int, float]:
    if a > b:
        return b, 0
    return a, 0.5 * b


def nothing(out: Any, at: tuple[int, int]) -> None:
    if at[0] > at[1]:
        return
    out[0] = at[1]


def calls(a: int, b: int, out: Any) -> int:
    low, half = pair(a, b)
    out[1] = half
    nothing(out, (low, b))
    return low


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_functions_take_and_give_tuples(a: int, b: int) -> None:
    """Also nothing at all; of two ways of giving a number the wider kind counts."""
    expected, found = np.zeros(2), np.zeros(2)
    assert calls(a, b, expected) == taken(calls, "nnf")(a, b, found)
    assert expected.tolist() == found.tolist()


FIELDS = (*numbers("n", "sum"), Field("mean", 0.5), Field("ring", 0.0, 3), Field("places", 7, 2))


def remembers(records: Any, at: int, value: float) -> int:
    s = records[at]
    ring = s.ring
    ring[s.n % 3] = value
    s.n += 1
    s.sum += s.n
    s.mean = (ring[0] + ring[1] + ring[2]) / s.n
    s.places[1] = s.n
    spare = [0.0] * 4
    spare[s.n % 4] = value
    return s.sum + s.places[0] + (spare[0] > 0)


def test_records_are_changed_in_place() -> None:
    """The same record that numpy has, its arrays too, and no other one."""
    plain = [Tracks(FIELDS).fresh() for _ in range(3)]
    states = np.zeros(3, np.dtype([field.dtype for field in FIELDS]))
    states["places"] = 7
    states["mean"] = 0.5
    call = taken(remembers, "rnx", FIELDS)
    for i, value in enumerate([2.0, 3.0, 5.0, 7.0]):
        at = 2 * (i % 2)
        assert remembers(plain, at, value) == call(states, at, value)
    for row, state in zip(plain, states, strict=True):
        told = (state["n"], state["sum"], state["mean"], state["ring"].tolist())
        assert (row.n, row.sum, row.mean, row.ring) == told
        assert row.places == state["places"].tolist()
