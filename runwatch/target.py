"""What a person names: a file, a folder, a quoted glob, or "-" for standard input."""

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from runwatch.errors import UsageError


class Kind(StrEnum):
    """Where the bytes of a target come from. Each value is the name of a module in `ingest`."""

    FILE = "file"
    FOLDER = "folder"
    GLOB = "glob"
    STANDARD_INPUT = "standard_input"


@dataclass(frozen=True, slots=True)
class Target:
    """One run, as named: `text` is what was typed, `path` the same with `~` expanded."""

    kind: Kind
    text: str
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Tell the kind of a target from its words and one look at the disk.

        A file that exists wins over a glob, so `run[1].log` can be named as it is. What does not
        exist is a file: opening it tells what is there instead. Raises UsageError for words that
        can name nothing.
        """
        if not text:
            raise UsageError("an empty target names nothing", hint='use "-" for standard input')
        if "\0" in text:
            raise UsageError(f"no path holds a NUL byte: {text!r}")
        if text == "-":
            return cls(Kind.STANDARD_INPUT, text)
        path = os.path.expanduser(text)
        return cls(_kind_of(path), text, path)

    def __str__(self) -> str:
        return self.text


def _kind_of(path: str) -> Kind:
    if os.path.isdir(path):
        return Kind.FOLDER
    if any(sign in path for sign in "*?[") and not os.path.lexists(path):
        return Kind.GLOB
    return Kind.FILE
