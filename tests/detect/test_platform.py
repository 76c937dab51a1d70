"""Silence of a job that Vertex AI says is running, and the errors of its tasks."""

from runwatch.chunk import Chunk, Stream
from runwatch.detect import Columns
from runwatch.detect.stall import Detector
from runwatch.finding import Finding, State
from runwatch.parse import Parser

STATES, WORKER = Stream("vertex", None, "vertex"), Stream("workerpool0-0")
THREE = 180.0  # seconds of three intervals of a minute


class Bench:
    """A detector with what was said so far, and its clock."""

    def __init__(self) -> None:
        self.detector, self.now = Detector(), 0.0
        self._parser = Parser(watchwords=Detector.watchwords)
        self._at: dict[str, int] = {}

    def say(self, stream: Stream, *lines: str) -> None:
        """These lines come now."""
        text = "".join(f"2026-05-01T10:00:00.000000Z {line}\n" for line in lines).encode()
        begin = self._at.get(stream.name, 0)
        self._at[stream.name] = begin + len(text)
        batch = self._parser.feed(Chunk(stream, text, begin))
        self.detector.feed(batch, Columns(batch))

    def after(self, seconds: float, *, lives: bool = True) -> list[Finding]:
        """What stands so much later, looked at each second."""
        until = self.now + seconds
        while self.now < until:
            self.now += 1.0
            self.detector.tick(self.now, 0.0, lives=lives, three=THREE)
        return self.detector.findings()


def kinds(found: list[Finding]) -> list[tuple[str, State, str, int]]:
    return [(one.kind, one.state, one.stream, one.line) for one in found]


def test_a_job_without_a_line_for_three_intervals_has_stalled() -> None:
    """Not a second earlier; when it goes on, that is told, and such a pause is then normal."""
    bench = Bench()
    bench.say(STATES, "JOB_STATE_RUNNING custom job a (projects/p)")
    bench.say(WORKER, "Step 1/9 loss 2", "Step 2/9 loss 2")
    bench.after(1)
    assert [] == bench.after(179)
    (stall,) = bench.after(1)
    assert [("job_stalled", State.OPEN, "workerpool0-0", 2)] == kinds([stall])
    assert ("high", "nothing was logged for 3 minutes after this line, while it is said to be "
            "running") == (stall.severity, stall.message)  # fmt: skip
    bench.say(WORKER, "warming up")  # any line will do
    (past,) = bench.after(1)
    assert [("job_stalled", State.RECOVERED, "workerpool0-0", 2)] == kinds([past])
    assert [past] == bench.after(361)
    assert 2 == len(bench.after(4))


def test_a_job_that_waits_has_not_stalled() -> None:
    """Queued, pending or paused: nobody expects a line."""
    bench = Bench()
    for state in ("QUEUED", "PENDING", "PAUSED", "CANCELLING", "UPDATING"):
        bench.say(STATES, f"JOB_STATE_{state} custom job a (projects/p)")
        assert [] == bench.after(4000)


def test_a_pipeline_is_stuck_where_neither_tasks_nor_lines_move() -> None:
    """A task that trains for hours changes no state, but writes its log."""
    bench = Bench()
    bench.say(STATES, "PIPELINE_STATE_RUNNING pipeline a (projects/p)", "TASK_STATE_RUNNING task b")
    for step in range(20):
        bench.say(Stream("b/workerpool0-0"), f"Step {step}/100 loss 2")
        assert [] == bench.after(100)
    bench.say(STATES, "TASK_STATE_SUCCEEDED task b")
    assert [] == bench.after(179)
    assert [("pipeline_stuck", State.OPEN, "vertex", 3)] == kinds(bench.after(30))


def test_a_stall_that_ended_badly_stands() -> None:
    """It may be why; one that ended well is over."""
    for state, left in (("CANCELLED", ["job_stalled"]), ("SUCCEEDED", [])):
        bench = Bench()
        bench.say(STATES, "JOB_STATE_RUNNING custom job a (projects/p)")
        bench.after(300)
        bench.say(STATES, f"JOB_STATE_{state} custom job a (projects/p)")
        assert left == [one.kind for one in bench.after(300)]


def test_errors_of_tasks_are_told_once_each() -> None:
    """Of the task events only; a pipeline that succeeded has overcome them."""
    bench = Bench()
    bench.say(
        STATES, "PIPELINE_STATE_RUNNING pipeline a (projects/p)",
        "INFO pipeline_job_task_events b: started", "ERROR pipeline_job_task_events b: no image",
        "ERROR pipeline_job_task_events b: no image", "CRITICAL pipeline_job_task_events c: lost",
    )  # fmt: skip
    bench.say(WORKER, "ERROR pipeline_job_task_events is what we train on")
    found = bench.after(1)
    assert [("task_log_error", State.OPEN, "vertex", line) for line in (3, 5)] == kinds(found)
    assert ["a task logged an error: b: no image", "a task logged an error: c: lost"] == [
        one.message for one in found
    ]
    assert {"medium"} == {one.severity for one in found}
    bench.say(STATES, "PIPELINE_STATE_SUCCEEDED pipeline a (projects/p)")
    assert {State.RECOVERED} == {one.state for one in bench.after(1)}


def test_it_goes_on_in_another_process() -> None:
    """What was learned is plain JSON; the clock begins anew."""
    bench, other = Bench(), Bench()
    bench.say(STATES, "JOB_STATE_RUNNING custom job a (projects/p)")
    bench.say(WORKER, "Step 1/9 loss 2")
    bench.after(10)
    other.detector.restore(bench.detector.state())
    other.after(1)
    assert [] == other.after(179)
    assert [("job_stalled", State.OPEN, "workerpool0-0", 1)] == kinds(other.after(2))
