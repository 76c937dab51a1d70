"""`runwatch formats`: what was recognised, with what evidence, and how far a user's file gets."""

import json
from pathlib import Path
from typing import Any

import pytest

from runwatch.cli import main

LOG = (
    "[rank0]:2024-05-01 12:00:01,123 - step 10 | loss 2.5 | time 98.2ms\n"
    "[rank0]:2024-05-01 12:00:02,123 - step 20 | loss 2.4 | time 98.1ms\n"
    "widgets: 8\n"
    '{"step": 30, "loss": 2.3}\n'
    " 50%|#####     | 40/80 [00:01<00:20, 4.5it/s, loss=2.2]\n"
    "token abc: https://user:secret@host/x\n"
)
MINE = r"""
fragments = ["HEARTBEAT"]
silent = ["HEARTBEAT loss: 0.5"]

[[prefix]]
name = "ours"
pattern = '<(?P<rank>\d+)>\ \|\ (?P<level>[A-Z]+)\ \|\ '
samples = ["<3> | INFO | "]

[[quantity]]
name = "loss"
exact = ["wobble"]
clue = true
fits = ["wobble"]
misses = ["lr"]
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    place = tmp_path / "train.log"
    place.write_text(LOG)
    return place


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    """The JSON document of a command."""
    assert code == main(["formats", *words, "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_forms_tell_where_step_and_rank_come_from(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A named step, a key of an object, the count of a bar; a prefix for the rank."""
    forms = {form["line"]: form for form in told(capsys, str(log))["forms"]}
    assert [
        ("text", "`step`", "prefix rank-tag", 2, 4),
        ("object", "`step`", "", 1, 1),
        ("progress bar", "the bar's count", "", 1, 2),
    ] == [
        (f["kind"], f["step"], f["rank"], f["count"], f["points"])
        for f in (forms[1], forms[4], forms[5])
    ]
    assert ["loss", "time"] == forms[1]["metrics"]


def test_a_form_that_gives_nothing_tells_what_it_waits_for(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A setting may be a measurement as long as it came once."""
    (form,) = [form for form in told(capsys, str(log))["forms"] if form["line"] == 3]
    assert (0, "not yet: it must come again at another step with other numbers") == (
        form["points"],
        form["evidence"],
    )


def test_prefixes_metrics_and_counts_add_up(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every measurement is of a metric and of a form."""
    found = told(capsys, str(log))
    assert {"rank-tag": 2, "iso": 2} == {p["name"]: p["count"] for p in found["prefixes"]}
    assert found["points"] == sum(metric["count"] for metric in found["metrics"])
    assert found["points"] == sum(form["points"] for form in found["forms"])
    assert ("loss", 4) in {(m["quantity"], m["count"]) for m in found["metrics"]}


def test_the_page_shows_the_same_without_secrets(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For people: counts, evidence and an example line of each form."""
    assert main(["formats", str(log)]) == 0
    page = capsys.readouterr().out
    assert "2 text, 4 measurements; step from `step`; rank from prefix rank-tag" in page
    assert "line 1: step 10 | loss 2.5 | time 98.2ms" in page
    assert "secret" not in page


def test_a_long_log_is_surveyed_as_far_as_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--lines` ends it after the piece that holds so many, and the document says so."""
    place = tmp_path / "long.log"
    place.write_text("step 1 loss 2.5\n" * 20_000)
    found = told(capsys, str(place), "--lines", "10")
    assert not found["whole"]
    assert 10 <= found["lines"] < 20_000


def test_the_program_is_named_by_what_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the sign that tells, and the line where it stood first."""
    place = tmp_path / "log"
    place.write_text("start\n[NeMo I 2024-05-01 10:20:31 x:3] loss: 2.5\n")
    assert [{"name": "NeMo", "count": 1, "line": 2, "example": "[NeMo I"}] == told(
        capsys, str(place)
    )["families"]


def test_a_users_file_is_tried_entry_by_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each entry works, and with a log each tells how often it applied there."""
    mine, log = tmp_path / "mine.toml", tmp_path / "log"
    mine.write_text(MINE)
    log.write_text("<3> | INFO | step 10 wobble 0.5\n<3> | INFO | HEARTBEAT wobble: 3\n")
    found = told(capsys, "check", str(mine), str(log))
    assert [
        ("prefix", "ours", True, 2),
        ("quantity", "loss", True, 1),
        ("fragment", "HEARTBEAT", True, 1),
        ("silent", "HEARTBEAT loss: 0.5", True, None),
    ] == [(e["kind"], e["name"], e["good"], e["used"]) for e in found["entries"]]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"<3> | INFO | "', '"<3> | info | "', "matches '<3> | ', then `(?P<level>[A-Z]+)"),
        ('"<3> | INFO | "', '"{3} | INFO | "', "matches nothing of it from the start"),
        ('"<3> | INFO | "', '"<3> | INFO |  "', "not ' ' behind it"),
        ('fits = ["wobble"]', 'fits = ["jitter"]', "not known"),
        ('misses = ["lr"]', 'misses = ["loss"]', "is loss"),
        ("P<level>", "P<colour>", "groups that mean nothing: colour"),
        ("[A-Z]+", "[A-Z+", "no pattern, or none that works"),
        ('fragments = ["HEARTBEAT"]', "", "loss=0.5"),
        ("clue = true", "clu = true", "keys that mean nothing: clu"),
        ('samples = ["<3> | INFO | "]', "", "no samples"),
    ],
)
def test_what_does_not_work_tells_how_far_it_got(
    old: str, new: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, every entry is tried, and the broken one says what is wrong."""
    mine = tmp_path / "mine.toml"
    assert old in MINE
    mine.write_text(MINE.replace(old, new))
    assert main(["formats", "check", str(mine)]) == 2
    page = capsys.readouterr().out
    assert said in page
    assert "fails" in page


@pytest.mark.parametrize("words", [["check"], ["check", "a", "b", "c"], ["a", "b"]])
def test_wrong_words_are_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Usage errors have a hint."""
    assert main(["formats", *words]) == 2
    assert "hint:" in capsys.readouterr().err


def test_a_file_that_is_no_toml_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As an error of its own, before anything is tried."""
    mine = tmp_path / "mine.toml"
    mine.write_text("[[prefix\n")
    assert main(["formats", "check", str(mine)]) == 2
    assert "mine.toml" in capsys.readouterr().err
