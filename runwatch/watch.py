"""One watched run: chunks and ticks go in, events come out. Nothing here waits.

The clocks are passed in, so every path can be walked in a test without sleeping.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from runwatch.cadence import Cadence, Glance
from runwatch.chunk import Chunk
from runwatch.cloud import CloudJob
from runwatch.errors import StoreError
from runwatch.event import Began, Event, Found, Noted, Progressed, Turned
from runwatch.evidence import evident
from runwatch.finding import Finding, Role
from runwatch.judgement import GOES_ON, OPEN, Ending, TerminalState
from runwatch.last_word import last_word
from runwatch.pace import Pace
from runwatch.pipeline import Analysis
from runwatch.pulse import Pulse
from runwatch.recent import Recent
from runwatch.redact import redact
from runwatch.remedy import Allowed, Body, proposals
from runwatch.standing import Course, Standing
from runwatch.treatment import Treatment
from runwatch.vitals import Gpu

LOOK = 1.0  # seconds between looks at the process and at silence
_SHOWN = ("loss", "eval_loss", "lr", "grad_norm", "throughput", "accuracy", "reward")


@dataclass
class Watch:
    """A target and everything that is known of it while it is watched.

    `steady` gives seconds that never go back. `settle` is how long an ending must stand before it
    is believed; `age` how long the log had been silent when watching began; `held` says that its
    writer is there as long as the input does not end. `over` says that the last word was said,
    `unstored` why the history could not be written.
    """

    target: str
    run: str
    analysis: Analysis
    clock: Callable[[], datetime]
    steady: Callable[[], float]
    cadence: Cadence = field(default_factory=Cadence)
    allowed: Allowed = field(default_factory=Allowed)
    body: Body | None = None
    gpu: Callable[[], Gpu | None] | None = None
    target_type: str = "file"
    once: bool = False
    resumed: str = ""
    age: float = 0.0
    held: bool = False
    settle: float = 30.0

    def __post_init__(self) -> None:
        now = self.steady()
        self.began = self.clock()
        self.over = self.caught_up = False
        self.unreachable = self.unstored = ""
        self.answered: float | None = None  # up to when silence is the run's own, if asked for it
        self.cloud: CloudJob | None = None  # the job that a platform runs, as it was seen last
        self.pulse, self.recent, self.standing = Pulse(), Recent(), Standing()
        self.treatment = Treatment(
            self.target, self.analysis, self.standing, self.clock, self.allowed, self.body,
            self.settle, 2 * self.cadence.most,
        )  # fmt: skip
        self._ending = GOES_ON
        self._ending_since = self._heard = self._evaluated = self._looked = now
        self._dirty, self._cost = False, 0.0
        self.pace = Pace(self.cadence, now)
        self._closed: set[str] = set()
        self._notes: list[str] = []
        self.analysis.lost = self._lost
        if self.resumed:
            for finding in self.analysis.findings():
                self.standing.add(finding)

    # What comes in

    def take(self, chunk: Chunk) -> None:
        """The next bytes of a stream."""
        if chunk.last:
            self._closed.add(chunk.stream.name)
        if not chunk.data:
            return
        batch = self.analysis.take(chunk)
        self._heard, self._dirty = self.steady(), True
        self.pace.heard()
        self.recent.feed(chunk, batch.first_line)
        self.pulse.feed(chunk, batch, self._heard)

    def gauge(self, chunk: Chunk) -> None:
        """What the machine of the run tells of itself: no sign of life of the run."""
        self.recent.feed(chunk, self.analysis.gauge(chunk).first_line)
        self._dirty = True

    def note(self, text: str) -> None:
        """A word about the source, to be told with the next tick."""
        self._notes.append(redact(text))

    def _noted(self) -> list[Event]:
        notes, self._notes = self._notes, []
        return [Noted(self.target, self.clock(), text) for text in notes]

    def reach(self, *, ok: bool, note: str) -> list[Event]:
        """Whether the source answers."""
        if ok == (not self.unreachable):
            return []
        words = ["reachable", "unreachable, state unknown"]
        before, now = words if not ok else reversed(words)
        note = redact(note.removesuffix(", state unknown"))
        self.unreachable = "" if ok else (note or "the source does not answer")
        return [Turned(self.target, self.clock(), now, before, note)]

    def see(self, cloud: CloudJob | None) -> list[Event]:
        """The job as its platform describes it now."""
        before, self.cloud = self.cloud, cloud
        turns = cloud.turns(before) if cloud is not None and before is not None else ()
        return [Turned(self.target, self.clock(), now, was) for now, was in turns]

    @property
    def _lives(self) -> bool:
        """Whether something besides its log says that the run is there."""
        process = self.treatment.process
        return self.held or (process is not None and process.alive)

    @property
    def wake(self) -> float:
        """Seconds until the next tick is of use."""
        times = [self._looked + LOOK]
        if self.caught_up:
            times += [self.pace.due, *self.standing.due]
            if self._dirty:
                times.append(self._evaluated + self._pause)
        return 0.0 if self.over else max(0.0, min(times) - self.steady())

    @property
    def _pause(self) -> float:
        """Judging takes at most a fifth of the time."""
        return min(1.0, 4 * self._cost)

    # What comes out

    def baseline(self) -> list[Event]:
        """The first report, once everything that was there has been read."""
        if self.over:
            return []
        now = self.steady()
        self.caught_up = True
        list(self.treatment.look(now))
        self._evaluate(now, at_once=True)
        if self._ending.state in OPEN:
            for at in (now - self.age, now):
                self._pass(at)
            self._evaluate(now, at_once=True)
        self._ending_since = now - self.age
        process = None if self.cloud else self.treatment.process
        began = Began(
            self.target, self.clock(), self.run, len(self.pulse.places), process,
            "" if process or self.body is None or self.cloud else "no process found",
            self.pulse.form, self.pulse.evidence, self.resumed,
        )  # fmt: skip
        self.pace.glance = self._now()
        standing = [f for f in self.standing.open if f.role is not Role.FOLLOW_ON]
        told = [self._found(f, "new") for f in standing]
        return [began, self._report(now, first=True), *told, *self._treat(now)]

    def tick(self) -> list[Event]:
        """Everything that is due now; before the baseline, words about the source."""
        now, events = self.steady(), [] if self.over else self._noted()
        if self.over or not self.caught_up:
            return events
        looking = now - self._looked >= LOOK
        if looking:
            self._looked = now
            events += self.treatment.look(now)
            if self._ending.state in OPEN and not self.unreachable:
                known = now if self.answered is None else min(now, self.answered)
                self._dirty |= self._pass(known)
        judging = self._dirty and now - self._evaluated >= self._pause
        if judging or self.standing.ripe(now):
            events += self._evaluate(now)
        if looking or events:
            events += self._treat(now)
        if not self.over:
            events = self.pace.quicken(now, events)
            if now >= self.pace.due:
                events.append(self._report(now))
        return events

    def _pass(self, now: float) -> bool:
        """Tell that time has passed; whether findings may differ now."""
        three = self.pace.cadence.three
        return self.analysis.tick(now, self.pace.patience, lives=self._lives, three=three)

    def _treat(self, now: float) -> list[Event]:
        """What the state of things asks for, the end included."""
        if self.once:
            return self.finish("one look (--once)")
        if self._closed and self._closed >= set(self.pulse.places):
            return self.finish("the input has ended")
        if self.unreachable:
            return []
        # The end of a job is its platform's to tell, whatever one of its tasks says of its own.
        ending, pulse = self._ending if self.cloud is None else GOES_ON, self.pulse
        course = Course(ending, self._ending_since, self._heard, *pulse.latest, pulse.stride)
        events = list(self.treatment.treat(now, course))
        if self.treatment.stop and not self.treatment.doing.busy:
            events += self.finish(self.treatment.stop)
        return events

    def _evaluate(self, now: float, *, at_once: bool = False) -> list[Event]:
        """Judge what was read; what is new, has changed or is gone."""
        begun = self.steady()
        self._dirty, self._evaluated = False, now
        changes = self.standing.update(self.analysis.findings(), now, at_once=at_once)
        ending = self.analysis.ending(live=True)
        if ending.state in OPEN and self.standing.of("quiet") is not None:
            ending = Ending(TerminalState.UNKNOWN, "nothing says whether it lives")
        if replace(ending, reason=self._ending.reason) != self._ending:
            self._ending_since = now  # the same words on another line are another ending
        self._ending = ending
        self._cost = self.steady() - begun
        return [self._found(finding, change) for change, finding in changes]

    def _found(self, finding: Finding, change: str) -> Found:
        """The finding with the line that it rests on and the last checkpoint before it."""
        (finding,) = evident([finding], self.recent.cite)
        last = str(self.analysis.checkpoints.last(finding.step) or "")
        return Found(self.target, self.clock(), finding, change, last)

    def _report(self, now: float, *, first: bool = False) -> Progressed:
        """One report, and when the next is due. What was read is stored with it."""
        before = self.pace.cadence.interval
        reasons, full = self.pace.report(now, self._now(), first=first)
        self.analysis.flush()
        return replace(
            self.peek(), next_in=0.0 if self.once else self.pace.cadence.interval, before=before,
            reasons=reasons, first=first, full=full,
        )  # fmt: skip

    def peek(self) -> Progressed:
        """How things are just now; no report, so the pace of reports stays as it is."""
        now, outline, pulse = self.steady(), self.analysis.outline, self.pulse
        metrics = {q: told for q in _SHOWN if (told := outline.latest(q)) is not None}
        last = self.analysis.checkpoints.last()
        running, left = self._ending.state in OPEN, max(0.0, self.pace.due - now)
        return Progressed(
            self.target, self.clock(), self.state, outline.last_step, outline.total_steps, metrics,
            pulse.speed(metrics.get("throughput")),
            pulse.eta(outline.last_step, outline.total_steps) if running else None,
            self.gpu() if self.gpu else None, left, left, losses=tuple(pulse.losses),
            ranks=pulse.ranks(now), standing=self.standing.open, cloud=self.cloud,
            lines=self.analysis.account.lines, checkpoint=last.path if last else "",
        )  # fmt: skip

    def _now(self) -> Glance:
        loss = self.analysis.outline.latest("loss")
        epoch = None if self.pulse.epoch is None else int(self.pulse.epoch)
        return Glance(
            frozenset(self.standing.seen), None if loss is None else loss[1],
            (epoch, self.analysis.outline.segments), (self.state, self.cloud and self.cloud.words),
        )  # fmt: skip

    @property
    def state(self) -> str:
        """How run, process and source are, in words."""
        if self.unreachable:
            return "unreachable, state unknown"
        if self.cloud is not None:
            return self.cloud.state
        process, run = self.treatment.process, str(self._ending.state)
        return run if process is None or process.alive else f"{run}, process {process.state}"

    def _lost(self, error: StoreError) -> None:
        self.unstored = str(error)
        self.note(f"no history from here on: {error}")

    def finish(self, why: str) -> list[Event]:
        """The final word; `why` may be an error's. Afterwards nothing more comes."""
        if self.over:
            return []
        self.over, why, closed = True, redact(why), bool(self._closed)
        left = list(self.treatment.doing.leave())
        ended = partial(self.treatment.ended, unreachable=self.unreachable, closed=closed)
        summary = self.analysis.finish(cite=self.recent.cite, ending=ended)
        for finding in summary.findings:
            self.standing.add(finding)
        commands = [f"runwatch show {self.run}"] if self.analysis.stored else []
        word = last_word(
            self.target, summary, list(self.standing.seen.values()), target_type=self.target_type,
            began=self.began, at=self.clock(), why=why, unreachable=bool(self.unreachable),
            commands=[*proposals(self.treatment.proposed), *commands], cloud=self.cloud,
        )  # fmt: skip
        return [*left, *self._noted(), word]
