"""Texts are found as if each were sought alone."""

from hypothesis import given
from hypothesis import strategies as st

from runwatch.fragments import Fragments

PIECE = st.text("ab ", max_size=6)


@given(st.lists(PIECE.filter(bool), max_size=8), PIECE, st.lists(PIECE, max_size=6))
def test_a_line_holds_the_texts_that_stand_in_it(
    texts: list[str], before: str, pieces: list[str]
) -> None:
    line = before.join(pieces)
    expected = {text for text in texts if text in line}
    assert Fragments(texts).found(line) == expected
    assert Fragments(texts).within(line) == bool(expected)
