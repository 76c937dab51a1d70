"""A watched run's process: how it is, what may be done when it breaks, and when to stop watching.

What is done unasked, and how often, is decided in `remedy`; it is announced before it is done, and
what came of it is kept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from runwatch import judgement
from runwatch.crash import crash, died, is_sure
from runwatch.endings import agreed
from runwatch.event import Acting, Event, Found, Turned
from runwatch.finding import Finding, Severity, State
from runwatch.ingest.process import Process
from runwatch.judgement import GOES_ON, GOOD, OPEN, Ending, TerminalState, rule
from runwatch.pipeline import Analysis
from runwatch.remedy import (
    CLEAR,
    RESTART,
    REVIVE,
    Allowed,
    Body,
    Budget,
    Remedy,
    cancelling,
    clearing,
    remedy,
)
from runwatch.standing import Course, Standing
from runwatch.undertaking import Undertaking

DRAIN = 1.0  # seconds without a line after which a dead process has said everything
HOPELESS = 3.0  # times the silence of a stall after which nobody waits any longer
_CALM = {"sleeping": "running"}  # states of a process that come and go
_BLOCKED = 5  # looks in a row: reading from a disk is no news


@dataclass
class Treatment:
    """`stop` says why watching has to end, once it has. `own` is how the run ended where its
    process says more than its log."""

    target: str
    analysis: Analysis
    standing: Standing
    clock: Callable[[], datetime]
    allowed: Allowed = field(default_factory=Allowed)
    body: Body | None = None
    settle: float = 30.0
    patience: float = 30.0  # seconds of silence after which a stall has no hope yet
    process: Process | None = None
    own: Ending | None = None
    stop: str = ""
    proposed: list[Remedy] = field(default_factory=list)
    _since: float = 0.0  # of the process's state
    _blocked: int = 0
    _budget: Budget = field(default_factory=Budget)
    _handled: tuple[str, int] | None = None  # the ending that was answered by a restart
    _cleared: set[str] = field(default_factory=set)
    _lost: float | None = None
    _stalled: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.doing = Undertaking(self.target, self.analysis, self.clock)

    def look(self, now: float) -> Iterator[Event]:
        """Look at the process; tell where its state is another."""
        found = self.body.look() if self.body is not None else None
        if found is None:
            return
        state = _CALM.get(found.state, found.state)
        self._blocked = self._blocked + 1 if state == "blocked" else 0
        if 0 < self._blocked < _BLOCKED:
            state = "running"
        found = replace(found, state=state)
        before, self.process = self.process, found
        if before is None:
            self._since = now
        elif (before.pid, before.state) != (found.pid, found.state):
            self._since = now
            if self.own is not None and self.own.settled:
                return  # its platform has told
            code = "" if found.exit_code is None else f"exit code {found.exit_code}"
            was, told = f"process {before.state}", f"process {found.state}"
            yield Turned(self.target, self.clock(), told, was, code)

    def is_handled(self, ending: Ending) -> bool:
        """Whether this ending was answered by starting the run again."""
        return self._handled == (ending.stream, ending.line)

    def ended(self, told: Ending, *, unreachable: str, closed: bool) -> Ending:
        """How it ended, with what is known beside the log."""
        handled = self.is_handled(told)
        settled = self.own if self.own is not None and self.own.settled else None
        if unreachable and (settled or told).state in OPEN:
            return Ending(TerminalState.UNKNOWN, f"state unknown: {unreachable}")
        if settled is not None:
            return agreed(told, settled)
        if self.own is not None and (told.state in OPEN or handled):
            return self.own
        if told.state in OPEN and (quiet := self.standing.of("quiet")) is not None:
            return Ending(TerminalState.UNKNOWN, quiet.message)
        alive = (self.process is None or self.process.alive) and not closed
        if told.state not in GOOD and alive and (handled or told.state is TerminalState.UNKNOWN):
            return GOES_ON
        return told

    def treat(self, now: float, course: Course) -> Iterator[Event]:
        """Act on what stands, or bring the watch to its end by setting `stop`."""
        if self.doing.busy:
            yield from self._look_at_doing(now)
            return
        if self.own is not None and self.own.settled and self.own.state not in OPEN:
            if now - course.heard >= DRAIN:
                self.stop = self.own.reason
            return
        yield from self._clear(now)
        self._overcome()
        process, ending = self.process, course.ending
        if process is not None and not process.alive:
            if now - max(course.heard, self._since) >= DRAIN:
                yield from self._after_death(now, course, process)
            return
        held = now - course.since
        settle = self.settle * (2 if process is not None else 1)
        if ending.state in GOOD:
            if held >= settle:
                self.stop = "the training has finished"
        elif ending.state not in OPEN and not self.is_handled(ending):
            if held >= 2 * settle and (self.body is None or self.body.is_fresh()):
                yield from self.look(now)  # it may have died since the last look
                if self.process is None or self.process.alive:
                    yield from self._failed(now, course)
        else:
            yield from self._wrecked(now)
            if not self.stop:
                yield from self._hopeless(now, course)

    # A run that has ended

    def _after_death(self, now: float, course: Course, process: Process) -> Iterator[Event]:
        """The process is gone, and what it had to say was read."""
        ending = course.ending
        if ending.state in GOOD:
            self.stop = "the training has finished"
            return
        if ending.state in OPEN or self.is_handled(ending):
            said = getattr(self.body, "said", None)
            if said is not None:
                self.own, self.stop = said, said.reason
                return
            if process.exit_code == 0:
                self.own = Ending(TerminalState.SUCCEEDED, "its process ended with exit code 0")
                self.stop = "the process has ended by itself"
                return
            yield self._crashed(process, course)
        yield from self._failed(now, course)

    def _crashed(self, process: Process, course: Course) -> Event:
        """A finding for a process that died without a word."""
        found = crash(process, course, self.analysis.outline.steps, self.clock().isoformat())
        self.own = Ending(TerminalState.FAILED, died(process), course.stream, course.line)
        self.analysis.extra = [f for f in self.analysis.extra if f.id != found.id] + [found]
        self.standing.add(found)
        return Found(self.target, self.clock(), found)

    def _failed(self, now: float, course: Course) -> Iterator[Event]:
        """The run has ended badly: start it again, or say what a person can do."""
        ending = self.own or course.ending
        if ending.state is not TerminalState.FAILED:
            self.stop = f"the run has ended: {ending.state}"
            return
        cause = judgement.fold(self.analysis.findings(), ending).root_cause
        self._budget = self._budget.at(self.analysis.outline.last_step)
        chosen = None
        if self.body is not None:
            silent = self.process if self.own is not None else None
            sure = silent is None or is_sure(silent, self.analysis.outline.steps, course.stride)
            chosen = remedy(cause, self.process, self._budget, self._may, sure=sure)
        if chosen is None:
            self.stop = "the run has failed, and how to start it again is not known"
        elif chosen.asks:
            yield self._propose(chosen)
            self.stop = f"it needs a person: {chosen.why}"
        else:
            self._budget = self._budget.spent(chosen.kind)
            yield from self._act(now, chosen, cause)
            self._handled = (course.ending.stream, course.ending.line)
            self.own = None

    # A run that goes on

    def _clear(self, now: float) -> Iterator[Event]:
        """The user's own command that frees GPU memory, once for each time that it ran out."""
        for one in self.standing.open:
            if self.doing.busy:
                return
            chosen = clearing(one, self._budget, self._may)
            if one.id not in self._cleared and chosen is not None and self.body is not None:
                self._cleared.add(one.id)
                self._budget = self._budget.at(one.step).spent(CLEAR)
                yield from self._act(now, chosen, one)

    def _wrecked(self, now: float) -> Iterator[Event]:
        """Numbers that are lost do not come back: a person has to roll back or end the run."""
        lost = [
            one
            for one in self.standing.open
            if rule(one.kind).wrecks and one.severity is Severity.CRITICAL
        ]
        cause = min(lost, key=lambda one: (one.step or 0, one.line), default=None)
        if cause is None:
            self._lost = None
            return
        self._lost = now if self._lost is None else self._lost
        if now - self._lost < self.settle:
            return
        title = rule(cause.kind).title
        self.own = Ending(TerminalState.FAILED, title, cause.stream, cause.line)
        chosen = cancelling(self.process, self._may)
        if chosen is not None and not chosen.asks:
            yield from self._act(now, chosen, cause)
        elif chosen is not None:
            yield self._propose(chosen)
        self.stop = _person(cause.kind)

    def _hopeless(self, now: float, course: Course) -> Iterator[Event]:
        """A stall: ended and started again where that is allowed; without a process to ask,
        nobody waits for ever."""
        silent = (self.standing.of(kind) for kind in ("stalled", "stalled_eval", "quiet"))
        if (stall := next(filter(None, silent), None)) is None:
            return
        lasted = now - course.heard
        since = self._stalled.setdefault(stall.id, lasted)
        if self.process is None:
            least = self.settle if stall.kind == "quiet" else self.patience
            if lasted > HOPELESS * max(since, least):
                self.stop = _person(stall.kind)
            return
        chosen = remedy(stall, self.process, self._budget, self._may) if self.body else None
        if chosen is not None and not chosen.asks:
            self._budget = self._budget.at(stall.step).spent(chosen.kind)
            yield from self._act(now, chosen, stall)

    def _overcome(self) -> None:
        """What happened beside the log is over once the run has come further."""
        failed = self._budget.failed_at
        if failed is None or self.own is not None:
            return
        step = self.analysis.outline.last_step
        if step is None or step <= failed:
            return
        self.analysis.extra = [
            replace(one, state=State.RECOVERED, severity=Severity.MEDIUM)
            for one in self.analysis.extra
        ]
        for action in self.analysis.actions:
            if action["kind"] in (RESTART, REVIVE) and "went on" not in action["outcome"]:
                action["outcome"] += f"; went on past step {failed}"

    # What is done

    @property
    def _may(self) -> Allowed:
        """What is allowed, for a process that is where it is."""
        return replace(self.allowed, away=self.body.away if self.body else "")

    def _propose(self, chosen: Remedy) -> Event:
        self.proposed.append(chosen)
        return Acting(self.target, self.clock(), chosen)

    def _act(self, now: float, chosen: Remedy, cause: Finding | None) -> Iterator[Event]:
        assert self.body is not None
        yield from self.doing.begin(chosen, cause, self.body)
        yield from self._look_at_doing(now)

    def _look_at_doing(self, now: float) -> Iterator[Event]:
        if (done := self.doing.look()) is not None:
            self._since = now
            yield done
            yield from self.look(now)


def _person(kind: str) -> str:
    """Why nobody but a person can help."""
    title = rule(kind).title
    return f"it needs a person: {title[0].lower()}{title[1:]}"
