"""What is known and ships as data: tables beside the modules that apply them, read by one way."""

import os
from typing import Any

import tomli

_PACKAGE = os.path.dirname(__file__)


def text(path: str) -> str:
    """A file of the package by its path in it: `store/schema.sql`."""
    with open(os.path.join(_PACKAGE, path), encoding="utf-8") as file:
        return file.read()


def table(path: str) -> dict[str, Any]:
    """A TOML file of the package by its path in it, each time anew: `detect/checkpoint.toml`."""
    return tomli.loads(text(path))


def names(folder: str, ending: str) -> list[str]:
    """The files of a folder of the package that end so, in order."""
    return sorted(n for n in os.listdir(os.path.join(_PACKAGE, folder)) if n.endswith(ending))
