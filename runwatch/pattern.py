"""Regular expressions whose compiled form is kept from one process to the next.

`re` compiles in Python: those that a small log needs take it longer than all the rest of reading
that log. What it compiles to is handed to the engine as it is, by the engine's own function; where
Python has no such function, or another one, a pattern is compiled each time.
"""

import marshal
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, AnyStr

from runwatch import __version__
from runwatch.cache import folders, read, write

_MOST = 2_000  # patterns in one file; those that no process uses any more go with all others
_fresh: dict[Any, Any] = {}


def compiled(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives. For patterns of ours: what a user wrote is not kept."""
    key = pattern, int(flags)
    parts = _kept().get(key)
    if parts is not None:
        with suppress(
            AttributeError, TypeError, ValueError, LookupError, ArithmeticError, RuntimeError
        ):
            return _restored(pattern, parts)
    with suppress(ImportError, AttributeError, TypeError, RuntimeError):
        parts = _parts(pattern, int(flags))
        found = _restored(pattern, parts)
        _fresh[key] = parts
        return found
    return re.compile(pattern, flags)


def keep() -> None:
    """Leave what was compiled here for later processes."""
    if _fresh:
        known = {**_kept(), **_fresh}
        write(_name(), marshal.dumps(known if len(known) <= _MOST else _fresh), _folders())
        _kept().update(_fresh)
        _fresh.clear()


@cache
def _kept() -> dict[Any, Any]:
    content = read(_name(), _folders())
    with suppress(ValueError, EOFError, TypeError):
        known = marshal.loads(content) if content else {}  # noqa: S302 as Python's own code is kept
        return known if isinstance(known, dict) else {}
    return {}


def _name() -> str:
    """Another release of Python compiles to something else."""
    return f"patterns-{sys.implementation.cache_tag}-{sys.hexversion:x}-{__version__}.bin"


def _folders() -> Any:
    return folders(Path(__file__).parent)


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
