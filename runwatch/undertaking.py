"""A remedy that is carried out: announced, begun, and kept with what came of it. Nobody waits."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

from runwatch.errors import RunwatchError, in_words
from runwatch.event import Acted, Acting, Event
from runwatch.finding import Finding
from runwatch.pipeline import Analysis
from runwatch.redact import redact
from runwatch.remedy import Action, Body, Doing, Remedy


class Undertaking:
    """One thing at a time. Its outcome is in the history as soon as it is known."""

    def __init__(self, target: str, analysis: Analysis, clock: Callable[[], datetime]) -> None:
        self._target, self._analysis, self._clock = target, analysis, clock
        self._doing: tuple[Action, Doing] | None = None

    @property
    def busy(self) -> bool:
        """Whether something is being done just now."""
        return self._doing is not None

    def begin(self, chosen: Remedy, cause: Finding | None, body: Body) -> Iterator[Event]:
        """Say it, then begin it."""
        yield Acting(self._target, self._clock(), chosen)
        begun = Action(
            chosen.kind, chosen.why, chosen.command, self._clock().isoformat(),
            self._analysis.outline.last_step, cause.id if cause else "",
        )  # fmt: skip
        self._doing = begun, body.carry_out(chosen)

    def look(self) -> Event | None:
        """What came of it, once it is done, without secrets: a command tells what it likes."""
        if self._doing is None or not self._doing[1].done():
            return None
        (begun, doing), self._doing = self._doing, None
        try:
            outcome = doing.result()
        except OSError as error:
            outcome = f"failed: {in_words(error)}"
        except RunwatchError as error:
            outcome = f"failed: {error}"
        return self._keep(replace(begun, outcome=redact(outcome)))

    def leave(self) -> Iterator[Event]:
        """Watching ends: what is still being done is not waited for."""
        if self._doing is not None:
            (begun, _), self._doing = self._doing, None
            yield self._keep(replace(begun, outcome="begun, and not waited for"))

    def _keep(self, action: Action) -> Event:
        self._analysis.actions.append(action.as_dict())
        self._analysis.flush()  # what was done is known, whatever becomes of us
        return Acted(self._target, self._clock(), action)
