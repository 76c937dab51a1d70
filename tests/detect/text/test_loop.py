"""Runs that something starts again and again are told where they come no further."""

import pytest

from runwatch.chunk import Stream
from runwatch.detect.faults import Detector
from runwatch.detect.loop import TRIES
from runwatch.finding import Finding
from tests.detect.text.feeder import batches, seen, verdict
from tests.detect.text.stories import TRACEBACK, steps

BAD = TRACEBACK + "ValueError: bad sample 77\n"
AGAIN = "[default] Worker group FAILED. 9/9 attempts left; will restart worker group\n"


def loops(log: str) -> list[Finding]:
    """The crash loops that are told of a log."""
    return [found for found in seen(log).findings() if found.kind == "crash_loop"]


@pytest.mark.parametrize("tries", range(1, 6))
@pytest.mark.parametrize("live", [False, True])
def test_attempts_that_fail_at_the_same_step(tries: int, live: bool) -> None:
    """From three of them on it is a loop, cited from its first failure to its last one, also while
    another attempt has not failed yet; the answer is to stop."""
    log = (steps(90, 101) + BAD) * tries + (steps(90, 96) if live else "")
    found = loops(log)
    assert (tries >= TRIES) == bool(found)
    if not found:
        return
    [loop] = found
    last = len(log.splitlines()) - 6 * live
    assert (17, last, 100) == (loop.line, loop.last_line, loop.step)
    assert f"{tries} attempts failed alike" in loop.message
    assert "no further than step 100" in loop.message
    said = verdict(log)
    assert said.judgement == "STOP"
    assert said.root_cause
    assert ("crash_loop" if live else "python_exception") == said.root_cause.kind


def test_attempts_that_fail_before_their_first_step() -> None:
    """A launcher that says that it starts them again is enough."""
    [loop] = loops((BAD + AGAIN) * 3)
    assert "before its first step" in loop.message
    assert loops(BAD * 3) == []  # many ranks, or many lines, but nobody started it again


def test_of_several_faults_the_clearest_is_told() -> None:
    """Of a traceback and what a launcher makes of it there is one loop: the traceback's."""
    exits = "[ERROR] [launch.py:325:sigkill_handler] ['python'] exits with return code = 1\n"
    [loop] = loops((steps(90, 101) + BAD + exits) * 3)
    assert loop.evidence[0].endswith("ValueError: bad sample 77")


@pytest.mark.parametrize(
    "log",
    [
        "".join(steps(90, 101 + 5 * i) + BAD for i in range(5)),
        (steps(90, 101) + BAD) * 4 + steps(90, 103),
        steps(90, 200) + (steps(90, 101) + BAD) * 2,
        (steps(90, 101) + "torch.OutOfMemoryError: CUDA out of memory.\n Skipping batch\n") * 5,
        (steps(1, 101) + "requests.exceptions.HTTPError: 503 Server Error: busy\n") * 5,
        (steps(1, 101) + "ValueError: no model card\n") * 5,
        "".join(f"epoch {i} " + line for i in range(5) for line in steps(1, 4).splitlines(True))
        + BAD,
        "".join(
            f"Epoch {e} step {s} loss 2.{s}\n" + BAD * (s == 3)
            for e in range(1, 6)
            for s in (1, 2, 3)
        ),
    ],
    ids=[
        "further each time",
        "over",
        "two",
        "copes",
        "complains",
        "logs an exception",
        "epochs",
        "each epoch",
    ],
)
def test_what_goes_on_is_in_no_loop(log: str) -> None:
    """Progress of any kind, a program that copes by itself, or complains and goes on."""
    assert loops(log) == []


def logs_of(attempts: list[str], apart: int) -> list[Finding]:
    """The crash loops of attempts with a log each, whose lines lie so many minutes after those of
    the one before; a line takes a second."""
    detector = Detector()
    for i, log in enumerate(attempts):
        begin = 36_000 + 60 * i * apart
        seconds = [divmod(begin + k, 60) for k in range(log.count("\n"))]
        stamps = [f"2026-03-02 {m // 60:02d}:{m % 60:02d}:{s:02d} " for m, s in seconds]
        stamped = "".join(map(str.__add__, stamps, log.splitlines(True)))
        for batch in batches(stamped, stream=Stream(f"slurm-{70 + i}.out")):
            detector.feed(batch)
    return [found for found in detector.findings() if found.kind == "crash_loop"]


def test_attempts_with_a_log_each() -> None:
    """Told where one follows the other, not of ranks that fail at the same time; and not where one
    came further, or failed otherwise."""
    [loop] = logs_of([steps(90, 101) + BAD] * 3, 10)
    assert ("slurm-70.out", 17, 17, 100) == (loop.stream, loop.line, loop.last_line, loop.step)
    assert logs_of([steps(90, 101) + BAD] * 3, 0) == []
    assert logs_of([steps(90, 101 + i) + BAD for i in range(3)], 10) == []
    other = BAD.replace("ValueError", "KeyError")
    assert logs_of([steps(90, 101) + one for one in (BAD, other, BAD)], 10) == []
    assert logs_of([steps(90, 101) + BAD] * 3 + [steps(90, 120)], 10) == []
