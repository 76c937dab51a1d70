"""Facts about what the history keeps: replaced, appended, never doubled."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runwatch.chunk import Cursor
from runwatch.errors import QueryError, StoreError
from runwatch.redact import MARK
from runwatch.store import Past, Store
from tests.store.stored_batches import batch, cursor

NAME = "train.log"
POINTS = "SELECT * FROM points ORDER BY run, stream, line, metric"

SUMMARY: dict[str, Any] = {
    "run": "r",
    "target": "/logs/train.log",
    "streams": 1,
    "lines": 20,
    "bytes": 2000,
    "steps": {"first": 10, "last": 200, "total": 500},
    "segments": 1,
    "terminal_state": "FAILED",
    "judgement": "STOP",
    "decision": "NO-GO",
    "confidence": "high",
    "final_metrics": {"loss": float("inf"), "lr": 0.25},
    "best_checkpoint": None,
    "root_cause": {"kind": "cuda_oom", "line": 18, "stream": NAME, "rank": 0},
    "findings": [
        {
            "id": "abc",
            "kind": "cuda_oom",
            "severity": "critical",
            "role": "root",
            "state": "terminal",
            "stream": NAME,
            "line": 18,
            "last_line": 18,
            "step": 170,
            "rank": 0,
            "time": "2024-01-02T03:04:05+00:00",
            "message": "the GPU ran out of memory",
            "evidence": ["RuntimeError: CUDA out of memory"],
            "advice": "smaller batches",
            "confidence": "high",
            "series": [[1.0, 2.0]],
        }
    ],
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "history.duckdb", clock=lambda: 1_700_000_000.0)


def fill(store: Store, run: str = "r", last: int = 20, fresh: bool = True) -> None:
    store.flush(run, NAME, [batch(1, last)], {NAME: cursor(last)}, {"seen": last}, fresh=fresh)


def values(store: Store, run: str = "r") -> list[tuple[int, float]]:
    found = store.query(
        "SELECT line, value FROM points WHERE run = ? ORDER BY line, metric DESC", [run]
    ).to_pylist()
    return [(row["line"], row["value"]) for row in found]


def expected(last: int) -> list[tuple[int, float]]:
    return [(line, line + part) for line in range(1, last + 1) for part in (0.25, 0.0)]


def test_points_come_back_as_they_went_in(store: Store) -> None:
    """The view is long: a row per number, with the names of its run, stream and metric."""
    store.flush("r", NAME, [batch(3, 3)], {NAME: cursor(3)}, {}, fresh=True)
    found = store.query(POINTS + " DESC LIMIT 1").to_pylist()
    (row,) = found
    assert {name: value for name, value in row.items() if name != "time"} == {
        "run": "r",
        "stream": NAME,
        "line": 3,
        "rank": 0,
        "step": 30,
        "epoch": None,
        "metric": "lr",
        "value": 3.25,
        "unit": "k",
        "quantity": "lr",
        "segment": 0,
    }
    assert row["time"].isoformat() == "2023-11-14T22:13:20.000003+00:00"


def test_the_past_is_what_was_flushed(store: Store) -> None:
    """Cursors and state come back whole, NaN included."""
    assert store.past("r") is None
    state = {"mean": [1.5, None], "tail": {"text": "löss"}}
    store.flush("r", NAME, [batch(1, 2)], {NAME: cursor(2)}, state, fresh=True)
    assert Past(NAME, {NAME: cursor(2)}, state) == store.past("r")
    assert store.past("another") is None
    store.flush("n", NAME, [], {}, {"low": float("-inf"), "bad": float("nan")}, fresh=True)
    past = store.past("n")
    assert past is not None
    assert str(past.state) == "{'low': -inf, 'bad': nan}"


def test_replaced_is_not_doubled(store: Store) -> None:
    """The same content flushed afresh gives the same rows, and other runs are left alone."""
    fill(store, "other", 5)
    for _ in range(3):
        fill(store)
        store.save(SUMMARY)
        assert expected(20) == values(store)
    assert expected(5) == values(store, "other")
    counts = "SELECT count(*) FROM runs UNION ALL SELECT count(*) FROM streams UNION ALL "
    counts += "SELECT count(*) FROM judgements UNION ALL SELECT count(*) FROM findings"
    assert list(store.query(counts).columns[0].to_pylist()) == [2, 2, 1, 1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=8)
@given(st.sets(st.integers(1, 19), max_size=4), st.booleans())
def test_where_the_flushes_are_cut_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, cuts: set[int], again: bool
) -> None:
    """Many flushes, also by Stores that know nothing but the past, store what one stores."""
    path = tmp_path_factory.mktemp("cut") / "history.duckdb"
    store = Store(path)
    for number, (before, end) in enumerate(pairwise([0, *sorted(cuts), 20])):
        if again:
            store = Store(path)
            assert (number > 0) == (store.past("r") is not None)
        piece = batch(before + 1, end, noted=[(end, f"line {end}")])
        store.flush("r", NAME, [piece], {NAME: cursor(end)}, {"end": end})
    assert expected(20) == values(store)
    assert len(cuts) + 1 == store.query("SELECT * FROM lines").num_rows
    assert store.query("SELECT points FROM streams").to_pylist()[0]["points"] == 40
    assert store.query("SELECT count(*) AS n FROM stored_rows.series").to_pylist()[0]["n"] == 2


def test_an_unfinished_last_line_is_replaced_when_it_is_complete(store: Store) -> None:
    """What the end of the input gave goes when its stream is read on, once, and only then."""
    store.flush(
        "r",
        NAME,
        [
            batch(1, 4),
            replace(batch(5, 5, noted=[(5, "cut he")]), given_up=True),
            batch(1, 2, "other.log", rank=1),
            replace(batch(3, 3, "other.log", rank=1), given_up=True),
        ],
        {NAME: cursor(4), "other.log": cursor(2)},
        {},
        fresh=True,
    )
    assert len(values(store)) == 10 + 6
    other = "SELECT count(*) AS n FROM points WHERE stream = 'other.log'"
    grown = Store(store.path)
    grown.past("r")
    piece = batch(5, 7, noted=[(5, "cut here")])
    both = {NAME: cursor(7), "other.log": cursor(2)}
    grown.flush("r", NAME, [piece], both, {})
    assert grown.query(other).columns[0].to_pylist() == [6]
    assert grown.query("SELECT text FROM lines").columns[0].to_pylist() == ["cut here"]
    assert [
        (row["stream"], row["lines"], row["points"])
        for row in grown.query("SELECT * FROM streams ORDER BY stream").to_pylist()
    ] == [("other.log", 3, 6), (NAME, 7, 14)]
    main = "SELECT line, count(*) AS n FROM points WHERE stream = ? GROUP BY line ORDER BY line"
    assert [(line, 2) for line in range(1, 8)] == [
        (row["line"], row["n"]) for row in grown.query(main, [NAME]).to_pylist()
    ]


def test_a_writer_that_was_overtaken_stores_nothing(store: Store) -> None:
    """Two that read the same run do not mix their rows: the later fresh one has it."""
    fill(store, last=5)
    rival = Store(store.path)
    fill(rival, last=7)
    with pytest.raises(StoreError, match="another runwatch wrote it meanwhile"):
        store.flush("r", NAME, [batch(6, 9)], {NAME: cursor(9)}, {})
    with pytest.raises(StoreError, match="another runwatch wrote it meanwhile"):
        Store(store.path).flush("r", NAME, [batch(8, 9)], {NAME: cursor(9)}, {})
    assert expected(7) == values(store)


def test_the_summary_comes_back_as_it_was_saved(store: Store) -> None:
    """By id, by beginning and as the last; and laid out for SQL."""
    fill(store)
    store.save(SUMMARY)
    assert [store.run("r"), store.run("last"), Store(store.path).run("")] == [SUMMARY] * 3
    (run,) = store.runs()
    assert (True, 1, 20, 40, "cuda_oom", {"loss": float("inf"), "lr": 0.25}) == tuple(
        run[name]
        for name in ("complete", "streams", "lines", "points", "root_kind", "final_metrics")
    )
    (finding,) = store.query("SELECT * FROM findings").to_pylist()
    time = finding.pop("time")
    assert time.isoformat() == "2024-01-02T03:04:05+00:00"
    wanted = {"run": "r", "rank_note": None, **SUMMARY["findings"][0]}
    assert {name: value for name, value in wanted.items() if name != "time"} == finding


def test_cited_lines_are_kept(store: Store) -> None:
    """A finding's line is in `lines` even if nobody passed it on, and only once."""
    fill(store)
    store.save(SUMMARY)
    store.save(SUMMARY)
    found = store.query("SELECT stream, line, text FROM lines").to_pylist()
    assert found == [{"stream": NAME, "line": 18, "text": "RuntimeError: CUDA out of memory"}]


def test_a_rule_that_holds_is_no_line(store: Store) -> None:
    """Evidence that is no line of the log is kept with its finding alone."""
    fill(store)
    rules = ["rule nan=1: 2 steps in a row"]
    finding = {**SUMMARY["findings"][0], "evidence": rules, "rules": rules}
    store.save({**SUMMARY, "findings": [finding]})
    assert [] == store.query("SELECT text FROM lines").to_pylist()
    assert [{"evidence": rules}] == store.query("SELECT evidence FROM findings").to_pylist()


def test_a_changed_judgement_is_added_to_the_history(store: Store) -> None:
    """`judgements` tells how the judgement moved, `runs` only how it stands."""
    fill(store)
    for judgement in ("WAIT", "WAIT", "STOP"):
        store.save({**SUMMARY, "judgement": judgement})
    told = store.query("SELECT judgement FROM judgements").columns[0].to_pylist()
    assert told == ["WAIT", "STOP"]
    assert store.runs()[0]["judgement"] == "STOP"


def test_a_run_cut_short_says_so(store: Store) -> None:
    """Rows without a summary are listed as incomplete, and `run` says what to do."""
    fill(store)
    assert [run["complete"] for run in store.runs()] == [False]
    with pytest.raises(QueryError, match="no summary") as caught:
        store.run("last")
    assert "runwatch scan train.log" in caught.value.hint


def test_names_of_runs_are_told_apart(store: Store) -> None:
    """An id that begins another is itself; what begins several is ambiguous; else there is none."""
    for run in ("ab1", "ab12", "ab2"):
        fill(store, run, 1)
        store.save({**SUMMARY, "run": run})
    assert store.run("ab1")["run"] == "ab1"
    assert store.run("ab2")["run"] == "ab2"
    with pytest.raises(QueryError, match="3 runs begin with 'ab': ab1, ab12, ab2"):
        store.run("ab")
    with pytest.raises(QueryError, match="no run 'x'"):
        store.run("x")


def test_no_history_is_an_empty_one(store: Store) -> None:
    """Nothing is created by asking; queries see the views without rows."""
    assert (store.runs(), store.past("r")) == ([], None)
    assert store.query("SELECT * FROM points").num_rows == 0
    with pytest.raises(QueryError, match="no history yet"):
        store.run("last")
    assert not store.path.exists()


def secret_flush(store: Store) -> None:
    secret = "password=hunter2"
    piece = batch(1, 1, noted=[(1, secret)])
    store.flush("r", f"x?{secret}", [piece], {NAME: cursor(1)}, {"text": [secret]}, fresh=True)
    findings = [{**SUMMARY["findings"][0], "evidence": [secret], "message": secret}]
    store.save({**SUMMARY, "target": f"x?{secret}", "findings": findings})


def test_secrets_do_not_reach_the_file(store: Store) -> None:
    """Neither in lines, findings, summaries, targets nor states."""
    secret_flush(store)
    assert b"hunter2" not in store.path.read_bytes()
    past = store.past("r")
    assert past is not None
    assert {"text": [f"password={MARK}"]} == past.state
    assert f"password={MARK}" == store.run("r")["findings"][0]["evidence"][0]


def test_lines_are_cleaned_once(store: Store) -> None:
    """By whoever has them first: lines that were cleaned before are kept as they are."""
    clean = batch(1, 1, noted=[(1, "password=hunter2 " + "x" * 20_000)]).redacted()
    assert clean.redacted() is clean
    cut = batch(2, 2, noted=[(2, "y" * 9_995 + " password=hunter2")])
    store.flush("r", NAME, [clean, cut], {NAME: cursor(2)}, {}, fresh=True)
    assert b"hunter" not in store.path.read_bytes()
    one, two = store.query("SELECT text FROM lines ORDER BY line").columns[0].to_pylist()
    assert one.startswith(f"password={MARK} xxx")
    assert one.endswith("x… (10020 more characters)")
    assert two.endswith("y pass… (15 more characters)")


def test_streams_without_cursor_cannot_be_gone_on_with(store: Store) -> None:
    """Standard input has no identity: it is stored, and no cursor comes back."""
    store.flush("r", "-", [batch(1, 2, "-", None)], {}, {}, fresh=True)
    past = store.past("r")
    assert past is not None
    assert past.cursors == {}
    assert store.query("SELECT rank FROM points").columns[0].to_pylist() == [None] * 4


def test_many_streams_with_many_series(store: Store) -> None:
    """A thousand ranks share a flush; each has its own series."""
    pieces = [batch(1, 2, f"rank_{rank}.log", rank) for rank in range(1000)]
    cursors: dict[str, Cursor] = {piece.stream.name: cursor(2) for piece in pieces}
    store.flush("r", "folder", pieces, cursors, {}, fresh=True)
    past = store.past("r")
    assert past is not None
    assert cursors == past.cursors
    sql = "SELECT count(*) n, count(DISTINCT rank) r, sum(value) v FROM points"
    (row,) = store.query(sql).to_pylist()
    assert row == {"n": 4000, "r": 1000, "v": 6500.0}


def test_nothing_is_opened_below_a_call(tmp_path: Path) -> None:
    """Between two calls another process may do with the file what it likes."""
    store = Store(tmp_path / "a.duckdb")
    fill(store, last=2)
    store.path.rename(tmp_path / "b.duckdb")
    assert expected(2) == values(Store(tmp_path / "b.duckdb"))
    assert {"b.duckdb", "a.duckdb.lock"} == {file.name for file in tmp_path.iterdir()}


def test_the_law_holds_for_any_name_of_the_file(tmp_path: Path) -> None:
    """The file may be called like one of our views, or like a schema of DuckDB."""
    for name in ("points", "runs", "main", "temp", "system", "memory", "a b'c;--", "ünï"):
        store = Store(tmp_path / f"{name}.duckdb")
        fill(store, last=1)
        assert expected(1) == values(store)
