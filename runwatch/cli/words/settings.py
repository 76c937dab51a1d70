"""Files in which other programs keep their settings, and people their notes."""

from collections.abc import Mapping
from pathlib import Path

_MOST = 1 << 20  # characters: no such file is longer


def text_of(path: Path) -> str:
    """What stands in a file, "" where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_MOST)
    except OSError:
        return ""


def section_of(path: Path, name: str) -> Mapping[str, str]:
    """A section of a file of settings; empty where there is none, or the file is none."""
    from configparser import Error, RawConfigParser

    parser = RawConfigParser()
    try:
        parser.read_string(text_of(path))
    except Error:
        return {}
    return dict(parser[name]) if parser.has_section(name) else {}
