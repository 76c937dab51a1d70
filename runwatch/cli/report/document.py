"""One JSON document, as strict JSON.

JSON has no NaN and no infinity, yet they are what one looks for in a training log, so they are
written as the strings "NaN", "Infinity" and "-Infinity", which `float()` in Python, `Number()`
in JavaScript and a cast in SQL all read back.

JSON may hold control characters beyond ASCII and marks that turn the direction of text around as
they are. A terminal obeys them, so they are written as escapes, which say the same.
"""

import math
import re
from functools import cache
from typing import Any

from runwatch.pattern import compiled


def document(value: Any, *, indent: bool = True) -> bytes:
    """The value as JSON with a line end; what JSON does not know becomes text."""
    import orjson

    option = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if indent else 0)
    dumped = orjson.dumps(_strict(value), default=_other, option=option | orjson.OPT_UTC_Z)
    return inert(dumped)


def inert(dumped: bytes) -> bytes:
    """The same JSON (in UTF-8), with an escape for each character that a terminal may obey."""
    if dumped.isascii() and b"\x7f" not in dumped:
        return dumped
    return _obeyed().sub(lambda found: b"\\u%04x" % ord(found[0].decode()), dumped)


@cache
def _obeyed() -> re.Pattern[bytes]:
    # DEL and C1; the Arabic letter mark; the marks, separators and overrides of U+200E to U+202E;
    # the isolates of U+2066 to U+2069. Their bytes stand in no other character.
    return compiled(
        rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
    )


def number(value: float | None) -> float | str | None:
    """A number as it goes into JSON."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _strict(value: Any) -> Any:
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return {str(key): _strict(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(inner) for inner in value]
    return value


def _other(value: Any) -> Any:
    """What SQL answers beyond JSON's own types."""
    from decimal import Decimal

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
