"""Notes on stops: Markdown that nobody's text can break out of."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from runwatch import notes
from runwatch.checkup import Answer, Checkup
from runwatch.errors import InputError
from runwatch.judge import Opinion, Signal
from runwatch.judgement import Judgement

STOP = Checkup(
    "train-1", "train.log", "/runs/train.log", datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
    Answer(Judgement.STOP, "NaN and Inf: loss is nan"), 600.0,
    (Signal("numbers", Opinion.BAD, "loss is nan", "train.log", 7),), 70, 100,
    {"loss": float("nan"), "lr": 1e-4}, evidence=(("train.log", 7, "step 70 loss nan"),),
)  # fmt: skip


def test_a_note_says_what_is_needed_later() -> None:
    """Run, step, reason, metrics, signals, what is done, the lines."""
    assert notes.entry(STOP, "end the session of the training") == (
        "## STOP: train-1, 2026-03-01 12:00:00 UTC\n"
        "\n"
        "- Run: /runs/train.log\n"
        "- Step: 70 of 100\n"
        "- Reason: NaN and Inf: loss is nan\n"
        "- Decided by: rules\n"
        "- Metrics: loss=nan, lr=0.0001\n"
        "- NaN and Inf (bad): loss is nan\n"
        "- Action: end the session of the training\n"
        "\n"
        "```text\n"
        "train.log:7: step 70 loss nan\n"
        "```\n"
        "\n"
    )  # fmt: skip


def test_lines_of_others_stay_in_their_block() -> None:
    """Fences, escapes and line ends in a log change nothing."""
    from dataclasses import replace

    nasty = replace(STOP, evidence=(("a", 1, "```\x1b[31m\n# Title\n````"),))
    told = notes.entry(nasty).splitlines()
    assert told[-4:-1] == ["`````text", "a:1: ``` [31m # Title ````", "`````"]


def test_notes_are_appended(tmp_path: Path) -> None:
    """What people wrote stays."""
    path = tmp_path / "NOTES.md"
    path.write_text("# My notes\n")
    notes.append(path, "one\n")
    notes.append(path, notes.outcome("ended process 7"))
    assert path.read_text() == "# My notes\none\nOutcome: ended process 7\n\n"


def test_a_note_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """With a hint."""
    with pytest.raises(InputError) as told:
        notes.append(tmp_path / "missing" / "NOTES.md", "x")
    assert "--notes" in told.value.hint
