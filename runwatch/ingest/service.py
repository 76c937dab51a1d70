"""Runs that a tracking service keeps: asked for what is new, told as lines of JSON.

Each service is a module whose `Service` speaks with the real client library. What it gives is a
stream or several; the identity of a chunk says what was seen up to its end, so that the next reader
asks for the rest only, whatever the length of the history.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any, Protocol

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.cloud import CloudJob
from runwatch.errors import RunwatchError, UnreachableError, UsageError
from runwatch.ingest.source import Skipped
from runwatch.judgement import Ending, TerminalState
from runwatch.redact import redact
from runwatch.slotted import frozen, mutable
from runwatch.target import VERTEX, Target

Seen = Mapping[str, Any]
"""What was given before, as plain JSON values that the service understands."""


@frozen
class Tracked:
    """A run as its service describes it. `state` is the service's own word.

    `ending` is set once the service says that the run is over. `cloud` is the job that a platform
    runs, with its tasks.
    """

    title: str
    state: str
    ending: Ending | None = None
    name: str = ""
    url: str = ""
    cloud: CloudJob | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.ending is not None

    @property
    def said(self) -> Ending | None:
        """How the run ended; that it goes on, too, where the platform that runs it says so."""
        if self.ending is None and self.cloud is not None and not self.cloud.over:
            return Ending(TerminalState.RUNNING, f"{self.title} is {self.state}", settled=True)
        return self.ending

    @property
    def exit_code(self) -> int | None:
        """0 for a run that finished; a service knows no others."""
        done = self.ending is not None and self.ending.state is TerminalState.SUCCEEDED
        return 0 if done else None


HISTORY = "history"
"""The one stream of a service that keeps one."""


@frozen
class Page:
    """Some lines of one stream, and what of it is seen behind them. `kind` is that of the stream,
    None for the service's own; `rank` is the rank that wrote it, where that is known."""

    text: bytes
    seen: Seen
    stream: str = HISTORY
    kind: str | None = None
    rank: int | None = None


class Service(Protocol):
    """One run at a service. Every call may wait for the network.

    Each raises UnreachableError where there is no answer or none without logging in again,
    InputError where the service knows no such run, UsageError where the client library is missing.
    `title` may be another once it has looked: what a name stood for. What a service need not have
    to say stands here: its `first` stream; `behind`, why not all that was logged could be asked
    for; `skipped`, what of it is not read at all; `notes`, words for people, which only grow.
    """

    title: str
    first: str = HISTORY
    behind: str = ""
    skipped: Sequence[Skipped] = ()
    notes: Sequence[str] = ()

    def look(self) -> Tracked:
        """The run as it is now."""

    def pages(self, seen: Mapping[str, Seen]) -> Iterator[Page]:
        """The lines behind what was seen of each stream, some at a time."""

    def fresh(self) -> bool:
        """Whether it knows of something new without being asked."""
        return False

    def close(self) -> None:
        """Let go of what it holds open."""
        return


def service_of(target: Target) -> Service:
    """The service of a target: `Service` of the module named after its kind."""
    made: Service = import_module(f"runwatch.ingest.{kind_of(target)}_service").Service(target)
    return made


def open_target(target: Target) -> "Tracker":
    """A run at rest: what the service has now."""
    return Tracker(service_of(target), kind_of(target))


def kind_of(target: Target) -> str:
    """The kind of the streams that a service's own words are."""
    return "vertex" if target.kind in VERTEX else str(target.kind)


def ending_of(states: Mapping[str, TerminalState], state: str, who: str) -> Ending | None:
    """How a run ended by its service's word, None while it goes on."""
    found = states.get(state.lower())
    return None if found is None else Ending(found, f"{who} says {state.lower()}")


@mutable
class _Place:
    """Where a reader is in one stream."""

    stream: Stream
    offset: int = 0
    seen: dict[str, Any] = field(default_factory=dict)


class Places:
    """Where a reader is in the streams of a run; `title` is what the run was called then."""

    def __init__(self, service: Service, kind: str, cursors: Mapping[str, Cursor]) -> None:
        self.title, self._kind = service.title, kind
        self._places: dict[str, _Place] = {}
        first = self._place(Page(b"", {}, service.first)).stream.name
        self._places |= self._resumed(cursors)
        self._last = self._places[first]

    def _resumed(self, cursors: Mapping[str, Cursor]) -> dict[str, _Place]:
        """Those of cursors that stand where a chunk ended; where one stands anywhere else, all
        start over: what was seen of one says what was seen of the run."""
        found: dict[str, _Place] = {}
        for name, cursor in cursors.items():
            told = _told(cursor)
            if told.get("run") != self.title:
                continue
            if told.get("at") != cursor.offset or not isinstance(told.get("seen"), dict):
                return {}
            stream = Stream(name, told.get("rank"), str(told.get("kind", self._kind)))
            found[name] = _Place(stream, cursor.offset, told["seen"])
        return found

    @property
    def seen(self) -> dict[str, Seen]:
        """What was seen of each stream."""
        return {name: place.seen for name, place in self._places.items() if place.seen}

    @property
    def streams(self) -> list[Stream]:
        """Those known now."""
        return [place.stream for place in self._places.values()]

    def after(self, page: Page) -> Chunk:
        """The chunk of some lines."""
        self._last = place = self._place(page)
        begin, place.offset, place.seen = place.offset, place.offset + len(page.text), {**page.seen}
        return Chunk(place.stream, page.text, begin, self._identity(place), 0, place.offset)

    def nothing(self) -> Chunk:
        """Says that time has passed."""
        last = self._last
        return Chunk(last.stream, b"", last.offset, self._identity(last))

    def ends(self) -> Iterator[Chunk]:
        """Nothing more of any stream."""
        for one in self._places.values():
            at = one.offset
            yield Chunk(one.stream, b"", at, self._identity(one), at, at, last=True)

    def _place(self, page: Page) -> _Place:
        known = self._places.get(page.stream)
        if known is None:
            kind = self._kind if page.kind is None else page.kind
            known = self._places[page.stream] = _Place(Stream(page.stream, page.rank, kind))
        return known

    def _identity(self, place: _Place) -> str:
        """Says which run it is, and what was seen of it up to here."""
        told: dict[str, Any] = {"run": self.title, "at": place.offset, "seen": place.seen}
        if place.stream.kind != self._kind:
            told |= {"kind": place.stream.kind, "rank": place.stream.rank}
        return json.dumps(told)


def is_tracked(cursor: Cursor) -> bool:
    """Whether a cursor is of a run at a service, and not of a log beside it."""
    return "run" in _told(cursor)


def _told(cursor: Cursor) -> dict[str, Any]:
    try:
        told = json.loads(cursor.identity)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


_TRIES = 6  # questions to a service that says that it was asked too much
_WAIT = 10.0  # seconds between them


class Tracker:
    """A run at rest: see `Source`. `said` is how it ended, by the service's word."""

    def __init__(self, service: Service, kind: str, *, wait: float = _WAIT) -> None:
        self.skipped: list[Skipped] = []
        self.said: Ending | None = None
        self._service, self._kind, self._wait = service, kind, wait
        self._places = Places(service, kind, {})

    def streams(self) -> list[Stream]:
        """Those that are known; more may come."""
        return self._places.streams

    def chunks(self, cursors: Mapping[str, Cursor]) -> Iterator[Chunk]:
        """All that the service has behind the cursors.

        Raises UnreachableError where it does not answer, in the middle, too: what a run says is
        not known then.
        """
        self.said = self._service.look().said  # which tells what a run is called, too
        self._places = places = Places(self._service, self._kind, cursors)
        for left in reversed(range(_TRIES)):
            for page in self._service.pages(places.seen):
                yield places.after(page)
            if not self._service.behind:
                break
            if not left:
                words = f"{self._service.behind}; state unknown"
                raise UnreachableError(words, hint="try again later")
            time.sleep(self._wait)
            self.said = self._service.look().said
        self.skipped = [*self._service.skipped]
        yield from places.ends()


def announced(settings: Mapping[str, Any]) -> dict[str, int]:
    """`max_steps`, to stand beside what was measured, where the parameters of a run say it."""
    for name in ("max_steps", "total_steps", "train_iters", "num_train_steps"):
        value = str(settings.get(name, ""))
        if value.isdecimal() and int(value):
            return {"max_steps": int(value)}
    return {}


def client(library: str, who: str, quietly: Mapping[str, str], extra: str = "") -> Any:
    """The module of a service's own client; `quietly` is the environment that keeps it quiet.

    Raises UsageError where it is missing. An extra is named after its library, if not otherwise.
    """
    for name, value in quietly.items():
        os.environ.setdefault(name, value)
    extra = extra or library.partition(".")[0]
    try:
        return import_module(library)
    except ImportError as error:
        raise UsageError(
            f"--{extra} needs {who}'s client", hint=f"pip install 'runwatch[{extra}]'"
        ) from error


def asked(ask: Callable[[], Any], ours: Callable[[Exception], RunwatchError]) -> Any:
    """An answer of a client; its errors as ours."""
    try:
        return ask()
    except RunwatchError:
        raise
    except Exception as error:  # of the client and of all that it calls
        raise ours(error) from error


def unreachable(who: str, error: BaseException, hint: str = "") -> UnreachableError:
    """The error for a service that gives no answer, in one line; an address that clients tell may
    have a password in it."""
    words = redact(" ".join(str(error).split()))
    return UnreachableError(
        f"{who} does not answer: {words[:200] or type(error).__name__}; state unknown",
        hint=hint or "is the network up, and is the address right?",
    )
