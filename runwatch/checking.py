"""One check of a run: read on from where it was, judge its numbers, remember when to look again.

This is the training check that a timer fires: it looks at the quality of training, while `monitor`
keeps an eye on the process. What is done about a STOP is announced, and its evidence kept, before
it is done.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch import checkup, notes
from runwatch.baseline import Baseline, Reference
from runwatch.checkup import RUNGS, Answer, Checkup, Last
from runwatch.detect.curves import Curves
from runwatch.errors import InputError, QueryError, RunwatchError, StoreError, UnreachableError
from runwatch.judge import Opinion, Picture, Signal, signals
from runwatch.judge.signal import known
from runwatch.judgement import Decision, Judgement
from runwatch.looking import Look, borrowed, cited_lines, look
from runwatch.redact import redact
from runwatch.review import Review, Reviewer, ask, question
from runwatch.run_id import run_id
from runwatch.stopping import NONE, act, announced
from runwatch.target import Kind, Target

if TYPE_CHECKING:
    from runwatch.store import Store

LIVE = 900.0  # seconds since a run was written by another program that may still keep it


@dataclass(frozen=True, slots=True)
class Wanted:
    """How to check. `reference` names a run of the history; `instead` is a log that is read where
    the target cannot be; `reviewer` is None where nobody is asked; `order` is what is done about a
    STOP: none, kill, or a command."""

    baselines: tuple[Baseline, ...] = ()
    reference: str = ""
    tolerance: float = 0.1
    rungs: tuple[float, ...] = RUNGS
    instead: Target | None = None
    reviewer: Reviewer | None = None
    redact_paths: bool = False
    order: str = NONE
    notes: Path | None = None
    formats: tuple[Path, ...] = ()


class Checking:
    """A target that is checked. `tell` hears what is about to be done; `lost` is why the history
    could not be used, once it could not: then the run is judged without it."""

    def __init__(
        self, target: Target, wanted: Wanted, *, store: "Store | None",
        clock: Callable[[], datetime], tell: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.target, self.wanted = target, wanted
        self.run = run_id(target, clock)
        self.lost: StoreError | None = None
        self._store, self._clock, self._tell = store, clock, tell
        self._written: datetime | None = None  # when the run was written last, by whomever
        self.last = self._remembered()

    def check(self) -> Checkup:
        """Look, judge, keep. Raises InputError where there is nothing to read, UsageError,
        QueryError where the reference run is not known."""
        at = self._clock()
        reference = self._reference()
        try:
            seen, told = self._look()
        except UnreachableError as error:
            return self._kept_as(self._unknown(at, error))
        picture = Picture(
            seen.findings, seen.curves, seen.steps, self.wanted.baselines, reference,
            self.wanted.tolerance, seen.decision is Decision.GO,
        )  # fmt: skip
        found = signals(picture)
        answer = self._answer(seen, found)
        review = self._reviewed(seen, answer) if answer.concern else None
        if review is not None and not review.why:
            answer = _by(review, answer)
        checked = self._checkup(at, seen, found, answer, told, review)
        return self._kept_as(checked) if not self._acts(checked) else self._stopped(checked)

    # What is known of before

    def _remembered(self) -> Last | None:
        if self._store is None or self.target.kind is Kind.STANDARD_INPUT:
            return None
        try:
            row = self._store.check(self.run)
        except StoreError as error:
            self._lose(error)
            return None
        self._written = row["last_seen"] if row else None
        return Last.of(row)

    def _reference(self) -> Reference | None:
        """The curves of the reference run, from what its last scan learned."""
        name = self.wanted.reference
        if not name:
            return None
        if self._store is None:
            raise QueryError("--reference needs a history", hint="leave out --no-store")
        run = str(self._store.run(name)["run"])
        past = self._store.past(run)
        curves = Curves()
        state = (past.state if past else {}).get("curves")
        if not state:
            raise QueryError(
                f"run {run} was read before curves were kept", hint="scan its log once more"
            )
        curves.restore(state)
        return Reference(run, curves.told())

    def _lose(self, error: StoreError) -> None:
        self.lost, self._store = error, None

    # Reading and judging

    def _look(self) -> tuple[Look, list[str]]:
        """The run as it is now, read from the target or from the log beside it."""
        store = self._history()
        try:
            return look(self.target, store, self._clock, self.wanted.formats, self._lose), []
        except (UnreachableError, InputError) as error:
            instead = self.wanted.instead
            if instead is None:
                raise
            note = f"{error}; {instead} was read instead"
        try:
            return look(instead, store, self._clock, self.wanted.formats, self._lose), [note]
        except RunwatchError as error:
            raise UnreachableError(
                f"{note.removesuffix(' was read instead')} could not be read either: {error}",
                hint=error.hint,
            ) from error

    def _history(self) -> "Store | None":
        """The history to write what is read, or only to read where a watcher keeps the run."""
        if self._store is None or self._written is None:
            return self._store
        now = self._clock()
        kept = self.last.kept if self.last else None
        others = kept is None or self._written > kept
        if others and now - self._written < timedelta(seconds=LIVE):
            return borrowed(self._store)
        return self._store

    def _answer(self, seen: Look, found: tuple[Signal, ...]) -> Answer:
        own = {kind for row in known().values() for kind in row["kinds"]}
        over = seen.decision is Decision.GO
        stop = ""
        if seen.judgement is Judgement.STOP and not over and seen.root_kind not in own:
            stop = seen.reason
        last, quiet = self.last, ""
        silent = last is not None and not last.over and 0 < seen.lines == last.lines
        if last is not None and silent and last.is_due(self._clock()):  # too early it says nothing
            quiet = f"no new lines since the check of {last.at:%H:%M:%S} UTC"
        return checkup.answer(
            found, stop=stop, over=f"the run has ended: {seen.reason}" if over else "",
            quiet=quiet, empty=not seen.curves,
        )  # fmt: skip

    def _reviewed(self, seen: Look, answer: Answer) -> Review | None:
        reviewer = self.wanted.reviewer
        if reviewer is None:
            return None
        wanted = self.wanted
        told = [str(one) for one in wanted.baselines]
        if wanted.reference:
            told.append(f"run {wanted.reference} at the same step")
        text = question(
            run="[run]" if wanted.redact_paths else f"{self.run} ({self.target})",
            step=seen.steps.last, total=seen.steps.total, curves=seen.curves,
            baseline=", ".join(told), concern=answer.concern, redact_paths=wanted.redact_paths,
        )  # fmt: skip
        self._tell(f"asking {reviewer.model} at {reviewer.host}, since the rules are unsure")
        return ask(reviewer, text)

    def _checkup(
        self, at: datetime, seen: Look, found: tuple[Signal, ...], answer: Answer,
        told: list[str], review: Review | None,
    ) -> Checkup:  # fmt: skip
        doubts = checkup.known_of(found, seen.findings)
        before = self.last.known if self.last else frozenset()
        acted = self.last.acted if self.last else ""
        return Checkup(
            self.run, redact(str(self.target)), redact(_where(self.target)), at, answer,
            checkup.interval(
                self.last, answer.judgement, anomaly=bool(set(doubts) - before),
                rungs=self.wanted.rungs,
            ),
            found, seen.steps.last, seen.steps.total, seen.metrics, seen.lines,
            seen.decision is Decision.GO, doubts, self._evidence(seen, found, answer),
            (*told, *seen.notes), None if review is None else review.as_dict(), acted=acted,
        )  # fmt: skip

    def _evidence(
        self, seen: Look, found: tuple[Signal, ...], answer: Answer
    ) -> tuple[tuple[str, int, str], ...]:
        """The lines that a STOP rests on, as they stand in the log."""
        if answer.judgement is not Judgement.STOP:
            return ()
        wanted = [s for s in found if s.opinion is Opinion.BAD and s.line]
        wanted = wanted or [s for s in found if s.opinion is Opinion.UNSURE and s.line]
        return cited_lines(self.target, seen, {(s.stream, s.line) for s in wanted})

    def _unknown(self, at: datetime, error: UnreachableError) -> Checkup:
        """Out of reach is no word on the run: the same again at the next time."""
        last = self.last
        return Checkup(
            self.run, redact(str(self.target)), redact(_where(self.target)), at,
            Answer(None, redact(str(error)), "source"),
            checkup.interval(last, None, anomaly=False, rungs=self.wanted.rungs),
            lines=last.lines if last else 0, known=tuple(last.known) if last else (),
            notes=(error.hint,) if error.hint else (), acted=last.acted if last else "",
        )  # fmt: skip

    # Keeping, and acting on a stop

    def _kept_as(self, checked: Checkup) -> Checkup:
        self._keep(checked)
        return checked

    def _keep(self, checked: Checkup) -> bool:
        """Whether it is in the history now."""
        if self._store is None:
            return False
        told = {
            **checked.as_dict(), "lines": checked.lines, "known": list(checked.known),
            "acted": checked.acted, "kept": self._clock().isoformat(),
        }  # fmt: skip
        try:
            self._store.keep_check(told)
        except StoreError as error:
            self._lose(error)
            return False
        return True

    def _acts(self, checked: Checkup) -> bool:
        """Whether this is a stop that was not acted on before."""
        return bool(checked.stop) and (self.last is None or checked.stop != self.last.acted)

    def _stopped(self, checked: Checkup) -> Checkup:
        """Keep the evidence, then act. Where it can be kept nowhere, nothing is ended."""
        order, path = self.wanted.order, self.wanted.notes
        planned = announced(order)
        kept = self._keep(checked)
        if path is not None:
            try:
                notes.append(path, notes.entry(checked, planned))
                kept = True
            except InputError as error:
                self._tell(f"{error}")
                checked = replace(checked, notes=(*checked.notes, str(error)))
        if order == NONE:
            return self._kept_as(replace(checked, acted=checked.stop))
        if not kept:
            return replace(checked, action="nothing: the evidence could be kept nowhere")
        self._tell(f"STOP: about to {planned}")
        outcome = act(order, self.target, self._variables(checked))
        if path is not None and kept:
            self._note(path, outcome)
        return self._kept_as(checked.with_action(outcome))

    def _variables(self, checked: Checkup) -> Mapping[str, str]:
        """What a command is told in its environment: words of ours and of the user only."""
        path = self.wanted.notes
        return {
            "RUNWATCH_RUN": self.run, "RUNWATCH_TARGET": str(self.target),
            "RUNWATCH_STEP": "" if checked.step is None else str(checked.step),
            "RUNWATCH_NOTES": "" if path is None else str(path.absolute()),
        }  # fmt: skip

    def _note(self, path: Path, outcome: str) -> None:
        try:
            notes.append(path, notes.outcome(outcome))
        except InputError as error:
            self._tell(str(error))


def _by(review: Review, answer: Answer) -> Answer:
    """The reviewer's word on the concern of the rules."""
    reason = f"the reviewer ({review.model}) says {review.judgement}: {answer.concern}"
    return Answer(review.judgement, reason, "reviewer", answer.concern)


def _where(target: Target) -> str:
    """The address of a run: a file's whole path, else what was named."""
    local = target.kind in (Kind.FILE, Kind.FOLDER, Kind.GLOB)
    return os.path.abspath(target.path) if local else str(target)
