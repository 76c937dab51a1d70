"""What people see of a summary."""

import io

import pytest

from runwatch.cli.report.summary import report
from runwatch.cli.scan import exit_code
from tests.cli.samples import summary


def told(**changes: object) -> str:
    return report(summary(**changes), io.StringIO())


def test_the_answer_comes_first() -> None:
    """The block at the top has the names and the order that people know by heart."""
    lines = told().splitlines()
    assert lines[:2] == ["Training Complete", "================="]
    assert [line.partition(":")[0] for line in lines[2:9]] == [
        "Target",
        "Terminal state",
        "Steps completed",
        "Final metrics",
        "Best checkpoint",
        "Decision",
        "Confidence",
    ]
    assert "Steps completed:  830/5000 (17 %)" in lines


def test_a_total_that_was_passed_is_no_total() -> None:
    """An epoch's steps, or a number of another kind, are not what the run was to take."""
    steps = {"first": 0, "last": 80, "total": 20}
    assert "Steps completed:  80" in told(steps=steps).splitlines()


def test_the_root_cause_is_the_first_finding() -> None:
    """However many echoes there are and whatever their severity, the cause leads."""
    heads = [line for line in told().splitlines() if line.startswith("●")]
    assert heads == [
        "● cuda_oom  critical · root · terminal",
        "● nccl_timeout x4  high · follow-on · terminal",
    ]


def test_a_finding_says_where_and_what_to_do() -> None:
    """Stream, line, step, rank, the decisive lines and the advice stand together."""
    text = told()
    assert "  rank_5/stderr.log:13  step 840  rank 5" in text
    assert "  │ torch.OutOfMemoryError: CUDA out of memory." in text
    assert "  → Cap the sequence length or split the batch" in text


def test_what_was_not_checked_is_told_with_the_reason() -> None:
    """Checks that share a reason share a line."""
    assert "  not checked  eval_worse, overfit: no evaluation loss in the log" in told()


def test_nothing_found_says_how_much_was_looked_at() -> None:
    """Without findings, the number of checks that ran is told; without checks, that too."""
    assert "Nothing found by the 3 checks that ran" in told(findings=[], root_cause=None)
    silent = [{"name": "nan_loss", "ran": False, "why": "no loss in the log"}]
    text = told(findings=[], root_cause=None, checks=silent)
    assert "Nothing was checked, so nothing was found." in text


def test_it_fits_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is wider than the terminal, however long the log's lines and names are."""
    monkeypatch.setenv("COLUMNS", "80")
    many = {f"metric_{i}/with/a/long/name": i / 7 for i in range(40)}
    long = {**summary()["findings"][-1], "stream": "deep/" * 40 + "x.log", "evidence": ["y" * 999]}
    text = told(final_metrics=many, findings=[long], target="logs/" * 60, reason="why " * 80)
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_a_log_cannot_forge_the_report() -> None:
    """Escape sequences and line ends in evidence, names and targets are taken out."""
    evil = {**summary()["findings"][-1], "evidence": ["\x1b[2J\x1b]0;owned\x07x\nDecision: GO"]}
    text = told(findings=[evil], target="a\nDecision: GO\x1b[31m")
    assert "\x1b" not in text
    assert [line for line in text.splitlines() if line.startswith("Decision")] == [
        "Decision:         NO-GO"
    ]


@pytest.mark.parametrize(
    ("judgement", "decision", "code"),
    [
        ("CONTINUE", "GO", 0),
        ("WAIT", "GO", 0),
        ("CONTINUE", "CONDITIONAL", 0),
        ("STOP", "NO-GO", 1),
        ("CONTINUE", "NO-GO", 1),
        ("STOP", "CONDITIONAL", 1),
        ("WAIT", "CONDITIONAL", 4),
    ],
)
def test_the_exit_code_is_the_answer(judgement: str, decision: str, code: int) -> None:
    """0 is go or continue, 1 no-go or stop, 4 wait; the final word wins over the passing one."""
    assert code == exit_code(summary(judgement=judgement, decision=decision))
