"""Texts fit for a line of ours."""

from runwatch.plain import counted


def test_one_thing_is_no_plural() -> None:
    assert [counted(n, "step") for n in (0, 1, 2, 1200)] == [
        "0 steps",
        "1 step",
        "2 steps",
        "1,200 steps",
    ]
