"""Entries of Cloud Logging as they arrive, told by the service itself over an open stream.

It tells them soonest, and promises little: a stream ends after an hour, and what arrives too fast
is left out. So whoever tails asks for the log now and then, too.
"""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from runwatch.errors import RunwatchError
from runwatch.ingest.vertex_api import code_of, told_as_ours

_KEPT = 50_000  # entries that wait for a slow reader
# What a service answers that does not do this, or not for us, or not now: its log can be asked for.
_NEVER = frozenset(("UNIMPLEMENTED", "PERMISSION_DENIED", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"))


class Tail:
    """One stream, read by a thread of its own. `wanted` is its filter.

    `ended` says that nothing more comes, `why` in words why none will come another time either.
    """

    def __init__(
        self, begin: Callable[[threading.Event], Any], wanted: str, *, kept: int = _KEPT
    ) -> None:
        self.wanted = wanted
        self.ended = False
        self.why = ""
        self._begin, self._kept = begin, kept
        self._lock = threading.Lock()  # of the two that follow
        self._entries: deque[Any] = deque(maxlen=kept)
        self._missed = False
        self._stream: Any = None
        self._closed = threading.Event()
        threading.Thread(target=self._run, daemon=True, name="tail").start()

    @property
    def fresh(self) -> bool:
        """Whether there is something to be taken or to be known."""
        return bool(self._entries) or self._missed or self.ended

    def take(self) -> tuple[list[Any], bool]:
        """What has arrived since, and whether something was left out of it."""
        with self._lock:
            entries, missed = list(self._entries), self._missed
            self._entries.clear()
            self._missed = False
        return entries, missed

    def close(self) -> None:
        """Nothing more is wanted."""
        self._closed.set()
        stream = self._stream
        if stream is not None:
            stream.cancel()

    def _run(self) -> None:
        try:
            self._stream = self._begin(self._closed)
            if self._closed.is_set():
                self._stream.cancel()
            for answer in self._stream:
                self._take(type(answer).pb(answer))
        except RunwatchError:
            pass  # it is asked for, and that tells
        except Exception as error:  # of the client and of all that it calls
            if code_of(error) in _NEVER and not self._closed.is_set():
                self.why = str(told_as_ours(error))
        finally:
            self._closed.set()
            self.ended = True

    def _take(self, answer: Any) -> None:
        with self._lock:
            room = self._kept - len(self._entries)
            self._missed |= bool(answer.suppression_info) or len(answer.entries) > room
            self._entries.extend(answer.entries)
