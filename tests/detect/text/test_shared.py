"""The text detector on real logs, where they lie beside the project."""

import csv
from pathlib import Path

import pytest

from tests.detect.text.feeder import verdict

# Kinds that numbers tell, not words.
NUMBERS = (
    "nan_loss",
    "nan_grad",
    "loss_scale_collapse",
    "diverged",
    "throughput_drop",
    "straggler",
)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_cases_with_a_known_cause(shared: Path) -> None:
    """Of the short logs whose cause is in words, nearly all get their root line and kind."""
    index = [r for r in rows(shared / "cases" / "INDEX.tsv") if r["kind"] not in NUMBERS]
    if not index:
        pytest.skip("no cases")
    right = [0, 0, 0]
    for row in index:
        said = verdict((shared / "cases" / row["file"]).read_bytes())
        root = said.root_cause
        kinds = {row["kind"], *row["accept"].split("|")} - {""}
        if row["root_line"] == "none":
            assert root is None, row["file"]
        else:
            right[0] += root is not None and str(root.line) == row["root_line"]
            right[1] += root is not None and root.kind in kinds
        right[2] += bool({said.judgement, said.decision} & {*row["judgement"].split("|")})
    blamed = sum(row["root_line"] != "none" for row in index)
    assert right[0] >= 0.95 * blamed
    assert right[1] >= 0.95 * blamed
    assert right[2] >= 0.95 * len(index)


def test_ends_of_the_corpus(shared: Path) -> None:
    """Runs that failed by words get their end and root line; finished ones no loud finding."""
    wrong = []
    for row in rows(shared / "corpus" / "files.tsv"):
        end, log = row["end"], shared / "corpus" / "logs" / row["file"]
        if end in ("failed:nan_loss", "failed:diverged", "several_runs") or not log.exists():
            continue
        said = verdict(log.read_bytes())
        state = str(said.ending.state) if said.ending else ""
        line = str(said.root_cause.line) if said.root_cause else ""
        want = {"time_limit": "TIMEOUT", "cancelled": "CANCELLED"}.get(end, "FAILED")
        if end in ("finished", "cut"):
            ok = state not in ("FAILED", "CANCELLED", "TIMEOUT")
        else:
            ok = (want, row["root_line"]) == (state, line)
        wrong += [] if ok else [(row["file"], end, state, line)]
    assert wrong[2:] == []
