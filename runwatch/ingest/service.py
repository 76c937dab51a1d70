"""Runs that a tracking service keeps: asked for what is new, told as lines of JSON.

Each service is a module whose `Service` speaks with the real client library. What it gives is one
stream; the identity of a chunk says what was seen up to its end, so that the next reader asks for
the rest only, whatever the length of the history.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import RunwatchError, UnreachableError, UsageError
from runwatch.ingest.source import Skipped
from runwatch.judgement import Ending, TerminalState
from runwatch.target import Target

Seen = Mapping[str, Any]
"""What was given before, as plain JSON values that the service understands."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """A run as its service describes it. `state` is the service's own word.

    `ending` is set once the service says that the run is over.
    """

    title: str
    state: str
    ending: Ending | None = None
    name: str = ""
    url: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.ending is not None

    @property
    def exit_code(self) -> int | None:
        """0 for a run that finished; a service knows no others."""
        done = self.ending is not None and self.ending.state is TerminalState.SUCCEEDED
        return 0 if done else None


class Service(Protocol):
    """One run at a service. Every call may wait for the network.

    Each raises UnreachableError where there is no answer or none without logging in again,
    InputError where the service knows no such run, UsageError where the client library is missing.
    """

    title: str

    def look(self) -> Tracked:
        """The run as it is now."""

    def pages(self, seen: Seen) -> Iterator[tuple[bytes, Seen]]:
        """The lines behind what was seen, some at a time, each with what is seen after them."""


def service_of(target: Target) -> Service:
    """The service of a target: `Service` of the module named after its kind."""
    made: Service = import_module(f"runwatch.ingest.{target.kind}_service").Service(target)
    return made


def open_target(target: Target) -> "Tracker":
    """A run at rest: what the service has now."""
    return Tracker(service_of(target), str(target.kind))


def ending_of(states: Mapping[str, TerminalState], state: str, who: str) -> Ending | None:
    """How a run ended by its service's word, None while it goes on."""
    found = states.get(state.lower())
    return None if found is None else Ending(found, f"{who} says {state.lower()}")


class Place:
    """Where a reader is in the one stream of a run."""

    def __init__(self, service: Service, kind: str, cursors: Mapping[str, Cursor]) -> None:
        self.stream = Stream("history", None, kind)
        self.offset, self.seen = 0, dict[str, Any]()
        self._title = service.title
        cursor = cursors.get(self.stream.name)
        if cursor is not None:
            self._resume(cursor)

    def _resume(self, cursor: Cursor) -> None:
        """Go on at a cursor that stands where a chunk ended; anywhere else, start over."""
        try:
            told = json.loads(cursor.identity)
            if (told["run"], told["at"]) == (self._title, cursor.offset):
                self.offset, self.seen = cursor.offset, dict(told["seen"])
        except (ValueError, TypeError, KeyError):
            return

    def after(self, text: bytes, seen: Seen, *, last: bool = False) -> Chunk:
        """The chunk of some lines."""
        begin, self.offset, self.seen = self.offset, self.offset + len(text), dict(seen)
        size = self.offset if last else 0
        return Chunk(self.stream, text, begin, self.identity, size, self.offset, last)

    @property
    def identity(self) -> str:
        """Says which run it is, and what was seen of it up to here."""
        return json.dumps({"run": self._title, "at": self.offset, "seen": self.seen})


class Tracker:
    """The history of a run at rest: see `Source`. `said` is how it ended, by the service's word."""

    def __init__(self, service: Service, kind: str) -> None:
        self.skipped: list[Skipped] = []
        self.said: Ending | None = None
        self._service, self._kind = service, kind

    def streams(self) -> list[Stream]:
        """The one stream."""
        return [Place(self._service, self._kind, {}).stream]

    def chunks(self, cursors: Mapping[str, Cursor]) -> Iterator[Chunk]:
        """All that the service has behind the cursor.

        Raises UnreachableError where it does not answer, in the middle, too: what a run says is
        not known then.
        """
        self.said = self._service.look().ending
        place = Place(self._service, self._kind, cursors)
        for text, seen in self._service.pages(place.seen):
            yield place.after(text, seen)
        yield place.after(b"", place.seen, last=True)


def announced(settings: Mapping[str, Any]) -> dict[str, int]:
    """`max_steps`, to stand beside what was measured, where the parameters of a run say it."""
    for name in ("max_steps", "total_steps", "train_iters", "num_train_steps"):
        value = str(settings.get(name, ""))
        if value.isdecimal() and int(value):
            return {"max_steps": int(value)}
    return {}


def client(library: str, who: str, quietly: Mapping[str, str]) -> Any:
    """The module of a service's own client; `quietly` is the environment that keeps it quiet.

    Raises UsageError where it is missing. An extra is named after its library.
    """
    for name, value in quietly.items():
        os.environ.setdefault(name, value)
    extra = library.partition(".")[0]
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
    """The error for a service that gives no answer, in one line."""
    words = " ".join(str(error).split())
    return UnreachableError(
        f"{who} does not answer: {words[:200] or type(error).__name__}; state unknown",
        hint=hint or "is the network up, and is the address right?",
    )
