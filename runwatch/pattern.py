"""Regular expressions whose compiled form is kept from one process to the next.

`re` compiles in Python: those that a small log needs take it longer than all the rest of reading
that log. What it compiles to is handed to the engine as it is, by the engine's own function; where
Python has no such function, or another one, a pattern is compiled each time.
"""

import re
from contextlib import suppress
from typing import Any, AnyStr

from runwatch.kept import recall, remember


def compiled(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives. For patterns of ours: what a user wrote is not kept."""
    key = "pattern", pattern, int(flags)
    parts = recall(key)
    if parts is not None:
        with suppress(
            AttributeError, TypeError, ValueError, LookupError, ArithmeticError, RuntimeError
        ):
            return _restored(pattern, parts)
    with suppress(ImportError, AttributeError, TypeError, RuntimeError):
        parts = _parts(pattern, int(flags))
        found = _restored(pattern, parts)
        remember(key, parts)
        return found
    return re.compile(pattern, flags)


def _parts(pattern: Any, flags: int) -> Any:
    """The flags of a pattern, its groups, their names, and its code as `re` would compile it."""
    from array import array

    from re import _compiler, _parser  # type: ignore[attr-defined] # isort: skip

    parsed = _parser.parse(pattern, flags)
    code = array("I", _compiler._code(parsed, flags)).tobytes()
    state = parsed.state
    return flags | state.flags, state.groups - 1, dict(state.groupdict), code


def _restored(pattern: AnyStr, parts: Any) -> re.Pattern[AnyStr]:
    import _sre  # type: ignore[import-not-found]

    flags, groups, names, code = parts
    named = [None] * (groups + 1)
    for name, number in names.items():
        named[number] = name
    found: re.Pattern[AnyStr] = _sre.compile(
        pattern, flags, memoryview(code).cast("I").tolist(), groups, names, tuple(named)
    )
    return found
