"""What surrounds a command: where the history is kept, and whether colour is welcome.

`--db FILE` wins over `RUNWATCH_HOME` (a folder), which wins over the user's data folder.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from runwatch.home import default_path

if TYPE_CHECKING:
    from runwatch.store import Store


def history(db: str | None) -> Path:
    """The file of the history; it need not exist."""
    return Path(db) if db else default_path(os.environ)


def store_at(db: str | None) -> "Store":
    """The history; nothing is opened yet."""
    from runwatch.store import Store

    return Store(history(db))


def colourful(stream: TextIO) -> bool:
    """Colour only on a terminal, and never with NO_COLOR (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width(default: int = 80) -> int:
    """Columns to write for: the terminal's, at most 100, else 80."""
    from shutil import get_terminal_size

    return max(60, min(100, get_terminal_size((default, 24)).columns))


def variables(file: str | None) -> Mapping[str, str]:
    """The environment, with the NAME=VALUE lines of a file in front of it. Raises InputError."""
    if file is None:
        return os.environ
    from runwatch.errors import InputError

    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise InputError(f"{file}: {why}", hint="a file of NAME=VALUE lines") from error
    found = {}
    for line in lines:
        name, sign, value = line.removeprefix("export ").partition("=")
        if sign and not line.startswith("#"):
            found[name.strip()] = value.strip().strip("\"'")
    return {**os.environ, **found}
