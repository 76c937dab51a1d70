"""A watched run and the GPUs that it works on, walked through with a clock that we move."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runwatch.chunk import Chunk, Cursor
from runwatch.event import Ended, Found
from runwatch.ingest.gpu import STREAM
from runwatch.parse.knowledge import builtin
from runwatch.past import remembered
from runwatch.pipeline import Analysis
from runwatch.store import Store
from tests.detect.gpus import BUSY, Look, look, told
from tests.monitor.test_watch import START, Bench, Trainer, of, steps


class Machine:
    """A run of a step a second, and looks at its GPUs every ten seconds."""

    def __init__(self, process: Trainer | None = None) -> None:
        self.bench = Bench(process)
        self.bench.say(*steps(1, 50))
        self.bench.baseline()
        self.step, self.told = 50, 0

    def gauge(self, one: Look) -> None:
        """A look at the GPUs."""
        data = told([one], begin=self.bench.clock().timestamp())
        self.bench.watch.gauge(Chunk(STREAM, data, self.told))
        self.told += len(data)

    def trains(self, seconds: int, one: Look) -> list[Any]:
        """It goes on."""
        events = []
        for _ in range(seconds // 10):
            self.bench.say(*steps(self.step + 1, self.step + 10))
            self.step += 10
            self.gauge(one)
            events += self.bench.after(10)
        return events

    def falls_silent(self, seconds: int, one: Look) -> list[Any]:
        """Its GPUs are looked at on."""
        events = []
        for _ in range(seconds // 10):
            self.gauge(one)
            events += self.bench.after(10)
        return events


def everyone(**ways: Any) -> Look:
    """Eight GPUs that are like this."""
    return [replace(BUSY, gpu=n, **ways) for n in range(8)]


@pytest.mark.parametrize(
    ("meanwhile", "severity", "confidence", "words"),
    [
        (everyone(util=0, power=90), "high", "high", "its GPUs idle meanwhile (0 %, 97 % before)"),
        (everyone(util=100, power=150), "high", "high",
         "busy meanwhile (100 %) but draw 150 W instead of 600"),
        (everyone(), "medium", "low", "its GPUs work on as before (97 %, 600 W)"),
        (everyone(util=30, power=300), "high", "medium", "its GPUs are 30 % busy meanwhile (97 %"),
        ([], "high", "medium", "and counting"),
    ],
)  # fmt: skip
def test_what_the_gpus_do_tells_a_hang_from_a_long_phase(
    meanwhile: Look, severity: str, confidence: str, words: str
) -> None:
    """Idle, or busy with waiting: a hang. At work as before: perhaps none. Else only told."""
    machine = Machine(Trainer())
    machine.trains(300, everyone())
    events = machine.falls_silent(300, meanwhile)
    stall = [event.finding for event in of(Found, events) if event.finding.kind == "stalled"][-1]
    assert (severity, confidence) == (stall.severity, stall.confidence)
    assert words in stall.message
    assert "step 350/1000" in stall.evidence[0]


def test_gpus_of_somebody_else_say_nothing_of_a_silence() -> None:
    """Only those at work while the run made progress do."""
    machine = Machine(Trainer())
    machine.trains(300, everyone(util=0, power=90))
    events = machine.falls_silent(300, everyone())
    (stall,) = (event.finding for event in of(Found, events) if event.finding.kind == "stalled")
    assert stall.message.endswith("and counting")


def test_a_leak_is_told_at_once_and_is_no_sign_of_life() -> None:
    """With the reading that it rests on; what GPUs tell counts as no line and no stream."""
    machine = Machine(Trainer())
    events = []
    for i in range(40):
        events += machine.trains(30, look(2, used=66 + 0.25 * i))
    (leak,) = (one for one in of(Found, events) if one.finding.kind == "gpu_memory")
    assert ("new", STREAM.name) == (leak.change, leak.finding.stream)
    (evidence,) = leak.finding.evidence
    assert evidence.startswith('{"time":"2026-03-01T10:')
    assert '"gpu":1,"gpus":2,"gpu_util":97,' in evidence
    report = machine.bench.watch.peek()
    assert (("train.log", None, machine.step),) == tuple(place[:3] for place in report.ranks)
    (ended,) = of(Ended, machine.bench.watch.finish("interrupted"))
    assert (1, machine.step) == (ended.summary["streams"], ended.summary["lines"])
    assert "gpu_memory" in [one["kind"] for one in ended.summary["findings"]]


def test_a_watch_that_goes_on_remembers_its_gpus(tmp_path: Path) -> None:
    """Their past is kept with the run's; nothing is told twice, nothing is lost."""
    store = Store(tmp_path / "history.duckdb")
    data = told([look(util=0)] * 12)
    half = data.index(b"\n", len(data) // 2) + 1
    kept, past = remembered(store, "run", None)
    for part, begin in ((data[:half], 0), (data[half:], half)):
        analysis = Analysis(
            "run", "train.log", store=kept, clock=lambda: START, knowledge=builtin(),
            state=None if past is None else past.state,
        )  # fmt: skip
        assert begin == (past.cursors[STREAM.name].offset if past else 0)
        analysis.gauge(Chunk(STREAM, part, begin))
        analysis.flush()
        kept, past = remembered(store, "run", None)
    assert past is not None
    assert Cursor("", len(data), data.count(b"\n")) == past.cursors[STREAM.name]
    assert ["gpu_idle"] == [one.kind for one in analysis.findings()]
    table = store.query("SELECT count(*) AS n FROM points WHERE metric = 'gpu_util'")
    assert [{"n": 12 * 8}] == table.to_pylist()
