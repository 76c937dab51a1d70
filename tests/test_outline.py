"""What a summary tells of the numbers, wherever the stream was cut."""

from collections.abc import Iterable, Mapping
from itertools import permutations

import pytest

from runwatch import outline
from runwatch.chunk import Chunk, Stream
from runwatch.outline import Outline
from runwatch.parse import Parser

LOG = b"".join(
    f"[rank{rank}] step={step} loss={step}.5 lm_loss={rank}.25 lr=0.1\n".encode()
    for step, rank in [(7, 0), (8, 1), (9, 1), (10, 0)]
)


def told(size: int) -> Outline:
    """The outline of the log cut every `size` bytes."""
    parser, found, stream = Parser(), Outline(), Stream("a")
    for at in range(0, len(LOG), size):
        found.feed(parser.feed(Chunk(stream, LOG[at : at + size], at)))
    return found


def test_where_the_stream_is_cut_changes_nothing() -> None:
    """The last step is that of the last line, the latest metric the one that was written last."""
    whole = told(len(LOG))
    assert whole.steps.last == 10
    for size in (1, 20, 61):
        cut = told(size)
        assert (cut.steps, cut.latest("loss")) == (whole.steps, whole.latest("loss"))


def test_metrics_that_are_known_go_on_when_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limit on how many are kept is none on how long."""
    monkeypatch.setattr(outline, "_MAX_SERIES", 1)
    parser, found, stream = Parser(), Outline(), Stream("a")
    first, second = b"step=1 loss=0.9\n", b"step=2 loss=0.1\n"
    found.feed(parser.feed(Chunk(stream, first, 0)))
    found.feed(parser.feed(Chunk(stream, second, len(first))))
    assert found.final_metrics() == {"loss": 0.1}


def test_a_run_is_where_its_furthest_stream_is() -> None:
    """In the last segment, whichever stream was read last; of those at one step rank 0 tells."""
    texts = {0: "step=9 loss=0.5\n", 1: "step=7 loss=0.7\n", 2: "step=9 loss=0.6\n"}
    for order in permutations(texts):
        found = fed(order, texts)
        assert (found.steps.first, found.steps.last) == (7, 9)
        assert found.final_metrics() == {"loss": 0.5}
    texts[1] += "step=3 loss=0.9\n"
    for order in permutations(texts):
        found = fed(order, texts)
        assert (found.steps.first, found.steps.last, found.segments) == (3, 3, 2)
        assert found.final_metrics() == {"loss": 0.9}


def fed(order: Iterable[int], texts: Mapping[int, str]) -> Outline:
    """The outline of some ranks, each with a stream of its own, read in this order."""
    parser, found = Parser(), Outline()
    for rank in order:
        found.feed(parser.feed(Chunk(Stream(f"rank_{rank}", rank), texts[rank].encode(), 0)))
    return found
