"""Checks in the history."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from runwatch.store import Store

AT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def told(minutes: int = 0, **changes: Any) -> dict[str, Any]:
    at = AT + timedelta(minutes=minutes)
    return {
        "run": "train-1", "target": "train.log", "at": at.isoformat(), "judgement": "CONTINUE",
        "reason": "falling", "decided_by": "rules", "action": None, "interval_seconds": 600.0,
        "next_due": (at + timedelta(minutes=10)).isoformat(), "lines": 7, **changes,
    }  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "history.duckdb")


def test_the_last_check_comes_back_as_it_was(store: Store) -> None:
    """Of the run that is asked for; None where there was none."""
    assert store.check("train-1") is None
    store.keep_check(told())
    store.keep_check(told(10, lines=9))
    store.keep_check(told(20, run="other"))
    assert store.check("train-1") == {**told(10, lines=9), "last_seen": None}
    assert store.check("nobody") is None


def test_a_check_that_is_kept_again_is_one_row(store: Store) -> None:
    """First with what is about to be done, then with what came of it."""
    store.keep_check(told(judgement="STOP"))
    store.keep_check(told(judgement="STOP", action="ended process 7"))
    rows = store.query("SELECT judgement, action, decided_by FROM checks").to_pylist()
    assert [{"judgement": "STOP", "action": "ended process 7", "decided_by": "rules"}] == rows


def test_out_of_reach_has_no_judgement(store: Store) -> None:
    """NULL in SQL: unknown is no word on the run."""
    store.keep_check(told(judgement=None, decided_by="source"))
    assert [{"n": 1}] == store.query(
        "SELECT count(*) n FROM checks WHERE judgement IS NULL"
    ).to_pylist()


def test_a_secret_is_not_kept(store: Store) -> None:
    """As everywhere in the history."""
    store.keep_check(told(reason="password=hunter2hunter2"))
    kept = store.query("SELECT reason, details FROM checks").to_pylist()
    assert "hunter2hunter2" not in str(kept)


def test_a_history_of_before_gets_the_columns_it_lacks(store: Store) -> None:
    """Its view shows them, and nothing else of it changes."""
    store.flush("train-1", "train.log", fresh=True)
    with duckdb.connect(str(store.path)) as old:
        for name in ("decided_by", "action", "details"):
            old.execute("DROP VIEW checks")
            old.execute(f"ALTER TABLE stored_rows.checks DROP COLUMN {name}")
            old.execute("CREATE VIEW checks AS SELECT * FROM stored_rows.checks")
    seen = store.check("train-1")
    assert seen is not None
    assert set(seen) == {"last_seen"}
    store.keep_check(told())
    (row,) = store.query("SELECT run, details IS NOT NULL AS whole FROM checks").to_pylist()
    assert row == {"run": "train-1", "whole": True}
    assert [{"run": "train-1"}] == store.query("SELECT run FROM runs").to_pylist()
