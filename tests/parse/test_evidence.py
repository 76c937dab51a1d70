"""What makes a lone `name: value` line a measurement: the lines beside it, never its value."""

import json

import pytest

from runwatch.chunk import Chunk
from runwatch.parse import Parser
from tests.parse.reading import RUN, points, rows, said

BEGUN = "step 100 | loss 2.5\n"


@pytest.mark.parametrize("line", ["lr: 0.25", "reward: 1.5", "Current learning rate: 0.25"])
def test_a_known_name_beside_a_line_that_reports_counts(line: str) -> None:
    """Alone it may be a setting; behind a metric line it is a measurement of that step."""
    assert [] == said(f"{line}\n")
    assert [2] == [row[0] for row in points(f"{BEGUN}{line}\n".encode())][1:]
    assert [] == said(f"{BEGUN}saving\n{line}\n")[1:]


@pytest.mark.parametrize(
    "line", ["workers: 8", "batch_size: 32", "Step 101: x = 3", "dropout: 0.5"]
)
def test_other_names_do_not(line: str) -> None:
    """Settings and arithmetic stay silent wherever they stand."""
    assert [] == said(f"{BEGUN}{line}\n")[1:]


def test_what_counted_by_its_neighbour_counts_alone_at_the_next_step() -> None:
    """One proof is enough: later lines of the form need no neighbour."""
    text = f"{BEGUN}reward: 1.5\nstep 200 | loss 2.0\nsaving\nreward: 1.75\n"
    assert [1.5, 1.75] == [value for _, name, value in said(text) if name == "reward"]


def test_a_clock_shows_that_a_run_without_steps_goes_on() -> None:
    """A known name that comes again later with another value counts, both times."""
    text = "2024-05-01 12:00:01 INFO reward: 1.5\n2024-05-01 12:05:01 INFO reward: 1.75\n"
    assert [1.5, 1.75] == [value for _, _, value in said(text)]


def test_what_a_line_has_for_a_neighbour_survives_a_restart() -> None:
    """A parser that goes on from another's state knows what the line before was."""
    first, second = Parser(), Parser()
    data = BEGUN.encode()
    first.feed(Chunk(RUN, data, 0))
    second.restore(json.loads(json.dumps(first.state())))
    batch = second.feed(Chunk(RUN, b"reward: 1.5\n", len(data)))
    assert [(2, "reward")] == [(row[0], row[5]) for row in rows(batch.points)]


def test_the_columns_of_a_row_with_empty_cells_are_told_by_where_they_stand() -> None:
    """Each value takes the name it stands under; one that stands under none voids the row."""
    head = "epoch    loss    val_loss    acc\n"
    assert [(2, "loss", 2.5), (2, "acc", 0.5)] == said(f"{head}0        2.5                 0.5\n")
    assert [] == said(f"{head}0             2.5            0.5\n")
