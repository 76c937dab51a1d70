"""What is known and ships as data: tables beside the modules that apply them, read by one way.

They are TOML, which takes longer to understand than a small log; what was understood is kept.
"""

import marshal
import os
from contextlib import suppress
from typing import Any

from runwatch.kept import recall, remember

_PACKAGE = os.path.dirname(__file__)


def text(path: str) -> str:
    """A file of the package by its path in it: `store/schema.sql`."""
    with open(os.path.join(_PACKAGE, path), encoding="utf-8") as file:
        return file.read()


def table(path: str) -> dict[str, Any]:
    """A TOML file of the package by its path in it, each time anew: `detect/checkpoint.toml`."""
    status = os.stat(os.path.join(_PACKAGE, path))
    key = "table", path, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    with suppress(ValueError, EOFError, TypeError):
        found = marshal.loads(recall(key) or b"")  # noqa: S302 our own, as `kept` reads it
        if isinstance(found, dict):
            return found
    import tomli

    found = tomli.loads(text(path))
    remember(key, marshal.dumps(found))
    return found


def names(folder: str, ending: str) -> list[str]:
    """The files of a folder of the package that end so, in order."""
    return sorted(n for n in os.listdir(os.path.join(_PACKAGE, folder)) if n.endswith(ending))
