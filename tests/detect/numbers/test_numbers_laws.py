"""Laws that every numeric detector keeps."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.detect import Columns
from tests.detect.numbers.numeric_batches import (
    DETECTORS,
    INF,
    NAN,
    Record,
    batch,
    detector,
    found,
    pieces,
    record,
)

SOME = st.sampled_from([NAN, INF, 0.0, 1e9, 0.6931, 3.0, 3.01, 2.99, 3.02, -1.0, 50.0])
QUANTITIES = (
    "loss",
    "eval_loss",
    "eval_accuracy",
    "lr",
    "grad_norm",
    "loss_scale",
    "throughput",
    "compute_time",
)


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    """Logs of repeated stretches, some calm and some not, with restarts and repeated steps."""
    records: list[Record] = []
    line, step, segment, seconds = 0, 0, 0, 0.0
    for _ in range(draw(st.integers(1, 6))):
        base = draw(SOME)
        length = draw(st.integers(1, 60))
        drift = draw(st.sampled_from([0.0, 0.0, 0.01, -0.01, 0.5]))
        picked = draw(st.lists(st.sampled_from(QUANTITIES), min_size=1, max_size=4, unique=True))
        repeats = draw(st.sampled_from([1, 1, 2]))
        rank = draw(st.sampled_from([None, 0, 1, 2, 3]))
        known = draw(st.booleans())
        if draw(st.integers(0, 5)) == 0:
            segment, step = segment + 1, 0
        seconds += draw(st.sampled_from([1.0, 1.0, 5000.0]))
        for i in range(length):
            step += 1
            seconds += 1.0
            for _ in range(repeats):
                line += 1
                wobble = ((i * 7919) % 13 - 6) * 0.004
                value = base if base != base else base + drift * i + wobble * (base > 1.0)
                records.append(
                    record(
                        line,
                        step=step if known else None,
                        epoch=None,
                        rank=rank,
                        segment=segment,
                        seconds=seconds,
                        note="x reducing to 8 of the scale" if draw_note(i) else None,
                        **dict.fromkeys(picked, value),
                    )
                )
    return records


def draw_note(i: int) -> bool:
    """Every seventeenth record also stands among the lines of note."""
    return i % 17 == 5


@pytest.mark.parametrize("name", DETECTORS)
@settings(max_examples=40)
@given(records=logs(), cuts=st.sets(st.integers(0, 200), max_size=8))
def test_cut_anywhere(name: str, records: list[Record], cuts: set[int]) -> None:
    """Where the stream is cut changes nothing, also when the past goes through JSON at each cut."""
    whole = found(name, batch(records))
    watching = detector(name)
    for piece in pieces(records, cuts):
        watching.feed(piece, Columns(piece))
        past = json.loads(json.dumps(watching.state(), allow_nan=False))
        watching = detector(name)
        watching.restore(past)
    assert whole == watching.findings()


@pytest.mark.parametrize("name", DETECTORS)
@settings(max_examples=10)
@given(records=logs())
def test_line_by_line(name: str, records: list[Record]) -> None:
    """Tailing line by line equals scanning at once."""
    watching = detector(name)
    for each in pieces(records, set(range(len(records)))):
        watching.feed(each, Columns(each))
        watching.findings()
    assert found(name, batch(records)) == watching.findings()


@pytest.mark.parametrize("name", DETECTORS)
@settings(max_examples=20)
@given(records=logs())
def test_findings_cite_lines_that_exist(name: str, records: list[Record]) -> None:
    """Every finding begins and ends on a line of the log, and has advice and a message."""
    lines = {r.line for r in records}
    for item in found(name, batch(records)):
        assert item.line in lines
        assert item.last_line is None or item.last_line in lines
        assert item.last_line is None or item.last_line >= item.line
        assert item.message
        assert item.advice


@pytest.mark.parametrize("name", DETECTORS)
def test_nothing_in_nothing(name: str) -> None:
    """An empty batch gives no finding, and the check says why it could not run."""
    watching = detector(name)
    watching.feed(batch([]), Columns(batch([])))
    assert watching.findings() == []
    check = watching.check()
    assert (name, False) == (check.name, check.ran)
    assert check.why


@pytest.mark.parametrize("name", DETECTORS)
def test_the_docstring_is_the_documentation(name: str) -> None:
    """The class says what it sees, why that matters, what it misses and how to tune it."""
    text: Any = type(detector(name)).__doc__
    for word in ("Sees:", "Matters:", "Misses:", "Tune:"):
        assert word in text
