"""The gate between what might be a measurement and what is one."""

from runwatch.parse import gate
from runwatch.parse.gate import Gate, Row
from runwatch.parse.plan import Evidence
from runwatch.parse.record import Point, Record


def passed(held: Gate, key: str, step: int, value: float, evidence: Evidence) -> int:
    """How many rows come out when a record of a form goes in."""
    points = (Point("quality", value, ""),)
    row = Row(step, None, None, step, None, 0, True, points)
    return len(held.passed(Record(evidence, points, step, key=key), row))


def test_a_form_counts_once_it_comes_again_at_another_step() -> None:
    """The first is held, the second lets both through, every later one passes."""
    held = Gate()
    assert [0, 2, 1] == [passed(held, "form", n, 1.0 + n, Evidence.HELD) for n in range(3)]


def test_what_is_remembered_of_forms_is_bounded() -> None:
    """However many forms prove themselves, are refused, shown or held: the oldest are forgotten."""
    held = Gate()
    for number in range(2 * gate._MAX_KNOWN):
        passed(held, f"proven {number}", 1, 1.0, Evidence.HELD)
        passed(held, f"proven {number}", 2, 2.0, Evidence.HELD)
        passed(held, f"refused {number}", 1, 1.0, Evidence.HELD)
        passed(held, f"refused {number}", 1, 2.0, Evidence.HELD)
        passed(held, f"shown {number}", 1, 1.0, Evidence.BESIDE)
        passed(held, f"held {number}", 1, 1.0, Evidence.HELD)
    sizes = {name: len(kept) for name, kept in held.state().items()}
    known = gate._MAX_KNOWN
    assert {"proven": known, "refused": known, "shown": known, "held": gate._MAX_HELD} == sizes
    assert 1 == passed(held, f"proven {2 * known - 1}", 3, 3.0, Evidence.HELD)
    assert 0 == passed(held, "proven 0", 3, 3.0, Evidence.HELD)
