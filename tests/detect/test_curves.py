"""Curves: small pictures of metrics that do not depend on how they were read."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.chunk import Chunk, Stream
from runwatch.curve import Curve
from runwatch.detect import Columns
from runwatch.detect.curves import MOST, TAIL, Curves
from runwatch.parse import Parser
from runwatch.records import Batch
from tests.judge.logs import lines

Cuts = list[int]


def curves(text: bytes, cuts: Cuts = [], stream: str = "train.log") -> Curves:  # noqa: B006 only read
    gathered, parser = Curves(), Parser()
    read(gathered, parser, text, cuts, stream)
    return gathered


def read(gathered: Curves, parser: Parser, text: bytes, cuts: Cuts, stream: str) -> None:
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for begin, end in itertools.pairwise(edges):
        last = end == len(text)
        piece = text[begin:end]
        feed(gathered, parser.feed(Chunk(Stream(stream), piece, begin, "id", last=last)))
    feed(gathered, parser.finish(Stream(stream)))


def feed(gathered: Curves, batch: Batch) -> None:
    gathered.feed(batch, Columns(batch))


def named(told: tuple[Curve, ...], metric: str) -> Curve:
    return next(curve for curve in told if curve.metric == metric)


TEXT = "".join(f"{line}\n" for line in lines(450)).encode()


@settings(max_examples=20)
@given(st.lists(st.integers(0, 1 << 16), max_size=12))
def test_where_the_text_is_cut_does_not_matter(cuts: Cuts) -> None:
    """To the last bit of every block."""
    assert curves(TEXT).told() == curves(TEXT, cuts).told()


def test_a_stored_state_goes_on_as_if_nothing_had_happened() -> None:
    """Through JSON, in the middle of a block."""
    whole, half = curves(TEXT), TEXT.find(b"step 333/")
    parser, first = Parser(), Curves()
    feed(first, parser.feed(Chunk(Stream("train.log"), TEXT[:half], 0, "id")))
    second = Curves()
    second.restore(json.loads(json.dumps(first.state())))
    feed(second, parser.feed(Chunk(Stream("train.log"), TEXT[half:], half, "id", last=True)))
    assert whole.told() == second.told()


def test_a_curve_stays_small_and_keeps_the_course() -> None:
    """However long the run: bounded blocks, whose means are those of the values."""
    steps = 20_000
    text = "".join(f"step {i} loss {i}.5\n" for i in range(steps)).encode()
    loss = named(curves(text).told(), "loss")
    assert loss.count == steps
    assert len(loss.blocks) <= MOST
    assert len(loss.tail) == TAIL
    assert [float(i) + 0.5 for i in range(steps - TAIL, steps)] == [s.value for s in loss.tail]
    size = steps / len(loss.blocks)
    first = loss.blocks[0]
    assert first.step is not None
    assert first.value == pytest.approx(first.step / 2 + 0.5)
    assert first.step + 1 == pytest.approx(size, rel=0.5)


def test_every_step_counts_once_however_many_ranks_tell_it() -> None:
    """A second file with the same steps adds nothing; one that is further goes on."""
    gathered = Curves()
    for stream, last in (("rank_0.log", 100), ("rank_1.log", 120)):
        read(gathered, Parser(), "\n".join(lines(last)).encode() + b"\n", [], stream)
    loss = named(gathered.told(), "loss")
    assert loss.count == 120
    assert [s.step for s in loss.tail] == list(range(121 - TAIL, 121))


def test_what_was_done_behind_a_restart_is_dropped() -> None:
    """The run went to 200, died, and went on from 150 with another loss."""
    old = lines(200)
    new = lines(170, lambda step: 9.0, first=150, noise=0)
    loss = named(curves("".join(f"{line}\n" for line in [*old, *new]).encode()).told(), "loss")
    assert [s.step for s in loss.tail] == [*range(150, 171)]
    assert {9.0} == {s.value for s in loss.tail if s.step and s.step >= 150}
    assert all(s.value < 5 for s in loss.blocks if s.step and s.step < 150)


def test_values_that_are_no_numbers_stay_in_the_tail_only() -> None:
    """They are told as they are, and spoil no mean."""
    text = b"step 1 loss 1.0\nstep 2 loss nan\nstep 3 loss 3.0\n"
    loss = named(curves(text).told(), "loss")
    assert ["1.0", "nan", "3.0"] == [str(s.value) for s in loss.tail]
    assert [1.0, 3.0] == [s.value for s in loss.blocks]


def test_a_log_with_thousands_of_metrics_keeps_few_curves() -> None:
    """The bound holds for those we know and for evaluations of other names."""
    text = "".join(f"step {i} loss_{i} 1.0 eval/thing_{i} 2.0\n" for i in range(500)).encode()
    assert len(curves(text).told()) <= 64


def test_real_logs_give_curves_of_what_they_report(shared: Path) -> None:
    """Every log that reports a loss has its curve, whose last value is the last one reported."""
    seen = 0
    for path in sorted((shared / "corpus" / "synthetic").glob("*.log")):
        told = curves(path.read_bytes()).told()
        for curve in told:
            assert curve.count == 0 or curve.blocks
        seen += any(curve.quantity == "loss" for curve in told)
    assert seen >= 8
