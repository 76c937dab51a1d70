"""`runwatch parse` from words to numbers, with all rooms behind it."""

import csv
import io
import json
from pathlib import Path

import pytest

from runwatch.cli import main

LOG = "step 1 | loss 3.5 | time 98.2ms\nnothing here\nstep 2 | loss nan | time 97.1ms\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    place = tmp_path / "train.log"
    place.write_text(LOG)
    return place


def test_numbers_come_as_csv(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One row a number, with line, step and unit."""
    assert main(["parse", str(log)]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [
        (row["line"], row["step"], row["value"], row["unit"])
        for row in rows
        if row["metric"] == "loss"
    ] == [("1", "1", "3.5", ""), ("3", "2", "nan", "")]
    assert {row["unit"] for row in rows if row["metric"] == "time"} == {"ms"}
    assert {row["stream"] for row in rows} == {"train.log"}


def test_streams_of_several_paths_are_told_apart(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same file name in two folders gives two streams."""
    twin = log.parent / "twin" / "train.log"
    twin.parent.mkdir()
    twin.write_text(LOG)
    assert main(["parse", str(log), str(twin), "--to", "jsonl"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {json.loads(line)["stream"] for line in lines} == {str(log), str(twin)}


def test_a_summary_has_a_row_for_each_metric(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts, extremes and mean over all points; NaN is counted apart."""
    assert main(["parse", str(log), "--summary", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["lines"], document["bytes"]) == (3, len(LOG))
    (loss,) = [row for row in document["metrics"] if row["metric"] == "loss"]
    assert loss == {
        "metric": "loss",
        "unit": None,
        "count": 2,
        "nan": 1,
        "first": 3.5,
        "last": "NaN",
        "min": 3.5,
        "max": 3.5,
        "mean": 3.5,
    }


def test_a_missing_file_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Code 2, an error with a hint, and no output file."""
    place = tmp_path / "points.csv"
    assert main(["parse", str(tmp_path / "no.log"), "-o", str(place)]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert list(tmp_path.iterdir()) == []
