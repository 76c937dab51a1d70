"""The lines that findings of the numbers rest on."""

import pytest

from runwatch.evidence import evident
from runwatch.finding import Finding, Severity

RULES = ("rule nan=1: 2 steps in a row",)


@pytest.mark.parametrize("line", ["loss nan", "rule 7: loss nan", *RULES])
def test_a_line_is_cited_once_whatever_it_says(line: str) -> None:
    """Law: twice is the same as once, and the rules that hold stand behind the line."""
    found = [Finding("nan_loss", Severity.HIGH, "train.log", 3, "it is nan", rules=RULES)]
    once = evident(found, lambda _: {("train.log", 3): line})
    assert [line, *RULES] == once[0].as_dict()["evidence"]
    assert once == evident(once, lambda _: {("train.log", 3): line})
