"""Text of logs as data: nothing in it may move the cursor, ring a bell or change a colour."""

import re
from functools import cache
from typing import TextIO

from runwatch.cli.words.environment import colourful
from runwatch.pattern import compiled

CODES = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36, "bold": 1, "dim": 2}


def clean(text: str) -> str:
    """Without escape sequences and control characters; tabs and line ends become spaces."""
    return _controls().sub("", _spaces().sub(" ", _escapes().sub("", text)))


def paint(text: str, colour: str, stream: TextIO) -> str:
    """In colour where the stream is a terminal that wants it; the width must be set before."""
    if not colour or not text or not colourful(stream):
        return text
    return "".join(f"\x1b[{CODES[part]}m" for part in colour.split()) + f"{text}\x1b[0m"


def shorten(text: str, room: int) -> str:
    """At most `room` characters; what was cut is an ellipsis."""
    return text if len(text) <= room else text[: max(0, room - 1)] + "…"


def wrap(text: str, room: int, indent: str) -> str:
    """Folded at blanks to `room` columns, the lines after the first indented."""
    import textwrap

    lines = textwrap.wrap(text, max(20, room - len(indent)), break_on_hyphens=False)
    return f"\n{indent}".join(lines or [""])


@cache
def _escapes() -> re.Pattern[str]:
    # CSI, then OSC/DCS/PM/APC up to their end, then any other two-byte escape.
    return compiled(
        "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[ -~]?"
    )


@cache
def _spaces() -> re.Pattern[str]:
    return compiled("[\t\r\n\x0b\x0c\x85\u2028\u2029]+")


@cache
def _controls() -> re.Pattern[str]:
    # C0, DEL, C1, and the marks that turn the direction of text around.
    return compiled("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
