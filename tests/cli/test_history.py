"""Asking the history from the command line."""

import json
from pathlib import Path

import pytest

from runwatch.chunk import Cursor
from runwatch.cli import main
from runwatch.store import Store
from tests.cli.samples import batch, summary


@pytest.fixture
def stored(home: Path) -> Path:
    """A history with one run of three losses, one of them NaN."""
    place = home / "history.duckdb"
    store = Store(place)
    cursors = {"train.log": Cursor("x", 30, 3)}
    store.flush("3f9a1c0b7d42", "logs/", [batch([2.0, float("nan"), 1.0])], cursors, {}, fresh=True)
    store.save(summary(target="logs/"))
    return place


def test_an_answer_is_a_table_for_people(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Columns under their names, numbers to the right, and how many rows there are."""
    assert main(["sql", "SELECT metric, step, value FROM points ORDER BY step"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "metric  step  value",
        "──────  ────  ─────",
        "loss       1      2",
        "loss       2    nan",
        "loss       3      1",
        "(3 rows)",
    ]


def test_an_answer_is_csv_or_strict_json(stored: Path, capsysbinary: object) -> None:
    """NaN is `nan` in CSV and a string in JSON; maps, lists and big sums are readable."""
    query = "SELECT value, step FROM points ORDER BY step"
    assert main(["sql", query, "--format", "csv"]) == 0
    assert capsysbinary.readouterr().out == b"value,step\n2,1\nnan,2\n1,3\n"  # type: ignore[attr-defined]
    assert main(["sql", query, "--format", "json"]) == 0
    values = [row["value"] for row in json.loads(capsysbinary.readouterr().out)]  # type: ignore[attr-defined]
    assert values == [2.0, "NaN", 1.0]
    nested = (
        "SELECT final_metrics, [1, 2] AS list, 3::HUGEINT AS big, 0.5::DECIMAL(3,1) AS d FROM runs"
    )
    assert main(["sql", nested, "--format", "json"]) == 0
    (row,) = json.loads(capsysbinary.readouterr().out)  # type: ignore[attr-defined]
    assert (row["list"], row["big"], row["d"]) == ([1, 2], 3, 0.5)
    assert row["final_metrics"]["lr"] == 3e-4
    for format in ("csv", "table"):
        assert main(["sql", nested, "--format", format]) == 0


def test_the_name_of_the_file_says_the_format(stored: Path, tmp_path: Path) -> None:
    """`-o points.parquet` needs no --format."""
    import pyarrow.parquet as pq

    place = tmp_path / "points.parquet"
    assert main(["sql", "FROM points", "-o", str(place)]) == 0
    assert pq.read_table(place).num_rows == 3


def test_a_wrong_query_is_told(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code 2, what the database said, and the views there are."""
    assert main(["sql", "SELECT nothing FROM nowhere"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "hint: views: runs, streams, points" in err


def test_runs_are_listed(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line a run, with its end and its cause."""
    assert main(["runs"]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    for word in ("3f9a1c0b7d42", "FAILED", "NO-GO", "830/5000", "cuda_oom (rank 5)", "logs/"):
        assert word in line
    assert main(["runs", "--json"]) == 0
    assert [run["run"] for run in json.loads(capsys.readouterr().out)["runs"]] == ["3f9a1c0b7d42"]


def test_no_history_is_no_error_for_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    """A newcomer is told how to begin."""
    assert main(["runs"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "no runs yet; `runwatch scan PATH` adds one\n")


@pytest.mark.parametrize("name", ["last", "3f9a", "3f9a1c0b7d42"])
def test_a_run_is_told_again(stored: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By its id, its first letters, or as the last one; the same text as after the scan."""
    from runwatch.cli.report.summary import report

    assert main(["show", name]) == 0
    assert capsys.readouterr().out == report(summary(target="logs/"))


def test_an_unknown_run_is_told(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code 2 and where to look."""
    assert main(["show", "zzz"]) == 2
    assert "`runwatch runs` lists" in capsys.readouterr().err


def test_a_heading_cannot_steer_the_terminal(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A column is named by a query, which may come from anywhere."""
    assert main(["sql", 'SELECT 1 AS "a\x1b[2Jb"']) == 0
    assert b"\x1b" not in capsysbinary.readouterr().out


@pytest.mark.parametrize("query", ["", "  \n", ";", "-- FROM runs"])
def test_an_empty_query_is_told(query: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Code 2 and what a query looks like, not an empty answer."""
    assert main(["sql", query]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "hint: " in err
    assert "runs" in err


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT 1 AS loss, 2 AS loss", ["loss", "loss_1"]),
        ("SELECT 1 AS loss, 2 AS loss, 3 AS loss_1", ["loss", "loss_1", "loss_1_1"]),
        ("SELECT 1 AS loss_1, 2 AS loss, 3 AS Loss", ["loss_1", "loss", "Loss_2"]),
    ],
)
def test_columns_of_one_name_are_told_apart(
    query: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In JSON and Parquet, which know a column by its name, none is lost."""
    import pyarrow.parquet as pq

    values = dict(zip(names, range(1, 4), strict=False))
    assert main(["sql", query, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [values]
    place = tmp_path / "a.parquet"
    assert main(["sql", query, "-o", str(place)]) == 0
    assert pq.read_table(place).to_pylist() == [values]


def test_json_cannot_steer_the_terminal(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """C1 controls, DEL and marks that turn text around are escapes; the values are the same."""
    text = "a\x9b2Jb\x7f \u202ec\u2066d\u2028e\u200f\u061c ü€😀 \u2013\u2065"
    assert main(["sql", f"SELECT '{text}' AS \"{text}\"", "--format", "json"]) == 0
    out = capsysbinary.readouterr().out
    assert json.loads(out) == [{text: text}]
    assert b"a\\u009b2Jb\\u007f \\u202ec\\u2066d\\u2028e\\u200f\\u061c " in out
    assert not {*map(chr, range(0x7F, 0xA0)), *"\u202e\u2066\u2028\u200f\u061c"} & {*out.decode()}
    assert "ü€😀 \u2013\u2065" in out.decode()
