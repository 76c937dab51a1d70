"""Ranks that leave the others are named, whoever speaks first and however long the run."""

from dataclasses import replace
from itertools import permutations
from math import inf, nan
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.chunk import Stream
from runwatch.detect import Columns, Room
from runwatch.detect.agreement import Detector
from runwatch.detect.compared import Compared
from runwatch.detect.steps import Told
from runwatch.finding import Finding
from runwatch.kernels import native
from runwatch.kernels.agreement import MOST
from tests.detect.numbers.numeric_batches import Record, batch, feed, record


def alike(
    ranks: range,
    steps: int,
    odd: set[int] = frozenset(),
    since: int = 0,  # type: ignore[assignment]
) -> list[Record]:
    """Gradient norms that are the same on all ranks, but for the odd ones since a step."""
    return [
        record(
            len(ranks) * s + i + 1, step=s, rank=rank,
            grad_norm=(1.0 + s % 37 / 100) * (1.3 if rank in odd and s >= since else 1.0),
        )
        for s in range(steps)
        for i, rank in enumerate(ranks)
    ]  # fmt: skip


def told(*batches: list[Record]) -> list[Finding]:
    """What is said of these batches of one stream."""
    watching = Detector()
    for records in batches:
        feed(watching, records)
    return watching.findings()


@pytest.mark.parametrize("odd", range(4))
def test_the_odd_rank_is_named(odd: int) -> None:
    """Whichever it is, also the one that speaks first; cited is its first line that differs."""
    [found] = told(alike(range(4), 80, {odd}, 60))
    assert ("rank_disagrees", odd, 60) == (found.kind, found.rank, found.step)
    assert 4 * 60 + odd + 1 == found.line
    assert "after 60 compared steps" in found.message


@pytest.mark.parametrize("odd", [0, 2])
@pytest.mark.parametrize("said", [inf, -inf, nan, 1.7e308, -1.7e308])
@pytest.mark.parametrize("others", [1.0, -inf, nan, -1.7e308])
def test_infinity_is_like_nothing_else(odd: int, said: float, others: float) -> None:
    """A rank at infinity has left the others, and so have they where it has not; only where all say
    the same nobody has."""
    values = dict.fromkeys(range(4), others) | {odd: said}
    later = [
        replace(one, values=(("grad_norm", "grad_norm", values[one.rank or 0]),))
        for one in alike(range(4), 80)
        if (one.step or 0) >= 60
    ]
    found = told(alike(range(4), 60) + later)
    left = [] if str(said) == str(others) else [("rank_disagrees", odd, 60)]
    assert left == [(one.kind, one.rank, one.step) for one in found]


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_files_are_read_in_any_order(order: tuple[int, ...]) -> None:
    """One file a rank, one read after the other: the same rank is named, in its own file."""
    watching = Detector()
    for rank in order:
        whole = batch(alike(range(rank, rank + 1), 90, {1}, 70), f"rank_{rank}")
        watching.feed(whole, Columns(whole))
    [found] = watching.findings()
    assert (1, 70, "rank_1", 71) == (found.rank, found.step, found.stream, found.line)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("odd", [0, 1])
def test_the_latest_attempt_is_compared(odd: int, order: tuple[int, ...]) -> None:
    """Attempts that write files of their own are compared each for itself, and the latest counts,
    in whatever order they are read."""
    watching = Detector()
    for attempt in order:
        of = alike(range(4), 80, {2} if attempt == odd else set(), since=60)
        for rank in range(4):
            name = f"attempt_{attempt}/{rank}/stdout.log"
            whole = batch([one for one in of if one.rank == rank], stream=name)
            watching.feed(whole, Columns(whole))
    told = [(item.kind, item.rank, item.stream) for item in watching.findings()]
    assert told == [("rank_disagrees", 2, "attempt_1/2/stdout.log")] * odd


def test_several_ranks_are_listed() -> None:
    """A node of which all ranks left the others is told with its ranks; no single one is named."""
    [found] = told(alike(range(8), 80, {4, 5}, 60))
    assert found.rank is None
    assert "ranks 4-5 left" in found.message
    assert found.rank_note == "undetermined: ranks 4-5 differ alike"


@pytest.mark.parametrize("ranks", [2, 4])
def test_of_two_halves_none_is_the_odd_one(ranks: int) -> None:
    """Where as many say one as the other, that they differ is told, and no rank."""
    [found] = told(alike(range(ranks), 80, {*range(ranks // 2)}, 60))
    assert (None, "undetermined: as many ranks say one as the other") == (
        found.rank, found.rank_note,
    )  # fmt: skip


def test_a_long_run_is_thinned() -> None:
    """Of a long run a bounded number of steps is kept, and what lasts is found all the same."""
    watching = Detector()
    for begin in range(0, 6000, 500):
        feed(
            watching, [r for r in alike(range(3), 6000, {2}, 5000) if begin <= r.step < begin + 500]
        )  # type: ignore[operator]
    [found] = watching.findings()
    assert found.rank == 2
    assert found.step is not None
    assert 5000 <= found.step <= 5100
    [past] = watching.state()["metrics"].values()
    assert len(past["keys"]) <= MOST


def test_a_step_told_twice_is_one_voice() -> None:
    """Several loggers that repeat a rank's number do not make a majority."""
    records = [
        r for one in alike(range(3), 80, {0}, 60) for r in ([one] * (4 if one.rank == 0 else 1))
    ]
    [found] = told(records)
    assert found.rank == 0


def test_a_log_without_ranks_cannot_be_compared() -> None:
    """The check says why it did not run."""
    watching = Detector()
    feed(watching, [record(i, step=i, lr=1e-3) for i in range(50)])
    assert not watching.check().ran
    assert Stream("log").rank is None


@settings(max_examples=40, deadline=None)
@given(
    ranks=st.integers(1, 5),
    count=st.integers(1, 700),
    odd=st.sets(st.integers(0, 40)),
    kind=st.sampled_from([nan, inf, 1.0005, 1.00001, 2.0]),
    cut=st.integers(0, 700),
    drawn=st.randoms(use_true_random=False),
)
def test_compiled_code_keeps_the_same_steps(
    ranks: int, count: int, odd: set[int], kind: float, cut: int, drawn: Random
) -> None:
    """In whatever order steps come, repeated or not, and whoever says something else of some: what
    is known of them is the same, to the last bit."""
    assert native.judging.works()
    steps = [drawn.choice([i, drawn.randrange(900)]) for i in range(count)]
    records = [
        record(i * ranks + rank + 1, step=step, rank=rank,
               loss=kind if step % 41 in odd and rank == ranks - 1 else 1.0)
        for i, step in enumerate(steps)
        for rank in range(ranks)
    ]  # fmt: skip
    plain, fast = Compared(), Compared()
    for part in (records[: cut * ranks], records[cut * ranks :]):
        for each in (plain, fast) if part else ():
            groups = Columns(batch(part)).groups["loss"]
            told = Told(groups, Room(), compiled=each is fast)
            each.feed("log", groups, [*range(len(groups))], told)
    assert plain.state() == fast.state()
