"""What each signal says of made-up trainings whose course is known."""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runwatch import checkup
from runwatch.baseline import Baseline, Reference
from runwatch.judge import Opinion, Picture, Signal, signals
from runwatch.judgement import Judgement
from runwatch.scanning import scan
from runwatch.summary import Summary
from tests.judge.logs import healthy, lines, write

Read = Callable[..., Summary]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Scans the lines of a log."""

    def reading(told: list[str]) -> Summary:
        path = write(tmp_path / "train.log", told)
        return scan(str(path), clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    return reading


def judged(summary: Summary, baseline: str = "", reference: Summary | None = None) -> Picture:
    other = None if reference is None else Reference("other", reference.curves)
    return Picture(
        summary.findings, summary.curves, summary.steps, Baseline.parse_all(baseline), other
    )


def by_name(picture: Picture) -> dict[str, Signal]:
    return {signal.name: signal for signal in signals(picture)}


def test_a_healthy_training_is_fine_in_all_that_was_measured(read: Read) -> None:
    """Nothing is unsure, nothing bad; what is told names the way of the loss."""
    seen = by_name(judged(read(lines(400))))
    assert {Opinion.FINE} == {signal.opinion for signal in seen.values()}
    assert "falling" in seen["loss"].words
    assert checkup.answer(list(seen.values())).judgement is Judgement.CONTINUE


@pytest.mark.parametrize("last", [40, 100, 250, 600, 950])
def test_no_age_of_a_healthy_training_asks_for_a_stop(read: Read, last: int) -> None:
    """However much of it was written yet."""
    told = checkup.answer(signals(judged(read(lines(last)))))
    assert told.judgement is Judgement.CONTINUE, told.reason


def test_a_loss_that_is_no_number_is_bad(read: Read) -> None:
    """To the end of the log."""
    sick = lines(200, lambda step: math.nan if step > 170 else healthy(step))
    told = by_name(judged(read(sick)))["numbers"]
    assert (told.opinion, told.line) == (Opinion.BAD, 174)


def test_a_loss_that_climbs_for_long_is_bad(read: Read) -> None:
    """Also where a line comes so rarely that there are thirty in all."""
    rare = [line for step in range(100, 3100, 100) for line in lines(
        step, lambda s: 3 - s / 1000 if s <= 1500 else s / 1000, first=step, total=10000, every=9999
    )]  # fmt: skip
    told = by_name(judged(read(rare)))["loss"]
    assert (told.opinion, "diverging" in told.words) == (Opinion.BAD, True), told.words


def test_a_flat_loss_is_unsure_and_a_finished_schedule_is_not(read: Read) -> None:
    """Flat in the middle is for a reviewer; flat at the end is how schedules end."""
    flat = read(lines(500, lambda step: 2.0))
    assert by_name(judged(flat))["loss"].opinion is Opinion.UNSURE
    ended = read(lines(960, lambda step: 2.0))
    assert by_name(judged(ended))["loss"].opinion is Opinion.FINE


def test_noise_without_a_trend_is_unsure(read: Read) -> None:
    """No trend can be told, and that is said."""
    told = by_name(judged(read(lines(60, lambda step: 1.0, noise=0.8))))["loss"]
    assert told.opinion is Opinion.UNSURE


def test_one_jump_makes_unsure_and_never_stops(read: Read) -> None:
    """More than ten times the normal variance, on the last line."""
    spiked = read(lines(60, lambda step: 9.0 if step == 60 else healthy(step)))
    told = by_name(judged(spiked))["spikes"]
    assert (told.opinion, told.line) == (Opinion.UNSURE, 61), told.words
    over = read(lines(120, lambda step: 9.0 if step == 60 else healthy(step)))
    assert checkup.answer(signals(judged(over))).judgement is Judgement.CONTINUE


@pytest.mark.parametrize(("size", "word"), [(5000.0, "exploding"), (1e-5, "vanishing")])
def test_gradients_that_explode_or_vanish_are_unsure(read: Read, size: float, word: str) -> None:
    """Against the run's own median."""
    sick = read(lines(300, norm=lambda step: size if step > 292 else 1.0))
    told = by_name(judged(sick))["gradients"]
    assert told.opinion is Opinion.UNSURE
    assert word in told.words or told.line, told.words


@pytest.mark.parametrize(
    ("last", "baseline", "expected"),
    [
        (900, "loss=1.3", Opinion.FINE),  # reached
        (300, "loss=1.2", Opinion.FINE),  # far off, early, and on its way
        (300, "val_acc=0.4", Opinion.FINE),
        (900, "acc=0.9", Opinion.UNSURE),  # far off and late, but still on its way
        (300, "bleu=3", Opinion.UNKNOWN),
    ],
)  # fmt: skip
def test_a_training_on_its_way_against_a_baseline(
    read: Read, last: int, baseline: str, expected: Opinion
) -> None:
    """A number of a finished run is no reproach to one that has just begun."""
    told = signals(judged(read(lines(last)), baseline))[-1]
    assert told.opinion is expected, told.words


@pytest.mark.parametrize(
    ("last", "expected"), [(200, Opinion.UNSURE), (700, Opinion.BAD)],
)  # fmt: skip
def test_significantly_worse_and_standing_still(read: Read, last: int, expected: Opinion) -> None:
    """Early it may still come; past the middle of the run it is clearly bad."""
    told = signals(judged(read(lines(last, lambda step: 2.0)), "val_loss=1.5"))[-1]
    assert told.opinion is expected, told.words


def test_slightly_worse_is_unsure_however_late(read: Read) -> None:
    """Five percent are no reason to stop."""
    told = signals(judged(read(lines(700, lambda step: 2.0)), "val_loss=2.0"))[-1]
    assert told.opinion is Opinion.UNSURE, told.words


def test_a_reference_run_is_compared_at_the_same_step(read: Read) -> None:
    """A run that is as far as the other was is fine; one that lags is bad, however early."""
    other = read(lines(1000))
    same = read(lines(400))
    assert signals(judged(same, reference=other))[-1].opinion is Opinion.FINE
    behind = read(lines(400, lambda step: 3 - step / 1500))
    told = signals(judged(behind, reference=other))[-1]
    assert told.opinion is Opinion.BAD, told.words


def test_a_reward_is_what_a_policy_learns_by(read: Read) -> None:
    """Its loss may go where it likes."""
    told = [
        f"iteration {i}/500 | mean_reward {i / 10 + random_of(i):.3f} | policy loss {i / 50:.4f}"
        for i in range(1, 200)
    ]
    found = by_name(judged(read(told)))["loss"]
    assert found.opinion is Opinion.FINE, found.words


def random_of(i: int) -> float:
    return (i * 7919 % 13) / 13


def test_nothing_measured_is_nothing_judged(read: Read) -> None:
    """An empty picture has no opinion but that more is needed."""
    seen = signals(judged(read(["hello", "world"])))
    assert {Opinion.UNKNOWN} == {signal.opinion for signal in seen}
    assert checkup.answer(seen).judgement is Judgement.WAIT
