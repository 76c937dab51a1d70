"""Objects printed into a line: JSON, Python dicts, and what people print that is nearly either.

`{"loss": NaN}`, `{'loss': tensor(0.5, device='cuda:0')}`, `{'lr': np.float64(1e-4), 'a': (1, 2)}`
are all read; a broken object gives nothing and the line is read as text.
"""

import re
from typing import Any

from runwatch.pattern import compiled

_WORD = compiled(r"[^\s{}\[\](),:'\"=]+")
_STRING = compiled(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.S)
_BARE_KEY = compiled(r"\s*[A-Za-z_][\w./-]{0,60}: +[-+]?(?:[\d.'\"\[{]|nan|inf)")  # "{loss: 0.4}"
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_CONSTANTS = {
    "None": None,
    "null": None,
    "True": True,
    "true": True,
    "False": False,
    "false": False,
}
_MAX_DEPTH = 24


class _BrokenError(Exception):
    """The text is no object after all."""


def first_object(text: str) -> tuple[str, Any, str] | None:
    """The text before the first object of a line, the object, and the text behind it."""
    at = _start(text)
    if at < 0:
        return None
    if text.endswith("}"):
        import orjson  # where there are objects at all

        try:
            return text[:at], orjson.loads(text[at:]), ""
        except orjson.JSONDecodeError:
            pass  # NaN, single quotes, or no JSON at all: read it ourselves
    try:
        value, end = _Reader(text).value(at, 0)
    except (_BrokenError, IndexError):
        return None
    return text[:at], value, text[end:]


def _start(text: str) -> int:
    at = text.find("{")
    while at >= 0:
        inner = text[at + 1 : at + 16].lstrip()
        if inner[:1] in ("'", '"') or _BARE_KEY.match(text, at + 1):
            return at
        at = text.find("{", at + 1)
    return -1


class _Reader:
    """Reads one value after another; a position is an index into the text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """The value that starts at a position, and the position behind it."""
        at = self._skip(at)
        mark = self._text[at]
        if depth > _MAX_DEPTH:
            raise _BrokenError
        if mark == "{":
            return self._mapping(at + 1, depth + 1)
        if mark in "[(":
            return self._sequence(at + 1, _CLOSING[mark], depth + 1)
        if m := _STRING.match(self._text, at):
            return m.group()[1:-1], m.end()
        m = _WORD.match(self._text, at)
        if m is None:
            raise _BrokenError
        word, end = m.group(), m.end()
        if self._text[end : end + 1] == "(":  # tensor(0.5, …), np.float64(0.5): the first argument
            arguments, end = self._sequence(end + 1, ")", depth + 1)
            return (arguments[0] if arguments else None), end
        return self._constant(word), end

    def _mapping(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while True:
            at = self._skip(at)
            if self._text[at] == "}":
                return found, at + 1
            key, at = self.value(at, depth)
            at = self._skip(at)
            if self._text[at] != ":":
                raise _BrokenError
            found[str(key)], at = self.value(at + 1, depth)
            at = self._comma(at, "}")

    def _sequence(self, at: int, closing: str, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        while True:
            at = self._skip(at)
            if self._text[at] == closing:
                return found, at + 1
            item, at = self.value(at, depth)
            at = self._skip(at)
            if self._text[at] == "=":  # a keyword argument: device='cuda:0'
                _, at = self.value(at + 1, depth)
            else:
                found.append(item)
            at = self._comma(at, closing)

    def _comma(self, at: int, closing: str) -> int:
        at = self._skip(at)
        if self._text[at] == ",":
            return at + 1
        if self._text[at] != closing:
            raise _BrokenError
        return at

    def _skip(self, at: int) -> int:
        while self._text[at] in " \t\n":
            at += 1
        return at

    @staticmethod
    def _constant(word: str) -> Any:
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        try:
            return float(word) if "." in word or not word.lstrip("-").isdigit() else int(word)
        except ValueError:
            return word
