"""Checkpoints that logs tell of."""

import pytest

from runwatch import shipped
from runwatch.chunk import Chunk, Stream
from runwatch.detect.checkpoints import Checkpoints
from runwatch.parse import Parser

TABLE = shipped.table("detect/checkpoint.toml")


def told(*lines: str) -> Checkpoints:
    """What these lines tell, read by the parser as from a file."""
    checkpoints = Checkpoints()
    parser = Parser(watchwords=checkpoints.watchwords)
    text = "".join(f"{line}\n" for line in lines).encode()
    checkpoints.feed(parser.feed(Chunk(Stream("train.log"), text, 0)))
    return checkpoints


@pytest.mark.parametrize("sample", [s for row in TABLE["saved"] for s in row["fires"]])
def test_every_pattern_reads_its_own_samples(sample: dict[str, object]) -> None:
    """Path, step and whether it is the best are as the sample says."""
    (found,) = told(str(sample["line"])).saved
    assert (sample["path"], sample.get("step"), sample["best"]) == (
        found.path, found.step, found.best
    )  # fmt: skip


@pytest.mark.parametrize("line", [line for row in TABLE["saved"] for line in row["silent"]])
def test_no_checkpoint_is_made_up(line: str) -> None:
    """Failures, intentions and lines without a path tell of none."""
    assert [] == told(line).saved


def test_the_best_is_the_one_at_the_lowest_evaluation_loss() -> None:
    """Where no line calls one the best."""
    found = told(
        "step 10 | eval_loss 2.0", "Saving checkpoint to out/step-10",
        "step 20 | eval_loss 1.5", "Saving checkpoint to out/step-20",
        "step 30 | eval_loss 1.8", "Saving checkpoint to out/step-30",
    )  # fmt: skip
    best, last = found.best(), found.last()
    assert best is not None
    assert last is not None
    assert ("out/step-20", "out/step-30") == (best.path, last.path)
    earlier = found.best(before=20)
    assert earlier is not None
    assert earlier.path == "out/step-10"


def test_saving_and_saved_are_one_checkpoint() -> None:
    """The place counts, not the number of lines that name it."""
    found = told("Saving checkpoint to out/step-10", "Checkpoint saved to out/step-10")
    assert ["out/step-10"] == [c.path for c in found.saved]
    again = Checkpoints()
    again.restore(found.state())
    assert found.saved == again.saved
