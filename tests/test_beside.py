"""A log and the files of records beside it: each number is judged once, and none is missed."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path

from runwatch.cli import main
from runwatch.scanning import scan
from runwatch.summary import Summary
from tests.ingest import recorded


def judged(folder: Path) -> Summary:
    return scan(str(folder), clock=lambda: datetime.now(UTC))


def loss(step: int) -> float:
    """A loss that falls, then is shaken at step 300."""
    return 40.0 if 300 <= step < 306 else 3 - step / 400 + step % 7 / 100


def write(folder: Path, *, every: int = 1, steps: int = 600, nan: int = -1) -> None:
    """A log with the loss, and an event file with the loss and a gradient norm."""
    folder.mkdir()
    lines = [f"step {i} loss {loss(i):.4f}\n" for i in range(0, steps, every)]
    (folder / "train.log").write_text("".join(lines))
    recorded.events(
        folder / "tb",
        [
            (tag, math.nan if i == nan and tag == "train/loss" else value, i)
            for i in range(steps)
            for tag, value in (("train/loss", loss(i)), ("grad_norm", 1 + i % 5 / 10))
        ],
    )


def test_the_same_numbers_are_judged_once(tmp_path: Path) -> None:
    """The log's findings and metrics stand as without the event file, which adds what is new."""
    write(tmp_path / "run")
    both = judged(tmp_path / "run")
    (tmp_path / "alone").mkdir()
    (tmp_path / "run/train.log").rename(tmp_path / "alone/train.log")
    alone = judged(tmp_path / "alone")
    assert alone.findings == both.findings != ()
    assert {**alone.final_metrics, "grad_norm": 1.399999976158142} == both.final_metrics
    assert (alone.segments, alone.steps) == (both.segments, both.steps)


def test_a_log_that_says_little_leaves_the_judging_to_the_records(tmp_path: Path) -> None:
    """Fewer than twenty words of a log on its loss are not enough to judge it by."""
    write(tmp_path / "run", every=100)
    assert {"tb"} == {finding.stream.split("/")[0] for finding in judged(tmp_path / "run").findings}


def test_a_nan_between_the_lines_of_the_log_is_not_missed(tmp_path: Path) -> None:
    """What is not finite is looked for in every copy."""
    write(tmp_path / "run", every=10, nan=455)
    assert "nan_loss" in [finding.kind for finding in judged(tmp_path / "run").findings]


def test_one_rank_stays_one_rank(tmp_path: Path) -> None:
    """An event file beside a log makes no second rank of it."""
    write(tmp_path / "run")
    assert {0} == {finding.rank for finding in judged(tmp_path / "run").findings}


def test_a_state_of_the_trainer_says_how_far_it_is(tmp_path: Path, capsys: object) -> None:
    """From the command line: steps of all steps, the best checkpoint, and whether it is done."""
    for last, told in ((200, "RUNNING"), (300, "SUCCEEDED")):
        recorded.state(tmp_path / "out" / "trainer_state.json", last)
        code = main(["scan", str(tmp_path / "out"), "--json", "--no-store"])
        run = json.loads(capsys.readouterr().out)["runs"][0]  # type: ignore[attr-defined]
        assert {"first": 10, "last": last, "total": 300} == run["steps"]
        assert told == run["terminal_state"] or (told, run["terminal_state"]) == (
            "RUNNING", "UNKNOWN",
        )  # fmt: skip
        assert ("out/checkpoint-200" if last == 300 else None) == run["best_checkpoint"]
    assert code == 0
