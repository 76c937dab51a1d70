"""Laws of the text detector: cuts do not matter, no text breaks it, memory is bounded."""

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runwatch.detect.faults import Detector
from runwatch.detect.signatures import catalog
from tests.detect.text.feeder import batches, seen
from tests.detect.text.stories import STORIES

LINES = [line for s in catalog().signatures.values() for line in (*s.fires, *s.silent)]
LINES += [line for story in STORIES for line in story.log.splitlines()]
SETTINGS = settings(max_examples=40, derandomize=True, suppress_health_check=list(HealthCheck))


def told(detector: Detector) -> object:
    """All that a detector says."""
    return (detector.findings(), detector.ending(), detector.check())


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_cuts_do_not_matter(story: object) -> None:
    """Wherever the bytes are cut, the findings are the same."""
    log = story.log  # type: ignore[attr-defined]
    whole = told(seen(log))
    chance = random.Random(7)
    for _ in range(4):
        cuts = [chance.randrange(len(log.encode()) + 1) for _ in range(chance.randrange(1, 9))]
        assert whole == told(seen(log, cuts))


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_state_goes_on_in_another_process(story: object) -> None:
    """State is plain JSON, and a detector that takes it up ends like one that never stopped."""
    log = story.log  # type: ignore[attr-defined]
    detector = Detector()
    for batch in batches(log, [len(log) // 2]):
        detector.feed(batch)
        state = json.loads(json.dumps(detector.state()))
        detector = Detector()
        detector.restore(state)
    assert told(seen(log)) == told(detector)


@SETTINGS
@given(st.lists(st.sampled_from(LINES), max_size=40), st.integers(0, 1 << 30))
def test_no_text_breaks_it(lines: list[str], seed: int) -> None:
    """Known lines in any order, mutated anywhere, give an answer and never an exception."""
    chance = random.Random(seed)
    text = "\n".join(mutated(line, chance) for line in lines)
    detector = seen(text)
    for finding in detector.findings():
        assert 1 <= finding.line <= text.count("\n") + 1
        assert finding.line <= (finding.last_line or finding.line)
    json.dumps(detector.state())


def mutated(line: str, chance: random.Random) -> str:
    """The line with a piece cut out, doubled, or replaced by odd characters."""
    if not line or chance.random() < 0.3:
        return line
    a, b = sorted((chance.randrange(len(line)), chance.randrange(len(line))))
    middle = chance.choice(["", line[a:b] * 2, "\x00", "\r", "\x1b[31m", "é\u2028", "9" * 30, "(("])
    return line[:a] + middle + line[b:]


def test_memory_is_bounded() -> None:
    """A hundred thousand recovered faults are kept as a dozen, and the rest counted aloud."""
    fault = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\nSkipping batch\n"
    log = "".join(f"step {i} loss 2.{i % 9}1\n{fault}" for i in range(1, 3000))
    short = len(json.dumps(seen(log[: len(log) // 2]).state()))
    detector = seen(log)
    assert len(json.dumps(detector.state())) < 1.2 * short
    (found,) = detector.findings()
    assert (found.kind, found.state) == ("cuda_oom", "recovered")
    assert "only counted" in found.message
