"""Queries read the history and touch nothing else."""

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runwatch.errors import QueryError
from runwatch.store import Store
from tests.conftest import ROOT
from tests.store.stored_batches import batch, cursor

VIEWS = {
    "runs": "run target first_seen last_seen complete streams lines bytes points segments "
    "first_step last_step total_steps terminal_state judgement decision confidence "
    "best_checkpoint root_kind root_stream root_line root_rank findings final_metrics",
    "streams": "run stream rank lines bytes points",
    "points": "run stream line time rank step epoch metric value unit quantity segment",
    "lines": "run stream line time rank step level text segment",
    "findings": "run id kind severity role state stream line last_line step rank rank_note time "
    "message evidence advice confidence series",
    "judgements": "run time judgement decision confidence terminal_state reason root_kind "
    "root_stream root_line",
    "checks": "time run target judgement reason interval_s next_due decided_by action details",
    "actions": "run time kind why command step finding outcome",
}

FORBIDDEN = [
    "INSERT INTO stored_rows.version VALUES (2, 'x', now())",
    "DELETE FROM stored_rows.points",
    "DROP VIEW points",
    "CREATE TABLE mine (a INTEGER)",
    "ATTACH '{folder}/other.duckdb'",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "EXPORT DATABASE '{folder}/out'",
    "SELECT * FROM read_csv('{folder}/secret.csv')",
    "SELECT * FROM read_text('{folder}/secret.csv')",
    "SELECT * FROM '{folder}/secret.csv'",
    "SELECT * FROM glob('{folder}/*')",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET temp_directory = '{folder}'",
    "SELECT 1; DROP TABLE stored_rows.points",
    "SELECT * FROM sql",
    "SELECT * FROM parameters",
]


@pytest.fixture(params=["stored", "no history yet"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    store = Store(tmp_path / "history.duckdb")
    if request.param == "stored":
        store.flush("r", "train.log", [batch(1, 3)], {"train.log": cursor(3)}, {}, fresh=True)
    return store


@pytest.mark.parametrize("view", VIEWS)
def test_views_have_the_columns_that_people_script_against(store: Store, view: str) -> None:
    """A change here breaks users' queries and belongs in the changelog."""
    assert " ".join(store.query(f"SELECT * FROM {view}").column_names) == VIEWS[view]


def test_the_page_on_the_history_names_every_view_and_column() -> None:
    """docs/history.md is complete: each name stands in its view's paragraph or table."""
    page = (ROOT / "docs" / "history.md").read_text(encoding="utf-8")
    for view, columns in VIEWS.items():
        told = re.split(r"\n\n(?=`)|\n## ", page.partition(f"\n\n`{view}`")[2])[0]
        assert [] == [name for name in columns.split() if f"`{name}`" not in told], view


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_a_query_can_change_nothing_and_reach_nothing(store: Store, sql: str) -> None:
    """No writing, no other file, no extension, no setting, no variable of ours."""
    folder = store.path.parent
    (folder / "secret.csv").write_text("a\n1\n")
    before = {file: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(QueryError):
        store.query(sql.format(folder=folder))
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize("sql", ["SELECT no FROM points", "SELEC 1", "SELECT ?", "SELECT 1/'a'"])
def test_a_wrong_query_names_the_views(store: Store, sql: str) -> None:
    """Whatever is wrong with it, the hint says what there is to ask for."""
    with pytest.raises(QueryError) as caught:
        store.query(sql)
    assert "runs, streams, points, lines, findings, judgements, checks" in caught.value.hint


def test_parameters_and_statements_without_rows(store: Store) -> None:
    """Values are passed, not pasted; who asks nothing is told; the last statement counts."""
    assert store.query("SELECT ? AS a, ? AS b", [1, "x'"]).to_pylist() == [{"a": 1, "b": "x'"}]
    assert store.query("SELECT $n + 1 AS a", {"n": 1}).to_pylist() == [{"a": 2}]
    with pytest.raises(QueryError, match="says nothing"):
        store.query("-- nothing")
    assert store.query("SELECT 1 AS a; SELECT 2 AS b").to_pylist() == [{"b": 2}]


@pytest.fixture
def tokyo() -> Iterator[None]:
    """The zone of this process, which the C library remembers until it is told to look again."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


def test_times_are_in_utc_wherever_one_is(store: Store, tokyo: None) -> None:
    """The zone of the machine does not change what a query answers."""
    (row,) = store.query("SELECT hour(to_timestamp(0)) AS h, to_timestamp(0) AS t").to_pylist()
    assert (row["h"], row["t"].isoformat()) == (0, "1970-01-01T00:00:00+00:00")


def test_a_query_that_is_interrupted_is_not_called_wrong(store: Store) -> None:
    """DuckDB hears Ctrl-C itself and tells it in words of its own; it is the same Ctrl-C here."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            store.query("SELECT count(*) FROM range(1000000) a(i), range(10000000) b(j) WHERE i>j")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert store.query("SELECT 1 AS a").to_pylist() == [{"a": 1}]
