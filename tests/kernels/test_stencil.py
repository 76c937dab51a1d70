"""Lines that are laid out as one before: what is read of them is what is read of any line."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.chunk import Chunk, Stream
from runwatch.kernels import layout
from runwatch.parse import Parser

RUN = Stream("train.log")
_PIECE = 30  # lines
# Numbers that are digits and one division, and such as are not.
PLAIN = ("7.046947", "0.0", "-0.0", "-1.5", "1.50000000e-07", "10", "99999.9", "123456789012345",
         "0.00000000000001", "1E-22", "12345678.1234567", "3.000E+02")  # fmt: skip
ODD = ("1234567890123456", "0.000000000000001", "0.1234567890123456", "9007199254740993.5",
       "1e-23", "2e+05", "5.", "1.5e", "1.5e-", "1e0000000001", "12345678901234567890123", "nan",
       "-inf")  # fmt: skip
FORMS = (
    "step {} loss={} lr={}",
    '{{"rank": 3, "step": {}, "loss": {}, "lr": {}}}',
    " iteration {:>8}/ 500 | loss: {:>12} | grad norm: {}|",
    "2024-05-01 12:00:00,100 INFO train: step={} loss={}   lr={} end",
    "[{}/500] loss: {} ({})",
)


def values(lines: list[str], *, replay: bool) -> tuple[Any, Parser]:
    """The points of a log, each with all that is said of it, and who read them."""
    parser = Parser(replay=replay, year=2024, threads=1)
    found: dict[str, list[str]] = {}
    at = 0
    for i in range(0, len(lines), _PIECE):  # what was learned of one is used for the next
        data = "".join(f"{line}\n" for line in lines[i : i + _PIECE]).encode()
        points = parser.feed(Chunk(RUN, data, at)).points
        at += len(data)
        for name in points:
            found.setdefault(name, []).extend(map(repr, points.column(name).tolist()))
    return found, parser


def stencils(parser: Parser) -> int:
    """How many were cut."""
    replay: Any = parser._replay
    stage = replay._crew._spare
    return int((stage._stencils[:, :8].copy().view(np.int64) >= 0).sum())


def shaken(text: str, chance: random.Random) -> str:
    """Another number that is laid out alike, mostly."""
    digits = len(text.lower().partition("e")[0])  # and an exponent, which is the same
    shaken = (chance.choice("0123456789") if c.isdigit() else c for c in text[:digits])
    return "".join(shaken) + text[digits:]


@given(st.sampled_from(FORMS), st.lists(st.sampled_from(PLAIN), min_size=2, max_size=2),
       st.randoms(use_true_random=False))  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_lines_alike_are_read_alike(form: str, numbers: list[str], chance: Any) -> None:
    """Whatever their digits, to the last bit, and where one is laid out otherwise."""
    lines = [form.format(i, *numbers) for i in range(100, 120)]
    for i in range(120, 180):
        line = form.format(i, *(shaken(number, chance) for number in numbers))
        if chance.random() < 0.2:
            at = chance.randrange(len(line))
            line = line[:at] + chance.choice("0123456789.-+eE x|") + line[at + 1 :]
        lines.append(line)
    assert values(lines, replay=False)[0] == values(lines, replay=True)[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", PLAIN)
def test_a_stencil_is_cut_of_numbers_that_are_their_digits(form: str, number: str) -> None:
    """The path under test is taken, whatever stands between the numbers; one is enough."""
    chance = random.Random(number)
    lines = [form.format(i, shaken(number, chance), "0.125") for i in range(100, 200)]
    found, parser = values(lines, replay=True)
    assert (values(lines, replay=False)[0], 1) == (found, stencils(parser))


@pytest.mark.parametrize("number", ODD)
def test_numbers_that_are_more_than_their_digits_are_read_one_by_one(number: str) -> None:
    """Those that one division does not make, and those that are none."""
    lines = [FORMS[0].format(i, number, "0.125") for i in range(100, 200)]
    assert values(lines, replay=False)[0] == values(lines, replay=True)[0]


def test_widths_that_change_all_the_time_are_no_stencil_for_long() -> None:
    """A template whose lines fit none has none, but for a try now and then."""
    chance = random.Random(7)
    lines = [
        f"step {i} " + " ".join(f"m{k}={chance.randrange(10 ** chance.randrange(1, 9))}" for k in
                                range(6)) for i in range(1000, 1600)
    ]  # fmt: skip
    found, parser = values(lines, replay=True)
    assert values(lines, replay=False)[0] == found
    assert 0 < stencils(parser) <= 16


def test_the_oldest_stencils_make_way() -> None:
    """More forms than there is room for, one after the other and all again."""
    count = layout.STENCILS + 9
    names = ["".join(chr(97 + int(digit)) for digit in f"{k:03}") for k in range(count)]
    lines = [f"step {i} {name}_loss={9 / i:.4f}" for name in 2 * names for i in range(100, 120)]
    found, parser = values(lines, replay=True)
    assert (values(lines, replay=False)[0], layout.STENCILS) == (found, stencils(parser))


def test_long_lines_and_many_numbers_have_none() -> None:
    """Longer than a stencil is, and more than there is room for."""
    long = [f"step {i} loss={i}.5 {'x' * layout.Z_LONGEST}" for i in range(100, 160)]
    many = [f"step {i} " + " ".join(f"v{k}=1.5" for k in range(40)) for i in range(100, 160)]
    for lines in (long, many):
        found, parser = values(lines, replay=True)
        assert (values(lines, replay=False)[0], 0) == (found, stencils(parser))
