"""Texts fit for a line of ours."""

from runwatch.plain import counted, lasting


def test_one_thing_is_no_plural() -> None:
    assert [counted(n, "step") for n in (0, 1, 2, 1200)] == [
        "0 steps",
        "1 step",
        "2 steps",
        "1,200 steps",
    ]


def test_seconds_are_told_in_the_unit_that_a_person_would_take() -> None:
    assert [lasting(s) for s in (0.4, 119, 120, 5399, 5400, 90000)] == [
        "0 s",
        "119 s",
        "2 minutes",
        "90 minutes",
        "1.5 hours",
        "25 hours",
    ]
