"""When reports are due, as laws."""

from hypothesis import given
from hypothesis import strategies as st

from runwatch.cadence import Cadence, Glance, moved, news

SECONDS = st.floats(0.1, 1000)


@given(start=SECONDS, most=SECONDS, course=st.lists(st.booleans(), max_size=40))
def test_the_pace_stays_in_its_bounds_and_starts_over(
    start: float, most: float, course: list[bool]
) -> None:
    """Never below the start nor above the cap; the start after any event, else never quicker."""
    cadence = Cadence.of(start, most)
    for eventful in course:
        before, cadence = cadence, cadence.after(eventful=eventful)
        assert cadence.start <= cadence.interval <= cadence.most
        if eventful:
            assert start == cadence.interval
        else:
            assert min(cadence.most, before.interval * 1.5) == cadence.interval


@given(start=SECONDS, course=st.lists(st.booleans(), max_size=20))
def test_without_backoff_the_pace_is_fixed(start: float, course: list[bool]) -> None:
    """Whatever happens."""
    cadence = Cadence.of(start, 300, backoff=False)
    for eventful in course:
        cadence = cadence.after(eventful=eventful)
        assert start == cadence.interval


def test_the_pace_of_the_first_reports() -> None:
    """30, 45, 68, 101 … 300 seconds, and every fifth report is a full one."""
    cadence, paces, full = Cadence.of(30, 300), [], []
    for _ in range(10):
        paces.append(round(cadence.interval))
        cadence = cadence.after(eventful=False)
        full.append(cadence.full)
    assert [30, 45, 68, 101, 152, 228, 300, 300, 300, 300] == paces
    assert [5, 10] == [i for i, it in enumerate(full, 1) if it]


def test_what_is_news() -> None:
    """A new anomaly, a loss that moved by more than 5 %, another stage, another state."""
    calm = Glance(frozenset("a"), 2.0, (1, 1), "RUNNING")
    assert () == news(calm, calm)
    assert () == news(calm, Glance(frozenset(), 2.09, (1, 1), "RUNNING"))
    assert ("anomaly",) == news(calm, Glance(frozenset("ab"), 2.0, (1, 1), "RUNNING"))
    assert ("loss moved",) == news(calm, Glance(frozenset("a"), 1.8, (1, 1), "RUNNING"))
    assert ("new stage",) == news(calm, Glance(frozenset("a"), 2.0, (2, 1), "RUNNING"))
    assert ("state changed",) == news(calm, Glance(frozenset("a"), 2.0, (1, 1), "FAILED"))


@given(st.floats(), st.floats())
def test_a_loss_moves_both_ways_or_not_at_all(a: float, b: float) -> None:
    """No number of any kind raises; the same value has not moved."""
    assert isinstance(moved(a, b), bool)
    assert not moved(a, a)
    assert not moved(None, b)
