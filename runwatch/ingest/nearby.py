"""What a person may have meant by a path that is not there."""

import os
from difflib import get_close_matches

from runwatch.errors import InputError, in_words


def missing(path: str) -> InputError:
    """The error for a path that does not exist, hinting at the nearest one that does."""
    shown = os.fsencode(path).decode("utf-8", "replace")
    return InputError(f"{shown}: no such file or folder", hint=_hint(path))


def _hint(path: str) -> str:
    if os.path.islink(path):
        return f"it is a link to {os.readlink(path)}, which is not there"
    folder, name = _first_gap(path)
    try:
        there = sorted(os.listdir(folder or "."))
    except OSError as error:
        return f"{folder or '.'}: {in_words(error)}"
    close = get_close_matches(name, there, n=1, cutoff=0.6)
    if close:
        return f"did you mean {os.path.join(folder, close[0])}?"
    if not there:
        return f"the folder {folder or '.'} is empty"
    some = ", ".join(there[:5]) + (", …" if len(there) > 5 else "")
    return f"{folder or 'the current folder'} holds {some}"


def _first_gap(path: str) -> tuple[str, str]:
    """The deepest folder of a path that exists, and the name that is missing in it."""
    folder, name = os.path.split(path.rstrip("/"))
    while folder and not os.path.isdir(folder):
        folder, name = os.path.split(folder.rstrip("/"))
    return folder, name
