"""What is compiled gives what Python gives."""

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runwatch.kernels.building import written
from runwatch.kernels.native import Library
from tests.kernels.compiler.taking import taken

WHOLE = st.integers(-(1 << 40), 1 << 40)
REAL = st.one_of(
    st.floats(allow_subnormal=False), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0])
)


def sums(a: int, b: int) -> int:
    return (a + 3 * b - (a ^ b) + (a & 255) + (b | 7) + (-a) + ~b) + (a >> 3) + ((a & 1) << 5)


def quotients(a: int, b: int) -> int:
    return a // 7 + 100 * (b % 20) + 1000 * (a // 2) + (b // 1) % 3


def orders(a: int, b: int) -> int:
    return (
        (a < b)
        + 2 * (a <= b)
        + 4 * (a == b)
        + 8 * (a != b)
        + 16 * (0 < a <= b < 900)
        + 32 * (not a)
    )


def ways(a: int, b: int) -> int:
    if a > b and (b > 0 or a == 7):
        return 1
    chosen = a if a > 100 else 5 if b < -3 else -1
    return chosen + (2 if a or b else 3)


def least(a: int, b: int) -> int:
    return min(a, b, 12) + 3 * max(a, b) + abs(a) + 5 * int(bool(b))


@pytest.mark.parametrize("function", [sums, quotients, orders, ways, least])
def test_whole_numbers(function: Callable[[int, int], int]) -> None:
    """Division rounds down, comparisons may be chained, and a truth is 0 or 1."""
    compiled = taken(function, "nn")

    @given(WHOLE, WHOLE)
    @example(-1, -20)
    @example(7, 7)
    def same(a: int, b: int) -> None:
        assert function(a, b) == compiled(a, b)

    same()


def reals(a: float, b: float, n: int, out: Any) -> int:
    """A whole number and a double make a double, whichever way was taken."""
    out[0] = a + b * 2 - n
    out[1] = -a
    out[2] = abs(b)
    out[3] = min(a, b)
    out[4] = max(a, b, 0.0)
    out[5] = a if a > b else n
    out[6] = 1.0 if a != a else 2
    last = 0
    if n > 0:
        last = b
    out[7] = last
    out[8] = float(n) / 8
    out[9] = math.sqrt(abs(b))
    return (a < b) + 2 * (a == b) + 4 * (a != b) + 8 * (a >= b) + 16 * (not a)


def test_doubles() -> None:
    """To the last bit, with NaN, infinities and both zeros: what is compared with NaN differs."""
    compiled = taken(reals, "xxnf")

    @given(REAL, REAL, st.integers(-(1 << 20), 1 << 20))
    @example(math.nan, 1.0, 1)
    @example(1.0, math.nan, 0)
    @example(-0.0, 0.0, 2)
    def same(a: float, b: float, n: int) -> None:
        expected, found = np.zeros(10), np.zeros(10)
        assert reals(a, b, n, expected) == compiled(a, b, n, found)
        for one, other in zip(expected.tolist(), found.tolist(), strict=True):
            both_nan = one != one and other != other
            assert both_nan or struct.pack("d", one) == struct.pack("d", other)

    same()


def powers(a: float, out: Any) -> int:
    out[0] = math.log10(a)
    out[1] = 10.0 ** min(a, 300.0)
    return 0


@given(st.floats(1e-300, 1e300))
def test_what_the_c_library_knows_is_asked_of_it(a: float) -> None:
    """As Python does, so that both say the same."""
    expected, found = np.zeros(2), np.zeros(2)
    powers(a, expected)
    taken(powers, "xf")(a, found)
    assert expected.tolist() == found.tolist()


TABLE = np.array([[3, 5], [7, 11], [13, 17]])
BIG = np.array([1 << 63, 9], np.uint64)


def looked_up(i: int, small: Any, halves: Any) -> int:
    small[i] += 1
    halves[0], halves[1] = halves[1], halves[0]
    large = BIG[0] >> np.uint64(60)
    return TABLE[i, 1] + len(TABLE) * small[i] + len(small) + halves[0] + np.int64(large)


def test_arrays_and_tables() -> None:
    """Of every type that kernels take, negative numbers too; two cells change places."""
    small, halves = np.array([-3, -128, 4], np.int8), np.array([-70_000, 5], np.int32)
    found = taken(looked_up, "nbh")(1, small, halves)
    assert 11 + 3 * -127 + 3 + 5 + 8 == found
    assert ([-3, -127, 4], [5, -70_000]) == (small.tolist(), halves.tolist())


def quotient(a: int, b: int) -> int:
    return a // b


def written_down(a: int, b: int) -> int:
    return len([a, b])


def mixed(a: int, b: int) -> int:
    found = np.uint64(a)
    return found + b


@pytest.mark.parametrize(
    ("function", "why"),
    [(quotient, "above 0"), (written_down, r"\[a, b\]"), (mixed, "is no")],
)
def test_what_is_more_of_python_than_there_is_is_refused(
    function: Callable[[int, int], int], why: str
) -> None:
    """By name, with the reason: nothing is compiled to something else."""
    library = Library("tested", "")
    library.kernel("tested.function", "nn", function)
    with pytest.raises(TypeError, match=rf"test_expressions\.{function.__name__}: .*{why}"):
        written(library)


@pytest.mark.parametrize(
    "small", [np.array([1, 2, 3, 4]), np.array([1, 2, 3, 4, 5, 6], np.int8)[::2]]
)
def test_an_array_of_another_kind_is_refused(small: Any) -> None:
    """Its bytes would be taken for others."""
    with pytest.raises(TypeError, match=r"tested\.function takes no such array"):
        taken(looked_up, "nbh")(1, small, np.array([7, 5], np.int32))
