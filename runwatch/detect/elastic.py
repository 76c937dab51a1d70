"""Reads the failure tables of torchelastic and says which process of a run failed first.

An agent prints, for its own node, the time, rank and exit code of every process that failed, and
calls the earliest the root cause. Where a process wrote an error file the time is that of its
exception; otherwise it is when the agent noticed, to the second, and equal times are in the order
of local ranks, which means nothing. Tables of several nodes are merged: earliest first, and in
the same second the death that is least likely an echo.
"""

import re
from dataclasses import asdict, field
from typing import Any

from runwatch.detect.exits import belief
from runwatch.detect.hit import KEPT_CHARACTERS
from runwatch.detect.note import Note
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_FIELD = compiled(
    r"(?:\[?(?:rank|default) ?\d+\]?:\s*)*(time|host|rank|exitcode|error_file|traceback)\s*: ?(.*)$"
)
_RANK = compiled(r"(-?\d{1,6})(?: \(local_rank: (-?\d+)\))?")
_CODE = compiled(r"(-?\d{1,6})(?: \(pid: (\d+)\))?")
_KEPT = 512
_FRAMED_LINES = 200  # how long a traceback inside a table may be


@mutable
class Entry:
    """One failed process. `line` is where its exit code stands, or its rank where that is cut."""

    stream: str
    line: int
    time: str
    root: bool
    host: str = ""
    rank: int | None = None
    code: str = ""
    pid: str = ""
    text: str = ""
    at: int = 0
    clock: int = 0
    segment: int = 0
    framed: bool = False  # its traceback follows
    stamped: bool = False  # the time is that of an exception, not of the agent's look


@mutable
class Tables:
    """The tables of one stream, filled line by line."""

    stream: str
    entries: list[Entry] = field(default_factory=list)
    rooted: bool = False

    def feed(self, note: Note) -> bool:
        """Take one line; True where it belongs to a table."""
        if "Root Cause (first observed failure)" in note.text:
            self.rooted = True
            return True
        if note.text.strip() == "Failures:":
            self.rooted = False
            return True
        found = _FIELD.match(note.text.lstrip(" \t│|"))
        if not found:
            return False
        new = Entry(self.stream, note.line, "", self.rooted, text=note.raw[:KEPT_CHARACTERS])
        new.at, new.clock, new.segment = note.at, note.clock, note.segment
        return self._field(found[1], found[2].strip(), new)

    def _field(self, name: str, value: str, new: Entry) -> bool:
        if name == "time":
            if not re.match(r"\d{4}-\d\d-\d\d", value):
                return False
            new.time = value
            if len(self.entries) < _KEPT:
                self.entries.append(new)
            return True
        if not self.entries:
            return False
        entry = self.entries[-1]
        if name == "host":
            entry.host = value
        elif name == "rank" and (found := _RANK.match(value)):
            entry.rank = int(found[1])
            entry.line, entry.text = new.line, new.text
        elif name == "exitcode" and (found := _CODE.match(value)):
            entry.code, entry.pid = found[1], found[2] or ""
            entry.line, entry.text = new.line, new.text
        elif name == "error_file":
            entry.stamped = bool(value) and value != "<N/A>"
        elif name == "traceback":
            entry.framed = "Traceback (most" in value
        return True

    def rank_inside(self, line: int) -> int | None:
        """The rank of the entry whose traceback this line may be part of."""
        last = self.entries[-1] if self.entries else None
        return last.rank if last and last.framed and line - last.line <= _FRAMED_LINES else None

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        return asdict(self)

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Tables":
        """What `state` gave, as it was."""
        return cls(state["stream"], [Entry(**one) for one in state["entries"]], state["rooted"])


def first_failed(entries: list[Entry]) -> tuple[Entry, list[Entry]] | None:
    """The entry that failed first, over all tables, and those that may as well have been it."""
    if not entries:
        return None
    roots = [entry for entry in entries if entry.root] or entries
    earliest = min(entry.time for entry in roots)
    same = [entry for entry in entries if entry.time <= earliest]
    same = same or [min(entries, key=lambda entry: entry.time)]
    best = min(belief(entry.code) for entry in same)
    leading = [entry for entry in same if belief(entry.code) == best]
    first = next((entry for entry in leading if entry.root), leading[0])
    others = [e for e in leading if e is not first and (e.host, e.rank) != (first.host, first.rank)]
    return first, others
