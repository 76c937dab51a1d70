"""Findings that tell the same story are one."""

from itertools import permutations

from runwatch.detect.fold import finding, fold
from runwatch.finding import Severity


def test_which_series_began_first_tells_nothing() -> None:
    """Law: two fields of one line, in whatever order their series were met, fold into the same."""
    place = {"stream": "log", "line": 43, "step": None, "rank": 2, "time": None}
    found = [
        finding("loss_vanished", severity, place, f"the loss is missing beside {metric}")
        for metric, severity in (
            ("grad_norm", Severity.HIGH),
            ("loss_scale", Severity.HIGH),
            ("lr", Severity.CRITICAL),
        )
    ]
    first, *others = (fold(list(order)) for order in permutations(found))
    assert others == [first] * 5
    assert [(f.severity, f.message) for f in first] == [
        (Severity.CRITICAL, "the loss is missing beside lr")
    ]
