"""What may be done unasked, and how often."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.finding import Finding, Severity
from runwatch.ingest.process import Process
from runwatch.judgement import rules
from runwatch.remedy import (
    CLEAR,
    RESTART,
    REVIVE,
    TRIES,
    Allowed,
    Budget,
    cancelling,
    clearing,
    remedy,
    why_not,
)  # fmt: skip

DEAD = Process(7, "python", "gone", 1, command=("python", "train.py"), folder="/a b")


def finding(kind: str) -> Finding:
    """A finding of this kind."""
    return Finding(kind, Severity.CRITICAL, "train.log", 3, "it broke")


@pytest.mark.parametrize("kind", sorted(rules()))
def test_only_crashes_that_a_restart_may_help_are_restarted(kind: str) -> None:
    """Never memory, configuration, permission, a corrupt checkpoint, an assert, lost numbers."""
    chosen = remedy(finding(kind), DEAD, Budget(), Allowed())
    assert chosen is not None
    may = {"process_crash", "segfault", "sigkill_unknown", "sigabrt_unknown", "python_exception"}
    assert (kind not in may) == chosen.asks
    assert "cd '/a b' && python train.py" == chosen.told


@pytest.mark.parametrize("kind", sorted(rules()))
def test_a_person_may_allow_a_restart_for_any_cause(kind: str) -> None:
    """Named in advance; still only so often, and not with fixes off."""
    yes = Allowed(yes=frozenset([RESTART]))
    assert "" == why_not(RESTART, finding(kind), Budget(), yes)
    spent = Budget({RESTART: TRIES})
    assert "3 tries brought no progress" == why_not(RESTART, finding(kind), spent, yes)
    off = Allowed(fix=False, yes=frozenset([RESTART]))
    assert "fixes are off" in why_not(RESTART, finding(kind), Budget(), off)


@given(st.lists(st.one_of(st.none(), st.integers(0, 50)), max_size=60))
def test_the_budget_is_restored_by_progress_alone(failures: list[int | None]) -> None:
    """Between two tries of which the second finds it whole, the run came further than ever."""
    budget, furthest, tries = Budget(), -1, 0
    for step in failures:
        budget = budget.at(step)
        if step is not None and step > furthest:
            furthest, tries = step, 0
        assert TRIES - tries == budget.left(RESTART)
        if budget.left(RESTART):
            budget, tries = budget.spent(RESTART), tries + 1


def test_a_zombie_is_killed_and_restarted() -> None:
    """Unasked; a process that hangs needs a person."""
    zombie = Process(7, "python", "zombie", None, command=("python", "train.py"))
    chosen = remedy(finding("process_crash"), zombie, Budget(), Allowed())
    assert chosen is not None
    assert (REVIVE, False) == (chosen.kind, chosen.asks)
    hangs = Process(7, "python", "running", None, command=("python", "train.py"))
    chosen = remedy(finding("stalled"), hangs, Budget(), Allowed())
    assert chosen is not None
    assert (REVIVE, True) == (chosen.kind, chosen.asks)
    chosen = remedy(finding("stalled"), hangs, Budget(), Allowed(yes=frozenset([REVIVE])))
    assert chosen is not None
    assert not chosen.asks


def test_starting_again_is_one_fix_whatever_became_of_the_process() -> None:
    """A zombie and one that is gone share their tries."""
    spent = Budget().at(5).spent(RESTART).spent(REVIVE).spent(RESTART)
    assert (0, 0, TRIES) == (spent.left(RESTART), spent.left(REVIVE), spent.left(CLEAR))


def test_without_a_command_nothing_can_be_restarted() -> None:
    """Unless the user names one, which then wins over the process's own."""
    unknown = Process(7, "tee", "gone")
    assert remedy(finding("process_crash"), unknown, Budget(), Allowed()) is None
    chosen = remedy(finding("process_crash"), DEAD, Budget(), Allowed(restart_command="./go"))
    assert chosen is not None
    assert "./go" == chosen.command


def test_the_cache_is_cleared_by_the_users_command_where_memory_ran_out() -> None:
    """And nowhere else, and only so often."""
    allowed = Allowed(clear_command="./clear")
    assert clearing(finding("cuda_oom"), Budget(), allowed) is not None
    assert clearing(finding("cuda_oom"), Budget(), Allowed()) is None
    assert clearing(finding("cuda_oom"), Budget({CLEAR: TRIES}), allowed) is None
    assert clearing(finding("nan_loss"), Budget(), allowed) is None


def test_a_run_is_never_cancelled_unasked() -> None:
    """It is proposed, with the command."""
    alive = Process(7, "python")
    chosen = cancelling(alive, Allowed())
    assert chosen is not None
    assert (True, "kill 7") == (chosen.asks, chosen.command)
    chosen = cancelling(alive, Allowed(yes=frozenset(["cancel"])))
    assert chosen is not None
    assert not chosen.asks
    assert cancelling(DEAD, Allowed()) is None
