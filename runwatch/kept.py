"""What one process worked out and the next need not work out again: small values, all in one file.

A value is anything that `marshal` writes. Whoever keeps one puts all that it depends on into its
key, except this release of runwatch and of Python: another one works everything out again.
"""

import marshal
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from runwatch import __version__
from runwatch.cache import folders, read, write

_MOST = 2_000  # values in the file; those that no process uses any more go with all others
_fresh: dict[Any, Any] = {}


def recall(key: tuple[Any, ...]) -> Any:
    """What was kept under the key; None where nothing was."""
    return _kept().get(key)


def remember(key: tuple[Any, ...], value: Any) -> None:
    """Keep it for later processes, once `save` is called."""
    _fresh[key] = value


def save() -> None:
    """Leave what is new here for later processes."""
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
    return f"kept-{sys.implementation.cache_tag}-{sys.hexversion:x}-{__version__}.bin"


def _folders() -> Iterator[Path]:
    return folders(Path(__file__).parent)
