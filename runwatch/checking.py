"""One check of a run: read on from where it was, judge its numbers, remember when to look again.

This is the training check that a timer fires: it looks at the quality of training, while `monitor`
keeps an eye on the process. What is done about a STOP is announced, and its evidence kept, before
it is done.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch import checkup, notes
from runwatch.baseline import Baseline
from runwatch.checkup import RUNGS, Answer, Checkup, Last
from runwatch.detect.named import Named
from runwatch.errors import InputError, RunwatchError, StoreError, UnreachableError
from runwatch.judge import Opinion, Picture, Signal, signals
from runwatch.judge.signal import known
from runwatch.judgement import Decision, Judgement
from runwatch.looking import Look, borrowed, cited_lines, look, reference_run
from runwatch.redact import redact
from runwatch.review import Review, Reviewer, ask, question
from runwatch.run_id import run_id
from runwatch.slotted import frozen
from runwatch.stopping import KILL, NONE, act, announced
from runwatch.target import FILES, VERTEX, Kind, Target, vertex_page

if TYPE_CHECKING:
    from runwatch.store import Store

PAGES = "https://wandb.ai"
LIVE = 900.0  # seconds since a run was written by another program that may still keep it


@frozen
class Wanted:
    """How to check. `reference` names a run of the history; `instead` is a log that is read where
    the target cannot be; `reviewer` is None where nobody is asked; `order` is what is done about a
    STOP: none, kill, or a command; `pages` is where W&B shows its runs."""

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
    rules: tuple[Named, ...] = ()
    pages: str = PAGES


class Checking:
    """A target that is checked. `tell` hears what is about to be done; `lost` is why the history
    could not be used, once it could not: then the run is judged without it."""

    def __init__(
        self, target: Target, wanted: Wanted, *, store: "Store | None",
        clock: Callable[[], datetime], tell: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.target, self.wanted = target, wanted
        self.run = run_id(target, clock)
        self.address = redact(address_of(target, wanted.pages))
        self.lost: StoreError | None = None
        self._store, self._clock, self._tell = store, clock, tell
        self._written: datetime | None = None  # when the run was written last, by whomever
        self.last = self._remembered()

    def check(self) -> Checkup:
        """Look, judge, keep. Raises InputError where there is nothing to read, UsageError,
        QueryError where the reference run is not known."""
        at = self._clock()
        reference = reference_run(self._store, self.wanted.reference)
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
        return self._stopped(checked) if checked.stop else self._kept_as(checked)

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

    def _lose(self, error: StoreError) -> None:
        self.lost, self._store = error, None

    # Reading and judging

    def _look(self) -> tuple[Look, list[str]]:
        """The run as it is now, read from the target or from the log beside it."""
        wanted, instead = self.wanted, self.wanted.instead
        read = partial(
            look, store=self._history(), clock=self._clock, formats=wanted.formats,
            lost=self._lose, rules=wanted.rules,
        )  # fmt: skip
        try:
            return read(self.target), []
        except (UnreachableError, InputError) as error:
            if instead is None:
                raise
            note = f"{error}; {instead}"
        try:
            return read(instead), [f"{note} was read instead"]
        except RunwatchError as error:
            raise UnreachableError(
                f"{note} could not be read either: {error}", hint=error.hint
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
        judged = seen.root is not None and seen.root.kind in own  # by its signal
        stops = seen.judgement is Judgement.STOP and not over and not judged
        last, quiet = self.last, ""
        silent = last is not None and not last.over and 0 < seen.lines == last.lines
        if last is not None and silent and last.is_due(self._clock()):  # too early it says nothing
            quiet = f"no new lines since the check of {last.at:%H:%M:%S} UTC"
        return checkup.answer(
            found, stop=seen.reason if stops else "",
            over=f"the run has ended: {seen.reason}" if over else "",
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
        going = answer.judgement is Judgement.CONTINUE
        past = None if going else self.last  # what was done before is over with a CONTINUE
        return Checkup(
            self.run, redact(str(self.target)), self.address, at, answer,
            checkup.interval(
                self.last, answer.judgement, anomaly=bool(set(doubts) - before),
                rungs=self.wanted.rungs,
            ),
            found, seen.steps.last, seen.steps.total, seen.metrics, seen.lines,
            seen.decision is Decision.GO, doubts, self._evidence(seen, found, answer),
            (*told, *seen.notes), None if review is None else review.as_dict(),
            stop=checkup.stop_of(answer, found, segment=seen.segments, root=seen.root),
            noted=past.noted if past else "", acted=past.acted if past else "",
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
            self.run, redact(str(self.target)), self.address, at,
            Answer(None, redact(str(error)), "source"),
            checkup.interval(last, None, anomaly=False, rungs=self.wanted.rungs),
            lines=last.lines if last else 0, known=tuple(last.known) if last else (),
            notes=(error.hint,) if error.hint else (), noted=last.noted if last else "",
            acted=last.acted if last else "",
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
            "noted": checked.noted, "acted": checked.acted, "kept": self._clock().isoformat(),
        }  # fmt: skip
        try:
            self._store.keep_check(told)
        except StoreError as error:
            self._lose(error)
            return False
        return True

    def _stopped(self, checked: Checkup) -> Checkup:
        """Keep the evidence, then act; each once for the same stop. Where the evidence can be kept
        nowhere, nothing is ended."""
        order, last = self.wanted.order, self.last
        planned, task = announced(order), f"{checked.stop} {order}"
        noted = last is not None and last.noted == checked.stop
        if last is not None and last.acted == task and order != KILL:  # which ends what runs now
            return self._kept_as(replace(checked, action="nothing: it was done before"))
        acting = order != NONE
        checked = replace(checked, action=f"about to {planned}" if acting else "")
        kept = self._keep(checked)
        if not noted:
            note = self._note(notes.entry(checked, planned))
            checked, kept = replace(checked, noted=checked.stop if note else ""), kept or note
        if not acting:
            return self._kept_as(checked)
        if not kept:
            return replace(checked, action="nothing: the evidence could be kept nowhere")
        self._tell(f"STOP: about to {planned}")
        done, outcome = act(order, self.target, self._variables(checked))
        if not noted:
            self._note(notes.outcome(outcome))
        return self._kept_as(replace(checked, action=outcome, acted=task if done else ""))

    def _variables(self, checked: Checkup) -> Mapping[str, str]:
        """What a command is told in its environment: words of ours and of the user only."""
        path = self.wanted.notes
        return {
            "RUNWATCH_RUN": self.run, "RUNWATCH_TARGET": str(self.target),
            "RUNWATCH_STEP": "" if checked.step is None else str(checked.step),
            "RUNWATCH_NOTES": "" if path is None else str(path.absolute()),
        }  # fmt: skip

    def _note(self, text: str) -> bool:
        """Whether it stands in the notes now."""
        path = self.wanted.notes
        if path is None:
            return False
        try:
            notes.append(path, text)
        except InputError as error:
            self._tell(str(error))
            return False
        return True


def _by(review: Review, answer: Answer) -> Answer:
    """The reviewer's word on the concern of the rules."""
    reason = f"the reviewer ({review.model}) says {review.judgement}: {answer.concern}"
    return Answer(review.judgement, reason, "reviewer", answer.concern)


def address_of(target: Target, pages: str = PAGES) -> str:
    """Where a person finds the run: its page, a file's whole path, else what was named."""
    if target.kind is Kind.WANDB:
        entity, project, run = target.path.split("/")
        return f"{pages.rstrip('/')}/{entity}/{project}/runs/{run}"
    if target.kind in VERTEX:
        return vertex_page(target.path)
    if target.kind is Kind.MLFLOW:
        return f"run {target.path} at {target.service}"
    return os.path.abspath(target.path) if target.kind in FILES else str(target)
