"""What was done about runs, in the history."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from runwatch.store import Store
from tests.store.stored_batches import batch, cursor

AT = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC).isoformat()


def action(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "restart", "why": "The process is gone", "command": "./start.sh", "at": AT,
        "step": 30, "finding": "a1b2", "outcome": "started as process 7", **changes,
    }  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "history.duckdb")


def flush(store: Store, *did: dict[str, Any], fresh: bool = False) -> None:
    store.flush("r", "train.log", [batch(1, 3)], {"train.log": cursor(3)}, {}, {"run": "r"},
                did=did, fresh=fresh)  # fmt: skip


def test_what_was_done_comes_back_with_the_run(store: Store) -> None:
    """As it was told, in the order of time, also where its summary knows nothing of it."""
    flush(store, fresh=True)
    assert "actions" not in store.run("r")
    later = action(at=AT.replace("12:", "13:"), step=None)
    flush(store, later, action())
    assert [action(), later] == store.run("r")["actions"]


def test_an_outcome_that_became_known_later_is_no_second_action(store: Store) -> None:
    """What a restart led to is seen when the run comes further."""
    flush(store, action(), fresh=True)
    flush(store, action(outcome="started as process 7; went on past step 30"))
    (row,) = store.query("SELECT kind, step, outcome FROM actions").to_pylist()
    assert {"kind": "restart", "step": 30,
            "outcome": "started as process 7; went on past step 30"} == row  # fmt: skip


def test_what_is_there_already_is_left_alone(store: Store) -> None:
    """Every flush tells all that was done; its rows are not written anew."""
    rows = "SELECT rowid FROM stored_rows.actions ORDER BY time"
    flush(store, action(), fresh=True)
    for _ in range(2):
        flush(store, action(), action(at=AT.replace("12:", "13:")))
    with duckdb.connect(str(store.path), read_only=True) as opened:
        assert [(0,), (1,)] == opened.execute(rows).fetchall()


def test_what_was_done_outlives_a_fresh_reading(store: Store) -> None:
    """The rows of the log are replaced, what was done about the training is not."""
    flush(store, action(), fresh=True)
    flush(store, fresh=True)
    assert [{"n": 1}] == store.query("SELECT count(*) AS n FROM actions").to_pylist()


def test_no_secret_of_a_command_is_kept(store: Store) -> None:
    """As everywhere in the history."""
    flush(store, action(command="WANDB_API_KEY=hunter2hunter2 ./start.sh"), fresh=True)
    assert "hunter2" not in str(store.query("SELECT * FROM actions").to_pylist())


def test_a_history_of_before_has_the_view_too(store: Store) -> None:
    """Empty as long as it is only read; written to, it gets the table."""
    flush(store, fresh=True)
    with duckdb.connect(str(store.path)) as old:
        old.execute("DROP VIEW actions")
        old.execute("DROP TABLE stored_rows.actions")
    assert [] == store.query("SELECT kind, time FROM actions").to_pylist()
    assert "actions" not in store.run("r")
    flush(store, action())
    assert [{"kind": "restart"}] == store.query("SELECT kind FROM actions").to_pylist()
