"""The cost of a byte does not depend on the line that it stands in.

Lines here are so long that what grows as the square of them, or faster, takes minutes: a test that
comes to its end has shown that nothing does.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.detect.signatures import catalog
from runwatch.parse import Parser
from runwatch.parse.grid import heading
from runwatch.parse.memo import Memo, shortened
from runwatch.redact import redact
from tests.parse.reading import points, said

LONG = 60_000  # characters
PIECES = (
    "a", "a.", "a1", "(a", "[a", "a b ", "_", "é", " ", "\t", ".", "-", "=", "|", "| ", "'a", '"a',
    "1,", ",111", "1:", "1-", "a_", "a-", "a: b, ", "a=b ", "nan ", "% ", "%|| 1/1 [", "[rank0] ",
    "{'a':", '{"a": [', "A.", "for in ", "(avg ", "-> ", "x=[", "1/2 [", "... ", "a, ", "0x",
)  # fmt: skip
FAULTS = (
    "mlx5_core",
    "NCCL WARN ",
    "Error.",
    "amdgpu: ring",
    "LustreError: ",
    "--token a",
    "password=",
    "https://a:",
)


def repeated(piece: str, length: int = LONG) -> str:
    return piece * (length // len(piece))


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_line_of_one_piece_is_read_as_fast_as_short_ones(piece: str) -> None:
    """Whatever a line repeats, it is read, and the next line is what it always is."""
    lines = repeated(piece) + " 1", "step 3: x=1 " + repeated(piece)
    text = "".join(f"{line}\nstep {n} loss=2.5\n" for n, line in enumerate(lines))
    assert [(2, 2.5), (4, 2.5)] == [
        (line, value) for line, metric, value in said(text) if metric == "loss"
    ]


def test_a_list_of_words_that_is_no_heading_is_known_at_once() -> None:
    """Names between commas with something else behind them: `adam, sgd, (both)`."""
    text = ", ".join(["word"] * 200)
    assert not heading([f"{text}, (and so on)"]).head
    assert 60 == len(heading([", ".join(["word"] * 60)]).head)


def test_a_number_is_named_by_what_stands_right_before_it() -> None:
    """However long the text before that is."""
    assert [(1, "loss", 2.5)] == said("x" * LONG + ", step: 3, loss: 2.5\n")
    assert [(1, "loss", 2.5)] == said("-" * LONG + " step: 3, loss: 2.5\n")


@pytest.mark.parametrize("piece", FAULTS)
def test_a_long_line_of_note_is_searched_as_fast_as_short_ones(piece: str) -> None:
    """Patterns of faults and secrets look at long lines too, and find what stands at their ends."""
    long = repeated(piece)
    assert redact(long)
    for line in (f"CUDA error: out of memory {long}", f"{long} CUDA error: out of memory"):
        found = catalog().match(line)
        assert found is not None
        assert "cuda_oom" == found[0].kind


@given(
    st.lists(st.sampled_from(PIECES), min_size=2, max_size=4).map("".join),
    st.integers(1, 3000),
    st.sampled_from(["", "step 3: x=2 ", "[rank1] ", "2024-05-01 12:00:01 INFO "]),
    st.sampled_from(["", " 1", "=1", "}", "!"]),
)
@settings(max_examples=60)
def test_repetitive_lines_are_the_same_on_both_paths(
    piece: str, length: int, begin: str, end: str
) -> None:
    """Lines that repeat any few pieces, again and again, are read alike with and without replay."""
    text = (begin + repeated(piece, length) + end + "\n") * 3 + "step 4 loss=2.5\n"
    data = text.encode()
    readable, compiled = Parser(replay=False), Parser(replay=True)
    assert points(data, parser=readable) == points(data, parser=compiled)


def test_what_is_remembered_of_long_texts_is_bounded() -> None:
    """Answers are forgotten where their texts take too much room; the latest is there."""
    memo = Memo[int]()
    for n in range(50):
        assert n == memo.keep(f"{n:1000000}", n)
    assert 10 > len(memo.answers)
    assert 49 == memo.answers[f"{49:1000000}"]
    assert 2000 > len(shortened("a" * LONG))
    assert shortened("a" * LONG) != shortened("a" * (LONG + 1))
    assert "a: \x01" == shortened("a: \x01")
