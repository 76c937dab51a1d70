"""The ladder of intervals, when a check is due, and how signals become one answer."""

from datetime import UTC, datetime, timedelta

import pytest

from runwatch.checkup import Answer, Last, answer, interval
from runwatch.judge import Opinion, Signal
from runwatch.judgement import Judgement

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GO, HOLD, HALT = Judgement.CONTINUE, Judgement.WAIT, Judgement.STOP


def last(seconds: float, judgement: Judgement | None = GO) -> Last:
    return Last(AT, judgement, "", seconds, AT + timedelta(seconds=seconds))


def climb(words: list[tuple[Judgement | None, bool]]) -> list[float]:
    """The intervals after one check after the other, in minutes."""
    before, told = None, []
    for judgement, anomaly in words:
        seconds = interval(before, judgement, anomaly=anomaly)
        told.append(seconds / 60)
        before = last(seconds, judgement)
    return told


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ([(GO, False)] * 6, [10, 20, 30, 60, 60, 60]),
        ([(GO, False)] * 3 + [(GO, True), (GO, False)], [10, 20, 30, 10, 20]),
        ([(GO, False)] * 3 + [(HALT, False)], [10, 20, 30, 10]),
        ([(GO, False), (GO, False), (HOLD, False), (GO, False)], [10, 20, 20, 30]),
        ([(HOLD, False), (HOLD, False), (GO, False)], [10, 10, 20]),
        ([(GO, False), (GO, False), (None, False), (GO, False)], [10, 20, 20, 30]),
        ([(GO, False)] * 4 + [(HOLD, True)], [10, 20, 30, 60, 10]),
    ],
)
def test_the_ladder(words: list[tuple[Judgement | None, bool]], minutes: list[float]) -> None:
    """Up while all is well, down at once after an anomaly; to wait, or not to know, keeps it."""
    assert minutes == climb(words)


def test_other_rungs_are_taken_from_where_they_fit() -> None:
    """A ladder that was changed meanwhile is entered at the next rung, and never left."""
    assert interval(last(1200), GO, anomaly=False, rungs=(60, 900, 1500)) == 1500
    assert interval(last(7200), HOLD, anomaly=False, rungs=(60, 900)) == 900
    assert interval(last(10), HOLD, anomaly=False, rungs=(60, 900)) == 60


@pytest.mark.parametrize(
    ("seconds", "after", "due"),
    [(600, 0, False), (600, 539, False), (600, 541, True), (600, 600, True), (3600, 3539, False),
     (3600, 3541, True), (10, 8, False), (10, 9, True)],
)  # fmt: skip
def test_a_timer_that_fires_a_little_early_is_in_time(
    seconds: float, after: float, due: bool
) -> None:
    """By a tenth of the interval, a minute at most."""
    assert due is last(seconds).is_due(AT + timedelta(seconds=after))


def signal(name: str, opinion: Opinion) -> Signal:
    return Signal(name, opinion, f"words of {name}")


FINE = signal("loss", Opinion.FINE)
UNSURE = signal("evaluation", Opinion.UNSURE)
BAD = signal("numbers", Opinion.BAD)
NOTHING = signal("loss", Opinion.UNKNOWN)


@pytest.mark.parametrize(
    ("signals", "more", "expected"),
    [
        ([FINE], {}, GO),
        ([FINE, UNSURE], {}, HOLD),
        ([FINE, UNSURE, BAD], {}, HALT),
        ([NOTHING], {}, HOLD),
        ([NOTHING, signal("evaluation", Opinion.FINE)], {}, GO),
        ([FINE], {"stop": "it crashed"}, HALT),
        ([UNSURE], {"over": "it has ended"}, GO),
        ([BAD], {"over": "it has ended"}, HALT),
        ([FINE], {"quiet": "no new lines"}, HOLD),
        ([FINE], {"empty": True}, HOLD),
    ],
)
def test_one_answer(signals: list[Signal], more: dict[str, str], expected: Judgement) -> None:
    """The worst counts; what is over is judged by what is clearly bad; silence waits."""
    told = answer(signals, **more)  # type: ignore[arg-type]
    assert told.judgement is expected
    assert told.reason


def test_only_what_the_rules_are_unsure_about_is_a_concern() -> None:
    """Clearly bad, clearly fine and not enough are no matter of a second opinion."""
    assert answer([FINE, UNSURE]).concern == "Evaluation: words of evaluation"
    others: list[Answer] = [answer([FINE]), answer([BAD, UNSURE]), answer([NOTHING])]
    assert {""} == {told.concern for told in others}
