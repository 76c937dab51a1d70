"""Each story is told as it happened."""

import pytest

from tests.detect.text.feeder import seen, verdict
from tests.detect.text.stories import STORIES, TRACEBACK, Story, steps


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_story(story: Story) -> None:
    """Root, ending and judgement are those of the story."""
    said = verdict(story.log)
    root = said.root_cause
    assert said.ending
    assert (story.root, story.state) == (root and (root.kind, root.line), said.ending.state)
    assert story.judgement in (said.judgement, said.decision)


@pytest.mark.parametrize("story", [s for s in STORIES if s.rank is not None], ids=lambda s: s.name)
def test_rank(story: Story) -> None:
    """The first failing rank is named where the log tells it."""
    root = verdict(story.log).root_cause
    assert root
    assert story.rank == root.rank


@pytest.mark.parametrize("story", [s for s in STORIES if s.root is None], ids=lambda s: s.name)
def test_innocents_alarm_nobody(story: Story) -> None:
    """Where there is nothing to blame, no finding is above medium."""
    assert [f for f in seen(story.log).findings() if f.severity.weight > 1] == []


def test_evidence_is_in_the_log() -> None:
    """Every cited line is a line of the log, at its number."""
    for story in STORIES:
        lines = story.log.split("\n")
        for finding in seen(story.log).findings():
            assert finding.evidence[0] == lines[finding.line - 1].rstrip()


def test_the_users_own_frame_is_named() -> None:
    """Of a traceback the last frame outside libraries is told."""
    said = verdict(steps(1, 4) + TRACEBACK + "ValueError: bad shape\n")
    assert said.root_cause
    assert "train.py:88 in main" in said.root_cause.message


def test_ranks_of_one_exception_are_counted() -> None:
    """The same exception on four ranks is one finding that says so."""
    log = "".join(
        f"[rank{r}]: {line}\n"
        for r in range(4)
        for line in [*TRACEBACK.splitlines(), "ValueError: x"]
    )
    (found,) = seen(log).findings()
    assert "on 4 ranks" in found.message


def test_undetermined_is_said() -> None:
    """Where deaths of one second tie, no rank is named, and the note says why."""
    entry = """[{i}]:
  time      : 2024-05-01_10:00:01
  host      : a
  rank      : {i} (local_rank: {i})
  exitcode  : -6 (pid: {i})
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID {i}
"""
    log = "Failures:\n" + "".join(entry.format(i=i) for i in range(3))
    root = verdict(log).root_cause
    assert root
    assert (root.kind, root.rank) == ("sigabrt_unknown", None)
    assert root.rank_note.startswith("undetermined: ranks 0, 1, 2")
