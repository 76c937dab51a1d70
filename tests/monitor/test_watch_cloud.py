"""A watched job that a platform runs, walked through with a clock that we move."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from runwatch.cadence import Cadence
from runwatch.chunk import Chunk, Stream
from runwatch.cloud import CloudJob, CloudTask
from runwatch.event import Ended, Event, Found, Progressed, Turned
from runwatch.finding import State
from runwatch.judgement import Ending, TerminalState
from runwatch.parse.knowledge import builtin
from runwatch.pipeline import Analysis
from runwatch.watch import Watch

START = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
STATES, WORKER = Stream("vertex", None, "vertex"), Stream("workerpool0-0")
JOB = CloudJob("Custom job", "a", "projects/p/customJobs/4", "RUNNING")


@dataclass
class Bench:
    """A watch of a job whose reports begin a minute apart, and its clock."""

    cloud: CloudJob = JOB

    def __post_init__(self) -> None:
        self.now, self._at = 1000.0, dict[str, int]()
        analysis = Analysis("run", "a", store=None, clock=self.clock, knowledge=builtin())
        self.watch = Watch(
            "a", "run", analysis, self.clock, lambda: self.now, cadence=Cadence.of(60, 300),
            settle=60,
        )  # fmt: skip
        self.says(self.cloud)

    def clock(self) -> datetime:
        """Wall time that goes with the steady clock."""
        return START + timedelta(seconds=self.now - 1000)

    def says(self, cloud: CloudJob, ending: Ending | None = None) -> list[Event]:
        """The platform says this of its job, as the monitor passes it on."""
        goes_on = Ending(TerminalState.RUNNING, "it says so", settled=True)
        said = ending or (None if cloud.over else goes_on)  # the last lines are waited for
        self.watch.treatment.own = said or self.watch.treatment.own
        return self.watch.see(cloud)

    def say(self, stream: Stream, *lines: str) -> None:
        """These lines come."""
        text = "".join(f"{self.clock():%Y-%m-%dT%H:%M:%S}Z {line}\n" for line in lines).encode()
        begin = self._at.get(stream.name, 0)
        self._at[stream.name] = begin + len(text)
        self.watch.take(Chunk(stream, text, begin))

    def after(self, seconds: float) -> list[Event]:
        """Everything that is told in the next seconds, ticking as the loop would."""
        events, until = list[Event](), self.now + seconds
        while not self.watch.over and self.now < until:
            self.now = min(until, self.now + max(0.01, self.watch.wake))
            events += self.watch.tick()
        return events


def of(kind: type, events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def running(*lines: str) -> Bench:
    bench = Bench()
    bench.say(STATES, "JOB_STATE_RUNNING custom job a (projects/p/customJobs/4)")
    bench.say(WORKER, "Step 1/100 | loss=2.0", "Step 2/100 | loss=1.9", *lines)
    bench.watch.baseline()
    return bench


def test_a_custom_job_without_a_line_for_three_intervals_has_stalled() -> None:
    """They grow while nothing happens: 60, 90 and 135 s. The pace starts over, nobody ends the
    watch, and when it goes on that is told."""
    bench = running()
    assert [] == of(Found, bench.after(284))
    (found,) = of(Found, bench.after(3))
    assert ("job_stalled", "high", State.OPEN) == (
        found.finding.kind, found.finding.severity, found.finding.state
    )  # fmt: skip
    assert 60 == found.reset
    assert ["workerpool0-0"] == [name for name, *_ in bench.watch.peek().ranks]
    assert not bench.watch.over
    bench.say(WORKER, "Step 3/100 | loss=1.8")
    (changed,) = of(Found, bench.after(5))
    assert ("changed", State.RECOVERED) == (changed.change, changed.finding.state)


def test_silence_of_a_service_that_does_not_answer_is_not_the_job_s() -> None:
    """Time counts up to its last answer only."""
    bench = running()
    bench.watch.answered = bench.now
    assert [] == of(Found, bench.after(3600))


def test_what_a_task_says_of_its_end_does_not_end_the_watch() -> None:
    """The platform says when its job is over, and how."""
    bench = running("Training finished", "Saving model")
    bench.after(900)
    assert not bench.watch.over
    over = replace(JOB, state="FAILED", over=True)
    (turned,) = bench.says(
        over, Ending(TerminalState.FAILED, "Vertex AI says FAILED: x", settled=True)
    )
    assert isinstance(turned, Turned)
    assert ("FAILED", "RUNNING") == (turned.state, turned.before)
    (end,) = of(Ended, bench.after(5))
    assert ("FAILED", "NO-GO", "Vertex AI says FAILED: x") == (
        end.summary["terminal_state"], end.summary["decision"], end.why,
    )  # fmt: skip


def test_a_crash_that_the_platform_overcame_does_not_end_the_watch() -> None:
    """A worker that fails is started again: the job goes on, and ends well."""
    bench = running("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    bench.after(900)
    assert not bench.watch.over
    bench.say(WORKER, "Step 1/100 | loss=2.0", *(f"Step {i}/100 | loss=1.9" for i in range(2, 101)))
    done = Ending(TerminalState.SUCCEEDED, "Vertex AI says SUCCEEDED", settled=True)
    bench.says(replace(JOB, state="SUCCEEDED", over=True), done)
    (end,) = of(Ended, bench.after(5))
    assert ("SUCCEEDED", "GO") == (end.summary["terminal_state"], end.summary["decision"])


def test_a_job_whose_last_lines_are_waited_for_has_not_ended_yet() -> None:
    """The platform says at once that it is over, and how it ended when they have arrived."""
    bench = running("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    bench.after(900)
    over = replace(JOB, state="FAILED", over=True)
    bench.says(over)
    assert [] == of(Ended, bench.after(20))
    bench.says(over, Ending(TerminalState.FAILED, "Vertex AI says FAILED: x", settled=True))
    (end,) = of(Ended, bench.after(5))
    assert ("FAILED", "NO-GO") == (end.summary["terminal_state"], end.summary["decision"])


def test_another_state_of_a_task_starts_the_pace_over() -> None:
    """And is told at once, also of a task that nobody had seen."""
    job = replace(JOB, noun="Pipeline", tasks=(CloudTask("train", "RUNNING"),))
    bench = Bench(job)
    bench.say(STATES, "PIPELINE_STATE_RUNNING pipeline a (projects/p/pipelineJobs/4)")
    bench.watch.baseline()
    bench.after(170)
    assert bench.watch.pace.cadence.interval > 60
    tasks = (CloudTask("train", "SUCCEEDED"), CloudTask("deploy", "RUNNING"))
    turns = bench.says(replace(job, tasks=tasks))
    assert [("train SUCCEEDED", "train RUNNING"), ("deploy RUNNING", "deploy PENDING")] == [
        (turn.state, turn.before) for turn in of(Turned, turns)
    ]
    report = of(Progressed, bench.after(400))[0]
    assert (60.0, ("state changed",)) == (report.next_in, report.reasons)
