"""What was learned of lines in earlier runs: a log like one that was read before is read at full
speed from its first line.

No word of a log is kept, only digests and where its numbers go (`portable.py`). What is kept counts
for these very sources, for readers that look for the same in the same way.
"""

import marshal
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from runwatch import __version__
from runwatch.cache import folders, read, write
from runwatch.parse.knowledge import builtin
from runwatch.parse.portable import (
    Record,
    again,
    context_of,
    digest_of,
    parts_of,
    silent,
    suits,
    told,
    told_silent,
)
from runwatch.parse.probe import Probe
from runwatch.parse.trace import Context, Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from runwatch.parse.parts import Template
    from runwatch.parse.reader import Reader

_MAX_FORMS, _MAX_LINES = 1 << 12, 1 << 15
_MAX_OF_FORM = 24
_WORTH = 32  # new things for which the file is written anew
_PRIVATE = 0o600
_stores: dict[str, "Store"] = {}


class Store:
    """Templates by the forms of lines, and what came of silent lines by their digests; what was
    used last comes last, and what was not for longest goes where there is too much."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self.forms: dict[int, list[Record]] = kept.get("forms", {})
        self.lines: dict[bytes, Record] = kept.get("lines", {})
        self._fresh = 0

    def use_form(self, form: int, fresh: Record | None = None) -> None:
        """Take note that a form was met, and of what is new about it."""
        records = self.forms.pop(form, [])
        if fresh is not None and fresh not in records:  # else it could not be made again
            records, self._fresh = [*records[1 - _MAX_OF_FORM :], fresh], self._fresh + 1
        self.forms[form] = records
        if len(self.forms) > _MAX_FORMS:
            del self.forms[next(iter(self.forms))]

    def use_line(self, digest: bytes, record: Record) -> None:
        """Take note that a line was met, and of what came of it."""
        self._fresh += self.lines.pop(digest, None) is None
        self.lines[digest] = record
        if len(self.lines) > _MAX_LINES:
            del self.lines[next(iter(self.lines))]

    def save(self, name: str) -> None:
        """Leave all of it for later processes, if much is new."""
        if self._fresh >= _WORTH:
            with suppress(ValueError):  # what is no plain value is not kept
                said = marshal.dumps({"forms": self.forms, "lines": self.lines})
                write(name, said, _folders(), mode=_PRIVATE)
            self._fresh = 0


class Memory:
    """What one reader may take up of a store; each thing once, as its program has it then."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._forms, self._lines = dict(store.forms), dict(store.lines)

    def template(
        self, form: int, line: bytes, probe: Probe, before: Context | None = None
    ) -> "Template | None":
        """The template of a line of a form, in a context or in one of its own."""
        records = self._forms.get(form, ())
        for record in records:
            context = before or context_of(record)
            if context is None or not suits(record, context):
                continue
            if (found := parts_of(record, line)) is None:
                continue
            base = probe.look(line, context)
            template = None if base is None else again(record, found, context, base)
            if template is not None:
                self._forms[form] = [other for other in records if other is not record]
                self._store.use_form(form)
                return template
        return None

    def learned(self, form: int, template: "Template") -> None:
        """Keep a template that is new."""
        self._store.use_form(form, told(template))

    def outcome(self, line: bytes) -> tuple[Outcome, Context] | None:
        """What came of a silent line, and in which context."""
        digest = digest_of(line)
        record = self._lines.pop(digest, None)
        if record is None:
            return None
        self._store.use_line(digest, record)
        return silent(record)

    def saw(self, line: bytes, outcome: Outcome, before: Context) -> None:
        """Keep what came of a line, if it is silent."""
        if record := told_silent(outcome, before):
            self._store.use_line(digest_of(line), record)


def memory_of(host: "Reader", *, timed: bool) -> Memory | None:
    """What readers like this one learned; None for one with formats of a user's own."""
    if host.knowledge is not builtin() or not _SOURCES:
        return None
    name = _name(repr((_SOURCES, host.settings, timed)).encode())
    if name not in _stores:
        _stores[name] = Store(_kept(name))
    return Memory(_stores[name])


def save() -> None:
    """Leave what is new here for later processes."""
    for name, store in _stores.items():
        store.save(name)


def _kept(name: str) -> dict[str, Any]:
    with suppress(ValueError, EOFError, TypeError):
        known = marshal.loads(read(name, _folders()) or b"")  # noqa: S302 as Python's own code is
        if isinstance(known, dict):
            return known
    return {}


def _sources() -> list[tuple[str, int, int]]:
    """What tells the sources of the reader from others."""
    found = []
    with suppress(OSError):
        for folder in (_PACKAGE, f"{_PACKAGE}/parse", f"{_PACKAGE}/kernels"):
            for entry in os.scandir(folder):
                if entry.name.endswith((".py", ".toml")):
                    status = entry.stat()
                    found.append((entry.name, status.st_size, status.st_mtime_ns))
    return sorted(found)


_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_SOURCES = _sources()  # as this process runs them, whatever becomes of the files


def _name(settings: bytes) -> str:
    return f"forms-{sys.implementation.cache_tag}-{__version__}-{digest_of(settings).hex()}.bin"


def _folders() -> "Iterator[Path]":
    from pathlib import Path

    return folders(Path(__file__).parent)
