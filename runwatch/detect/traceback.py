"""Reads tracebacks out of a stream in which many ranks write at once.

A writer is a rank, or the whole stream where lines name none. Of a chain ("During handling of…",
"direct cause of…") the first exception is where it began, unless only a later one says what it is
about. Cited are the line of the exception and the last frame in the user's own code.
"""

import re
from dataclasses import asdict, field, replace
from functools import lru_cache
from typing import Any

from runwatch.detect.hit import KEPT_CHARACTERS
from runwatch.detect.note import Note
from runwatch.detect.signatures import context_table, masked
from runwatch.pattern import compiled
from runwatch.slotted import frozen, mutable

_HEADER = "Traceback (most recent call last)"
_ESCAPED = "\\n"  # the line ends of a traceback that is one line, as JSON writes it
_FRAME = compiled(
    r'(?:File "|(?P<boxed>│ )(?=\S+\.py:))(?P<file>[^"\n:]+|[^"\n]+?)'
    r'(?:", line |:)(?P<line>\d+)(?:,? in (?P<name>\S+))?'
)
# The stacks that a fault handler dumps are no traceback: no exception follows.
_DUMPED = compiled(r'File "[^"\n]+", line \d+ in ')
_CHAINED = compiled(
    r"During handling of the above exception|direct cause of the following exception"
)
_TYPE = compiled(
    r"^\W{0,4}(?P<type>(?:[A-Za-z_]\w*\.)*_?[A-Z]\w*)(?:\(\w+\))?(?::(?: (?P<message>.*))?|)$"
)
_NAMED = compiled(
    r"(Error|Exception|Interrupt|Exit|Failure|Failed|Fault|Timeout|Expired|NotFound|Iteration"
    r"|Killed|Empty|Full)$"
)
# Modules in which libraries keep their exceptions, whatever these are called.
_RAISED = compiled(r"(?:^|\.)_?(?:exc|exceptions?|errors?|errorfactory)\.")
_PREFIX = compiled(
    r"^(?:\s*(?:\[?(?:rank|default)\s?\d+\]?:|\d+: |\[\d+,\d+\]<std(?:err|out)>:"
    r"|\([\w.]+,?(?: rank=\d+,)? pid=\d+[^)]*\)|│)\s?)+"
)
_LIBRARY = compiled(
    r"site-packages|dist-packages|/lib/python\d|<frozen|<string>|[/\\]torch[/\\]|conda/|importlib"
)
# Program text, as tracebacks and listings show it: it quotes messages that nobody has said.
_CODE = compiled(
    r"\s*(?:raise |return |assert |print\(|logg(?:er|ing)\.|log\.|self\.|warnings\.warn|throw "
    r"|except |echo |elif |if .*:$|\+ )"
)
# Program text as a boxed traceback lists it, with its line number.
_LISTED = compiled(r"^\s*│\s+(?:❱\s+)?\d+\s+│")
_ANNOUNCED = 3  # lines of note between "Exception in thread" and its traceback
_OPEN_LINES = 400  # a traceback that has said nothing for so many lines of note is over
_KEPT_WRITERS = 4096
_LEAD = 120  # characters that a prefix may have
_RELAYED = " in DataLoader worker"  # "Caught OSError in DataLoader worker process 3."


@mutable
class Open:
    """One writer's traceback so far."""

    header: int
    raw: str
    at: int
    seen: int
    frames: int = 0
    user: str = ""
    frame: str = ""  # the line that `user` was read from, as it stands
    framed_at: int = -1
    contexts: list[str] = field(default_factory=list)
    thread: bool = False
    ignored: bool = False
    closed: bool = False
    chained: bool = False
    clock: int = 0
    segment: int = 0
    rank: int | None = None
    lead: str = ""  # what stands before its frames: a prefix that nothing else knows


@frozen
class Caught:
    """An exception that a traceback ended with, or that stands alone (no frames)."""

    type: str
    message: str
    contexts: tuple[str, ...]
    user: str
    framed: bool
    thread: bool
    chained: bool
    frame: str = ""
    ignored: bool = False  # the interpreter says that it goes on without it

    @property
    def relayed(self) -> bool:
        """Whether it stands for another one, whose traceback follows."""
        return _RELAYED in self.message

    @property
    def name(self) -> str:
        """The type without its module."""
        return self.type.rsplit(".", 1)[-1]


@mutable
class Reader:
    """The tracebacks of one stream."""

    writers: dict[int, Open] = field(default_factory=dict)
    rows: int = 0
    thread: int = -1000  # the row at which a thread's traceback was announced
    ignored: bool = False  # and whether it is of an exception that was ignored

    def announce(self, *, ignored: bool) -> None:
        """The next traceback is of a thread, or of an exception that was ignored."""
        self.thread, self.ignored = self.rows, ignored

    def is_source(self, note: Note, rank: int | None) -> bool:
        """Whether the line is program text, to be asked before `feed` takes it."""
        tb = self.writers.get(-1 if rank is None else rank)
        body = _body(note.text, tb)
        if _CODE.match(body) or _LISTED.match(note.text):
            return True
        framed = tb is not None and tb.framed_at == self.rows
        return framed and _PREFIX.sub("", note.raw).startswith("  ")

    def feed(self, note: Note, rank: int | None) -> Caught | None:
        """Take one line of note of this rank; the exception it names, if it names one."""
        self.rows += 1
        writer = -1 if rank is None else rank
        tb = self.writers.get(writer)
        body = _body(note.text, tb)
        if _HEADER in body:
            if _ESCAPED in body.partition(_HEADER)[2]:
                return _quoted(body)
            self._open(writer, tb, note)
            return None
        if tb and self.rows - tb.seen > _OPEN_LINES:
            tb = None
        if _DUMPED.search(body[:1000]):
            return None
        if frame := _FRAME.search(body[:1000]):
            tb = tb if tb and not tb.closed else self._open(writer, tb, note)
            tb.frames, tb.seen, tb.framed_at = tb.frames + 1, self.rows, self.rows
            tb.lead = tb.lead or _lead(body[: frame.start()])
            self._frame(tb, frame, note.raw)
            return None
        if tb and _CHAINED.search(body):
            tb.chained, tb.seen = True, self.rows
            return None
        caught = _exception(body.strip(), tb)
        if caught and not caught.framed and self.rows - self.thread <= 2:
            # An ignored one may come without its frames.
            caught = replace(caught, thread=True, ignored=self.ignored)
        if caught and tb:
            tb.closed, tb.seen, tb.chained = True, self.rows, False
        elif tb and not tb.closed:
            _note_context(tb, body)
        return caught

    def _open(self, writer: int, old: Open | None, note: Note) -> Open:
        chained = bool(old and old.chained and old.closed)
        new = Open(note.line, note.raw[:KEPT_CHARACTERS], note.at, self.rows, chained=chained)
        new.clock, new.segment = note.clock, note.segment
        new.rank = None if writer < 0 else writer
        announced = self.rows - self.thread <= _ANNOUNCED
        new.thread = announced or bool(chained and old and old.thread)
        new.ignored = self.ignored if announced else bool(chained and old and old.ignored)
        if old and not old.closed and not old.frames:
            new.header, new.raw = old.header, old.raw
        if len(self.writers) < _KEPT_WRITERS or writer in self.writers:
            self.writers[writer] = new
        return new

    def _frame(self, tb: Open, frame: re.Match[str], raw: str) -> None:
        file, name = frame["file"], frame["name"] or ""
        _note_context(tb, f"{file} in {name}\n")
        if not _LIBRARY.search(file):
            tb.frame = raw[:KEPT_CHARACTERS].strip()
            tb.user = _place_of(frame)

    def broken_off(self) -> list[Open]:
        """The tracebacks that have begun and not come to their exception."""
        late = self.rows - _OPEN_LINES
        return [tb for tb in self.writers.values() if not tb.closed and tb.seen >= late]

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        writers = [[key, asdict(tb)] for key, tb in self.writers.items()]
        plain = {"rows": self.rows, "thread": self.thread, "ignored": self.ignored}
        return {"writers": writers, **plain}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Reader":
        """What `state` gave, as it was."""
        writers = {key: Open(**tb) for key, tb in state["writers"]}
        return cls(writers, state["rows"], state["thread"], state["ignored"])


def _place_of(frame: re.Match[str]) -> str:
    """Where a frame is, in few words: `train.py:88 in main`."""
    file, name = frame["file"], frame["name"] or ""
    place = f"{file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{frame['line']}"
    return f"{place} in {name}" if name else place


def _exception(body: str, tb: Open | None) -> Caught | None:
    """The exception that a line names: at a traceback's end any, alone only a plain one."""
    found = _TYPE.match(body[:2000])
    if not found:
        return None
    name, message = found["type"], found["message"] or ""
    last = name.rsplit(".", 1)[-1]
    framed = tb is not None and not tb.closed
    plain = any(word in last for word in ("Error", "Exception", "Interrupt"))
    plain = plain or ("." in name and bool(_NAMED.search(last) or _RAISED.search(name)))
    if last.endswith("Warning"):
        return None
    if tb is not None and framed and (_NAMED.search(last) or ("." in name and ":" in body)):
        contexts = tuple(tb.contexts)
        if _RELAYED in message:
            contexts += ("data",)
        end = Caught(name, message, contexts, tb.user, True, tb.thread, tb.chained, tb.frame)
        return replace(end, ignored=True) if tb.ignored else end
    if framed or not plain or not (message or "." in name):
        return None
    return Caught(name, message, (), "", False, False, bool(tb and tb.chained))


def _lead(before: str) -> str:
    """What stands before a frame besides its indent, where it may stand before other lines, too."""
    lead = before.removesuffix("  ")
    return lead if lead.strip() and lead != before and len(lead) <= _LEAD else ""


def _body(text: str, tb: Open | None) -> str:
    """A line without its prefixes, also without the one that the frames of its traceback have."""
    body = _PREFIX.sub("", text)
    if tb is None or not tb.lead:
        return body
    before = body[: len(tb.lead)]
    return body[len(tb.lead) :] if masked(before) == masked(tb.lead) else body


def _quoted(body: str) -> Caught | None:
    """The first exception of a traceback that stands in one line, its line ends escaped."""
    tb = Open(0, "", 0, 0)
    for piece in body.partition(_HEADER)[2].split(_ESCAPED)[:_OPEN_LINES]:
        plain = piece.replace('\\"', '"')
        if frame := _FRAME.search(plain[:1000]):
            tb.frames += 1
            _note_context(tb, f"{frame['file']} in {frame['name'] or ''}\n")
            if not _LIBRARY.search(frame["file"]):
                tb.user = _place_of(frame)
        elif caught := _exception(plain.strip().strip('",}'), tb):
            return caught
    return None


@lru_cache(maxsize=1)
def _contexts() -> list[tuple[str, str]]:
    return [(f, row["name"]) for row in context_table()["context"] for f in row["fragments"]]


def _note_context(tb: Open, text: str) -> None:
    low = text[:500].lower()
    for fragment, name in _contexts():
        if fragment in low and name not in tb.contexts:
            tb.contexts.append(name)


def kind_of(caught: Caught) -> str:
    """What an exception's type means where it was raised; "" where that says nothing."""
    for row in context_table()["exception"]:
        if caught.name in row["types"] and row.get("context", "") in ("", *caught.contexts):
            return str(row["kind"])
    return ""


def kind_of_cut(contexts: list[str]) -> str:
    """What a traceback without its exception is probably about."""
    for row in context_table()["cut"]:
        if row["context"] in contexts:
            return str(row["kind"])
    return "python_exception"
