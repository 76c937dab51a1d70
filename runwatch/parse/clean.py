"""A line as its writer meant it: colours, cursor moves, backspaces and NULs taken out.

A cursor move or a run of backspaces starts a redraw just as a carriage return does, so one line
may be several texts.
"""

from runwatch.pattern import compiled

# ECMA-48: control sequences, operating-system commands, two-character escapes.
_MOVE = compiled(r"\x1b\[[0-9;]*[ABCDEFGHJSTf]|\x08+")
_ESCAPE = compiled(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|[@-Z\\-_=>]|$)")
_CONTROL = compiled(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

# A tab, a line's end and an escape as syslog and SageMaker write them down; no colour `#012345`.
_WRITTEN = compiled(r"#(011|012|015|033)(?![0-9a-fA-F]{3}\b)")
_MEANT = {"011": "\t", "012": "\r", "015": "\r", "033": "\x1b"}

MAX_TEXT = 1 << 20  # characters of one text that are looked at


def texts(line: str) -> list[str]:
    """The redraws of a line in order, without the empty ones."""
    if "#0" in line:
        line = _WRITTEN.sub(lambda m: _MEANT[m.group(1)], line)
    if "\x1b" in line or "\x08" in line:
        line = _ESCAPE.sub("", _MOVE.sub("\r", line))
    if not line.isprintable():
        line = _CONTROL.sub("", line)
    if "\r" not in line:
        return [line] if line else []
    return [text for text in line.split("\r") if text and not text.isspace()]


def plain(line: str) -> str:
    """The line for display: the last redraw, without colours."""
    drawn = texts(line)
    return drawn[-1].rstrip() if drawn else ""
