"""Text of logs is data: it cannot reach the terminal's controls."""

import io

from hypothesis import given
from hypothesis import strategies as st

from runwatch.cli.report.text import clean, paint, shorten, wrap


@given(st.text())
def test_cleaned_text_has_no_control_left(text: str) -> None:
    """Whatever a log holds, what is printed moves no cursor and rings no bell."""
    assert all(ord(sign) >= 32 and not 0x7F <= ord(sign) <= 0x9F for sign in clean(text))


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_stays_as_it_is(text: str) -> None:
    """Cleaning changes nothing that is harmless."""
    assert text == clean(text)


def test_escape_sequences_go_as_a_whole() -> None:
    """Colours, titles, links and 8-bit sequences leave nothing behind."""
    text = "\x1b[38;2;180;60;0mred\x1b[0m \x1b]0;title\x07a\x1b]8;;x\x1b\\b \x9b1mc\x1b(Bd"
    assert clean(text) in ("red ab cd", "red ab cBd")


def test_line_ends_become_blanks() -> None:
    """A log line cannot forge a line of ours."""
    assert clean("a\r\nDecision: GO\tb\u2028c") == "a Decision: GO b c"


def test_no_colour_without_a_terminal() -> None:
    """A file gets plain text."""
    assert paint("x", "red bold", io.StringIO()) == "x"


@given(st.text(alphabet="ab -/", max_size=200), st.integers(30, 80))
def test_folded_text_fits(text: str, room: int) -> None:
    """No folded line is wider than the room."""
    assert all(len(line) <= room for line in wrap(text, room, "    ").split("\n"))


def test_what_is_cut_shows_it() -> None:
    """An ellipsis stands for what was left out."""
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"
