"""What the files of a run are beside its logs: tables and records of the same numbers.

The logs come first, as people read them and as they tell of failures; what else keeps the run's
numbers follows, and is there for what no log says.
"""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from os.path import basename

from runwatch.ingest.file import format_at
from runwatch.ingest.records import STATE
from runwatch.ingest.sniff import known
from runwatch.pattern import compiled

READING = ("", STATE, "table", "tensorboard", "wandb_file", "wandb", "mlflow", "vertex")
"""The kinds of streams in the order in which they are read."""

_OF_CHECKPOINT = compiled(r"(.*?)(?:checkpoint-(\d+)/)?([^/]*)", re.DOTALL)


def kind_of(path: str) -> str:
    """The kind of a file by its content, of a table by its name; "" for a log."""
    try:
        found = format_at(path)
    except OSError:
        return ""
    return found or kind_by_name(path)


def kind_by_name(path: str) -> str:
    """ "table" for what is named like one, else ""."""
    name = basename(path).lower()
    return "table" if any(fnmatch(name, p) for p in known()["kept"]["tables"]) else ""


def lasting(name: str) -> str:
    """The name of a state without its checkpoint: what each checkpoint of the run goes on."""
    found = _OF_CHECKPOINT.fullmatch(name)
    return found[1] + found[3] if found else name


def outdated(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """States of one run that a later checkpoint's goes beyond, each with that one.

    Each checkpoint has the whole history up to it; the file beside them was written last.
    """
    newest: dict[str, str] = {}
    for name in sorted(names, key=_age):
        run = lasting(name)
        if run in newest:
            yield newest[run], name
        newest[run] = name


def _age(name: str) -> float:
    found = _OF_CHECKPOINT.fullmatch(name)
    return float(found[2]) if found and found[2] else float("inf")
