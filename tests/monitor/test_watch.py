"""A watched run, walked through with a clock that we move."""

from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from runwatch.cadence import Cadence
from runwatch.chunk import Chunk, Stream
from runwatch.event import Acted, Acting, Began, Ended, Event, Found, Progressed, Turned
from runwatch.finding import State
from runwatch.ingest.process import Process
from runwatch.judgement import rule
from runwatch.parse.knowledge import builtin
from runwatch.pipeline import Analysis
from runwatch.remedy import Allowed, Remedy
from runwatch.watch import Watch

START = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
STREAM = Stream("train.log")


@dataclass
class Trainer:
    """A process that we let live and die, and that remembers what was done to it."""

    vitals: Process | None = field(
        default_factory=lambda: Process(7, "python", command=("python", "train.py"))
    )
    done: list[str] = field(default_factory=list)
    away: str = ""
    slow: bool = False
    doing: "Future[str]" = field(default_factory=Future)

    def look(self) -> Process | None:
        """How we say it is."""
        return self.vitals

    def is_fresh(self) -> bool:
        """We know how it is."""
        return True

    def carry_out(self, chosen: Remedy) -> "Future[str]":
        """Remembered; started again, it lives with the next number. `slow` leaves it under way."""
        ends = chosen.kind in ("kill-restart", "cancel")
        self.done += ["end"] if ends else []
        self.doing = Future()
        if "restart" in chosen.kind:
            self.done.append(chosen.command)
        if not self.slow:
            self.finish(chosen.kind)
        return self.doing

    def finish(self, kind: str) -> None:
        """What was under way is over."""
        if "restart" not in kind or self.vitals is None:
            self.doing.set_result("done")
            return
        self.vitals = replace(self.vitals, pid=self.vitals.pid + 1, state="running", exit_code=None)
        self.doing.set_result(f"started as process {self.vitals.pid}")

    def dies(self, state: str = "gone", code: int | None = None) -> None:
        """From the next look on."""
        assert self.vitals is not None
        self.vitals = replace(self.vitals, state=state, exit_code=code)


class Bench:
    """A watch and its clock."""

    def __init__(self, process: Trainer | None = None, **wishes: Any) -> None:
        self.now = 1000.0
        self.read = 0
        analysis = Analysis(
            "run", "train.log", store=None, clock=lambda: START, knowledge=builtin()
        )
        self.watch = Watch(
            "train.log", "run", analysis, self.clock, lambda: self.now,
            body=process, **{"cadence": Cadence.of(30, 300), **wishes},
        )  # fmt: skip

    def clock(self) -> datetime:
        """Wall time that goes with the steady clock."""
        return START + timedelta(seconds=self.now - 1000)

    def say(self, *lines: str) -> None:
        """The log grows by these lines."""
        data = "".join(f"{line}\n" for line in lines).encode()
        self.watch.take(Chunk(STREAM, data, self.read))
        self.read += len(data)

    def baseline(self) -> list[Event]:
        """Everything was read that was there."""
        return self.watch.baseline()

    def after(self, seconds: float) -> list[Event]:
        """Everything that is told in the next seconds, ticking as the loop would."""
        events, until = [], self.now + seconds
        while not self.watch.over and self.now < until:
            self.now = min(until, self.now + max(0.01, self.watch.wake))
            events += self.watch.tick()
        return events


def steps(first: int, last: int, loss: float = 2.0) -> list[str]:
    return [f"step {i}/1000 | loss {loss} | lr 1e-4" for i in range(first, last + 1)]


def running(process: Trainer, *lines: str) -> Bench:
    """A watch whose baseline is behind it."""
    bench = Bench(process)
    bench.say(*(lines or steps(1, 50)))
    bench.baseline()
    return bench


def of(kind: type, events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_the_baseline_tells_process_format_and_step() -> None:
    """In that order, and the first report with it."""
    bench = Bench(Trainer())
    bench.say(*steps(1, 50))
    began, report = bench.baseline()
    assert isinstance(began, Began)
    assert isinstance(report, Progressed)
    assert (7, "fields between bars") == (began.process and began.process.pid, began.form)
    assert began.evidence.startswith("train.log:1: step 1/1000")
    assert (50, 1000, True, 30.0) == (report.step, report.total, report.first, report.next_in)


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("step=1 loss=2.0 lr=1e-4", "key=value pairs"),
        ("step=1 loss=2.0 lr=1e-4\r", "key=value pairs"),
        ("10%|#| 1/10 loss=3.0\r20%|##| 2/10 loss=2.0", "progress bar"),
    ],
)
def test_the_format_is_told_whatever_ends_the_lines(line: str, form: str) -> None:
    """Lines of Windows are no progress bars, and the line that shows it is the whole line."""
    bench = Bench()
    bench.say(line)
    (began, _) = bench.baseline()
    assert isinstance(began, Began)
    assert (form, f"train.log:1: {line.strip().rsplit(chr(13), 1)[-1]}") == (
        began.form, began.evidence
    )  # fmt: skip


def test_reports_get_rarer_while_nothing_happens() -> None:
    """30, then 45, 67.5 … seconds apart; every fifth is a full one."""
    bench = Bench(Trainer())
    bench.say(*steps(1, 50))
    bench.baseline()
    reports = []
    for i in range(51, 131):
        bench.say(*steps(i, i))
        reports += of(Progressed, bench.after(10))
    assert [45.0, 67.5, 101.25, 151.875, 227.8125] == [r.next_in for r in reports[:5]]
    assert [False, False, False, False, True] == [r.full for r in reports[:5]]
    gaps = [(b.at - a.at).total_seconds() for a, b in pairwise(reports)]
    assert gaps == pytest.approx([45, 67.5, 101.25, 151.875, 227.8125][: len(gaps)], abs=1)


def test_an_anomaly_is_told_at_once_and_brings_the_next_report_forward() -> None:
    """Within the time that half a traceback would need, not at the next report."""
    bench = Bench(Trainer())
    bench.say(*steps(1, 50))
    bench.baseline()
    bench.after(200)
    told = bench.now
    bench.say("step 51/1000 | loss nan | lr 1e-4", "step 52/1000 | loss nan | lr 1e-4")
    events = bench.after(31)
    (found,) = of(Found, events)
    assert (found.at - bench.clock()).total_seconds() == pytest.approx(-31, abs=0.1)
    assert (30.0, "nan_loss") == (found.reset, found.finding.kind)
    assert "step 51/1000 | loss nan | lr 1e-4" in found.finding.evidence
    report = of(Progressed, events)[0]
    assert report.at <= START + timedelta(seconds=told - 1000 + 30.1)
    assert "anomaly" in report.reasons


def test_a_loss_that_moves_or_a_new_epoch_starts_the_pace_over() -> None:
    """At the next report, which is when it is seen."""
    bench = Bench(Trainer())
    bench.say("epoch 1 step 1/1000 | loss 2.0")
    bench.baseline()
    bench.after(76)
    bench.say("epoch 1 step 2/1000 | loss 1.5")
    (report,) = of(Progressed, bench.after(68))
    assert (("loss moved",), 30.0) == (report.reasons, report.next_in)
    bench.say("epoch 2 step 3/1000 | loss 1.5")
    (report,) = of(Progressed, bench.after(30.1))
    assert (("new stage",), True) == (report.reasons, report.full)


def test_half_a_traceback_is_no_news() -> None:
    """What is gone again when the rest comes is never told."""
    bench = Bench(Trainer(), allowed=Allowed(fix=False))
    bench.say(*steps(1, 50))
    bench.baseline()
    bench.say("Traceback (most recent call last):", '  File "train.py", line 3, in <module>')
    bench.now += 0.01
    events = bench.watch.tick()
    bench.say("    step()", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")
    events += bench.after(1)
    assert ["cuda_oom"] == [e.finding.kind for e in of(Found, events)]


def test_a_finding_that_is_overcome_is_told_as_changed() -> None:
    """By its id, once."""
    bench = Bench(Trainer())
    bench.say(*steps(1, 50))
    bench.baseline()
    bench.say("RuntimeError: connection reset by peer")
    bench.after(1)
    bench.say(*steps(51, 60))
    events = of(Found, bench.after(1))
    assert {("changed", State.RECOVERED)} == {(e.change, e.finding.state) for e in events} or (
        events == []
    )


def test_a_clean_exit_is_success() -> None:
    """Also where the log has no closing words, if the exit code is known."""
    process = Trainer()
    bench = running(process)
    process.dies(code=0)
    (ended,) = of(Ended, bench.after(5))
    assert ("SUCCEEDED", "GO") == (ended.summary["terminal_state"], ended.summary["decision"])


def test_a_process_that_may_have_finished_is_not_started_again() -> None:
    """Gone without a word and without an announced end: a person has to look."""
    process = Trainer()
    bench = running(process, *(f"step {i} | loss 2.0" for i in range(1, 50)))
    process.dies()
    events = bench.after(5)
    assert [] == process.done
    (found,) = of(Found, events)
    assert ("process_crash", "low") == (found.finding.kind, found.finding.confidence)
    (asking,) = of(Acting, events)
    assert "--yes restart" in asking.remedy.why


@pytest.mark.parametrize(
    ("first", "last", "total", "restarted"),
    [(50, 900, 1000, True), (0, 900, 1000, True), (50, 950, 999, False), (0, 950, 1000, False),
     (1000, 1000, 1020, True), (50, 1000, 1020, False)],
)  # fmt: skip
def test_a_process_that_has_made_its_last_report_may_have_finished(
    first: int, last: int, total: int, restarted: bool
) -> None:
    """Nobody but its parent learns how it ended. One that had reports to make has crashed; after
    the last one, counted from 0 or from 1, a person has to look."""
    process = Trainer()
    bench = running(process, *(f"step {i}/{total} | loss 2" for i in range(first, last + 1, 50)))
    process.dies()
    events = bench.after(5)
    assert (["python train.py"] if restarted else []) == process.done
    (found,) = of(Found, events)
    confidence = "medium" if restarted else "low"
    assert ("process_crash", confidence) == (found.finding.kind, found.finding.confidence)
    assert [not restarted] == [event.remedy.asks for event in of(Acting, events)]


def test_a_crash_is_answered_three_times_and_no_more() -> None:
    """Each announced before it is done; the fourth time a person is asked."""
    process = Trainer()
    bench = running(process)
    events: list[Event] = []
    for _ in range(4):
        process.dies(code=1)
        events += bench.after(3)
    assert ["python train.py"] * 3 == process.done
    assert [False, False, False, True] == [e.remedy.asks for e in of(Acting, events)]
    order = [type(e) for e in events if isinstance(e, Acting | Acted)]
    assert [Acting, Acted] * 3 + [Acting] == order
    (ended,) = of(Ended, events)
    assert ("FAILED", "NO-GO") == (ended.summary["terminal_state"], ended.summary["decision"])
    assert 3 == len(ended.summary["actions"])
    assert {"restart"} == {a["kind"] for a in ended.artifact["actions"]}


def test_progress_beyond_the_failure_restores_the_budget() -> None:
    """A run that comes a bit further each time is helped each time."""
    process = Trainer()
    bench = running(process)
    for i in range(6):
        process.dies(code=1)
        bench.after(3)
        bench.say(*steps(51 + 10 * i, 60 + 10 * i))
        bench.after(3)
    assert 6 == len(process.done)
    assert not bench.watch.over


def test_a_step_counts_once_in_the_curve_however_many_ranks_tell_it() -> None:
    """In whatever order they come; a run that starts again goes back."""
    bench = Bench()
    for rank in (0, 1):
        text = "".join(f"step {i}/100 | loss {i + rank / 10}\n" for i in range(1, 11)).encode()
        bench.watch.take(Chunk(Stream(f"rank_{rank}.log", rank), text, 0))
    assert tuple(range(1, 11)) == bench.watch.peek().losses
    assert [10, 10] == [step for _, _, step, _ in bench.watch.peek().ranks]


def test_a_stall_is_told_by_the_pace_that_reports_had_when_silence_began() -> None:
    """They get rarer while nothing comes, and the news must not recede with them."""
    bench = Bench(Trainer())
    for first in range(1, 42, 2):
        bench.say(*steps(first, first + 1))
        bench.baseline() if first == 1 else bench.after(10)
    pace = bench.watch.pace.cadence.interval
    events = bench.after(2 * pace - 11)
    assert "stalled" not in [event.finding.kind for event in of(Found, events)]
    events = bench.after(12)
    assert ["stalled"] == [event.finding.kind for event in of(Found, events)]


def test_nothing_else_is_done_while_something_is_under_way() -> None:
    """Another host may take its time: one try is one, and it counts from when it is over."""
    process = Trainer(slow=True)
    bench = running(process)
    process.dies("gone", 1)
    events = bench.after(20)
    assert (1, 0) == (len(of(Acting, events)), len(of(Acted, events)))
    process.finish("restart")
    (acted,) = of(Acted, bench.after(3))
    assert "started as process 8" == acted.action.outcome
    assert ["python train.py"] == process.done


def test_who_leaves_does_not_wait_for_what_is_under_way() -> None:
    """It is kept as begun; nobody knows what comes of it."""
    process = Trainer(slow=True)
    bench = running(process)
    process.dies("gone", 1)
    bench.after(5)
    acted, ended = bench.watch.finish("interrupted")
    assert "begun, and not waited for" == acted.action.outcome
    assert ["begun, and not waited for"] == [a["outcome"] for a in ended.summary["actions"]]


def test_no_secret_of_an_outcome_or_of_the_last_word_is_told() -> None:
    """A command of the user's and an error of a host say what they like."""
    process = Trainer(slow=True)
    bench = running(process)
    process.dies("gone", 1)
    bench.after(5)
    process.doing.set_result("failed with code 1: WANDB_API_KEY=hunter2hunter2")
    (acted,) = of(Acted, bench.after(1))
    assert "failed with code 1: WANDB_API_KEY=" in acted.action.outcome
    (ended,) = bench.watch.finish("out of reach: WANDB_API_KEY=hunter2hunter2 is no host")
    assert ended.why.startswith("out of reach: WANDB_API_KEY=")
    assert "hunter2" not in f"{acted.action} {ended.why} {ended.summary} {ended.artifact}"


def test_a_cancelled_run_is_not_left_before_it_is_ended() -> None:
    """The last word comes after what was done."""
    process = Trainer(slow=True)
    bench = Bench(process, allowed=Allowed(yes=frozenset(["cancel"])))
    bench.say(*steps(1, 40), *steps(41, 60, float("nan")))
    bench.baseline()
    assert not of(Ended, bench.after(90))
    process.finish("cancel")
    last = bench.after(3)
    assert [Acted, Ended] == [type(e) for e in last if isinstance(e, Acted | Ended)]


def test_a_zombie_is_ended_and_started_again() -> None:
    """It will never write again."""
    process = Trainer()
    bench = running(process)
    process.dies("zombie")
    events = bench.after(3)
    assert ["end", "python train.py"] == process.done
    assert ["process running → process zombie", "process zombie → process running"] == [
        f"{e.before} → {e.state}" for e in of(Turned, events)
    ]


def test_an_ending_in_words_has_to_stand_for_a_while() -> None:
    """A failure that the run overcomes does not end the watch."""
    bench = Bench(settle=30.0)
    bench.say(*steps(1, 50))
    bench.baseline()
    bench.say("Traceback (most recent call last):", '  File "t.py", line 1, in f',
              "RuntimeError: worker lost")  # fmt: skip
    assert [] == of(Ended, bench.after(50))
    bench.say(*steps(51, 70))
    assert [] == of(Ended, bench.after(100))
    bench.say("Traceback (most recent call last):", '  File "t.py", line 1, in f',
              "RuntimeError: worker lost")  # fmt: skip
    (ended,) = of(Ended, bench.after(61))
    assert "FAILED" == ended.summary["terminal_state"]


CRASH = ("Traceback (most recent call last):", '  File "t.py", line 1, in f', "RuntimeError: lost")


def test_a_process_that_has_just_died_is_not_called_alive() -> None:
    """It is looked at before anything is done: what is gone is started again, not ended first."""
    process = Trainer()
    bench = Bench(process, settle=30.0)
    bench.say(*steps(1, 50))
    bench.baseline()
    bench.say(*CRASH)
    bench.after(120.005)
    process.dies(code=1)
    bench.watch.note("something to tell between two looks")
    bench.now += 0.5
    assert [] == of(Acting, bench.watch.tick())
    (asked, *_) = of(Acting, bench.after(3))
    assert ("restart", False) == (asked.remedy.kind, asked.remedy.asks)


def test_a_second_crash_is_an_ending_of_its_own() -> None:
    """It has to stand as long as the first, though the run had failed before it, too."""
    process = Trainer()
    bench = Bench(process, settle=30.0)
    bench.say(*steps(1, 50), *CRASH)
    bench.baseline()
    bench.after(118)
    process.dies(code=1)
    (acted,) = of(Acted, bench.after(4))
    bench.say(*steps(1, 50), *CRASH)
    assert [] == of(Acting, bench.after(100))
    process.dies(code=1)
    (again, *_) = of(Acting, bench.after(3))
    assert (acted.action.kind, again.remedy.kind) == ("restart", "restart")


def test_out_of_reach_is_unknown_and_never_bad() -> None:
    """No stall and no stop while the source does not answer; it is told when it does again."""
    bench = Bench()
    bench.say(*steps(1, 50))
    bench.baseline()
    (lost,) = bench.watch.reach(ok=False, note="unreachable since 10:00")
    assert isinstance(lost, Turned)
    assert "unreachable, state unknown" == lost.state
    events = bench.after(5000)
    assert [] == of(Found, events) + of(Ended, events)
    assert {"unreachable, state unknown"} == {e.state for e in of(Progressed, events)}
    (back,) = bench.watch.reach(ok=True, note="")
    assert isinstance(back, Turned)
    assert "reachable" == back.state
    bench.watch.reach(ok=False, note="again")
    (ended,) = of(Ended, bench.watch.finish("interrupted"))
    assert ended.unreachable
    assert ("UNKNOWN", "CONTINUE") == (
        ended.summary["terminal_state"], ended.summary["judgement"]
    )  # fmt: skip


def test_silence_is_judged_by_the_runs_own_pace() -> None:
    """Lines every 10 seconds, then none: told after the patience, withdrawn when it goes on."""
    bench = Bench(Trainer(), cadence=Cadence.of(30, 300, backoff=False))
    bench.say(*steps(1, 1))
    bench.baseline()
    for i in range(2, 40):
        bench.say(*steps(i, i))
        assert [] == of(Found, bench.after(10))
    (found,) = of(Found, bench.after(120))
    assert ("stalled", "new", 39) == (found.finding.kind, found.change, found.finding.step)
    bench.say(*steps(40, 41))
    (found,) = of(Found, bench.after(3))
    assert ("changed", State.RECOVERED) == (found.change, found.finding.state)


def test_silence_that_may_be_the_end_is_no_stall() -> None:
    """Where the log was old when the watcher came and nothing else says that the run lives: wait.
    With a process that lives, or after lines that came meanwhile, it is a stall."""
    lost = Bench(age=3600.0)
    lost.say(*steps(1, 50))
    (found,) = of(Found, lost.baseline())
    assert ("quiet", "medium", "low") == (
        found.finding.kind, found.finding.severity, found.finding.confidence
    )  # fmt: skip
    (ended,) = of(Ended, lost.after(100))
    assert "it needs a person: nothing was written" in ended.why
    assert ("UNKNOWN", "WAIT", "CONDITIONAL") == tuple(
        ended.summary[key] for key in ("terminal_state", "judgement", "decision")
    )
    hung = Bench(Trainer(), age=3600.0)
    hung.say(*steps(1, 50))
    assert ["stalled"] == [event.finding.kind for event in of(Found, hung.baseline())]
    seen = Bench()
    seen.say(*steps(1, 50))
    seen.baseline()
    seen.say(*steps(51, 60))
    assert ["stalled"] == [event.finding.kind for event in of(Found, seen.after(700))]


def test_silence_in_an_evaluation_asks_to_wait() -> None:
    """What begins after an evaluation was announced is that evaluation's; training ends it."""
    bench = Bench(Trainer(), cadence=Cadence.of(30, 300, backoff=False))
    bench.say(*steps(1, 1))
    bench.baseline()
    for i in range(2, 40):
        bench.say(*steps(i, i))
        bench.after(10)
    bench.say("***** Running Evaluation *****")
    (found,) = of(Found, bench.after(120))
    assert ("stalled_eval", 39) == (found.finding.kind, found.finding.step)
    assert "WAIT" == rule(found.finding.kind).judgement
    bench.say(*steps(40, 41))
    bench.after(3)
    assert ["stalled"] == [e.finding.kind for e in of(Found, bench.after(400)) if e.change == "new"]


def test_after_the_last_word_there_is_no_baseline() -> None:
    """A source that is out of reach may be given up before anything was read."""
    bench = Bench()
    assert of(Ended, bench.watch.finish("out of reach"))
    assert [] == bench.baseline()


def test_a_log_that_starts_over_goes_on_under_its_name() -> None:
    """Its lines count on, the cut-off last line of the old text is dropped."""
    bench = Bench()
    bench.say(*steps(1, 30))
    bench.watch.take(Chunk(STREAM, b"step 31/1000 | lo", bench.read))
    bench.read = 0
    bench.say(*steps(31, 40))
    bench.baseline()
    (ended,) = bench.watch.finish("interrupted")
    assert isinstance(ended, Ended)
    assert (40, 40) == (ended.summary["lines"], ended.summary["steps"]["last"])
    assert "2.0" == str(ended.summary["final_metrics"]["loss"])


def test_a_pipe_that_ends_ends_the_watch() -> None:
    """At once, whatever was said last."""
    bench = Bench()
    bench.say(*steps(1, 30))
    bench.baseline()
    bench.watch.take(Chunk(STREAM, b"", bench.read, last=True))
    (ended,) = of(Ended, bench.after(2))
    assert "the input has ended" == ended.why


def test_events_hold_no_secrets() -> None:
    """Neither those of the numbers, nor those of the text, nor the line that shows the format."""
    bench = Bench()
    bench.say("step 1/1000 | loss 2.0 | url https://u:hunter2@h/x")
    bench.say("step 2/1000 | loss nan | url https://u:hunter2@h/x")
    bench.say("RuntimeError: api_key=hunter2hunter2")
    told = [*bench.baseline(), *bench.watch.finish("enough")]
    assert of(Found, told)
    assert "hunter" not in repr(told)
