"""Tell a log from the rest of what lies in a run's folder: by content, and by name in folders.

What is known of other files (endings, names, magic bytes) is data, in `not_logs.toml`.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache, lru_cache
from os.path import basename, splitext
from typing import Any

from runwatch import shipped
from runwatch.errors import InputError
from runwatch.ingest.ranks import bare
from runwatch.pattern import compiled

SAMPLE = 1 << 14

# Bell, backspace, escape and form feed are what terminals and progress bars print.
CONTROLS = bytes({*range(1, 32), 127} - set(b"\a\b\t\n\v\f\r\x1b"))
NUL_RUN = compiled(rb"\0+")
_MARKED = compiled(rb"[:\w]{2,16} \{\"")  # `DLLL {"...` and the like: an object behind a mark


@cache
def known() -> dict[str, Any]:
    """`not_logs.toml`, its magic patterns compiled on bytes."""
    table = shipped.table("ingest/not_logs.toml")
    for row in table["magic"]:
        row["bytes"] = compiled(row["pattern"].encode("latin-1"), re.DOTALL)
    return table


def sample_of(pieces: Iterable[bytes]) -> bytes:
    """The first SAMPLE bytes that are worth a look, fewer where the data breaks behind them.

    A leading run of NULs, as copytruncate leaves it, is read over in bounded memory.
    """
    sample = b""
    try:
        for piece in pieces:
            sample += piece if sample else piece.lstrip(b"\0")
            if len(sample) >= SAMPLE:
                break
    except InputError:
        if not sample:
            raise
    return sample[:SAMPLE]


def looks_binary(sample: bytes) -> str:
    """What the bytes are if they are no text, else "". Text in any one-byte code is text."""
    words = sample.translate(None, b"\0")
    controls = len(words) - len(words.translate(None, CONTROLS))
    runs = len(NUL_RUN.findall(sample)) if len(words) < len(sample) else 0
    if not controls and not runs:
        return ""
    for row in known()["magic"]:
        if row["bytes"].match(sample):
            return str(row["name"])
    # A text torn by concurrent writers has a few of either, numbers and pixels are full of them.
    full = (controls > 4 and controls * 32 > len(words)) or (runs > 4 and runs * 64 > len(words))
    return "binary data" if full else ""


def is_one_document(name: str, sample: bytes) -> bool:
    """Whether a .json file is settings or the like, rather than a log with an object a line."""
    if not name.lower().endswith(".json") or not sample:
        return False
    first, newline, _ = sample.lstrip().partition(b"\n")
    whole = newline or len(sample) < SAMPLE
    a_line = first[:1] == b"{" or _MARKED.match(first)
    return not (whole and a_line and first.rstrip()[-1:] == b"}")


@lru_cache(maxsize=1 << 14)  # a watched folder is looked through again and again
def passed_over(path: str, wanted: str = "") -> str:
    """Why a file of a folder is no log by its name, else "". `wanted` is an ending asked for."""
    path = bare(path).lower()
    name = basename(path)
    ending = splitext(name)[1]
    table = known()
    if (ending and ending == wanted) or _any(path, table["kept"]["names"]):
        return ""
    if name.startswith("."):
        return "hidden"
    by_ending: dict[str, list[str]] = table["endings"]
    for reason, endings in by_ending.items():
        if ending in endings:
            return reason
    by_name: dict[str, list[str]] = table["names"]
    return next((reason for reason, names in by_name.items() if _any(path, names)), "")


def closed_folder(name: str) -> str:
    """Why a folder within a run's folder holds no logs, else ""."""
    if name in known()["folders"]["names"]:
        return "no folder of logs"
    return "hidden folder" if name.startswith(".") else ""


def _any(path: str, patterns: Iterable[str]) -> bool:
    """Patterns with a slash are held against the whole path, others against its last part."""
    name = basename(path)
    return any(fnmatch(path if "/" in pattern else name, pattern) for pattern in patterns)
