"""The first records of a loss are judged by compiled code as by ours."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from runwatch.detect import Columns
from runwatch.detect.runaway import Detector
from runwatch.kernels import native
from tests.detect.numbers.numeric_batches import NAN, batch, record


def told(track: dict[str, Any]) -> dict[str, Any]:
    """What is known of a loss beside the first records themselves, which nobody needs any more."""
    return {name: of for name, of in track.items() if name not in ("step", "values", "places")}


@settings(max_examples=100, deadline=None)
@given(
    count=st.integers(58, 80),
    learned=st.sampled_from([0.0, 8.0]),
    lost=st.integers(10, 80),
    level=st.sampled_from([0.0, 1.0, 2e5]),
    odd=st.lists(st.tuples(st.integers(0, 65), st.sampled_from([0.5, 3.0, 1e7, NAN])), max_size=6),
    repeated=st.sets(st.integers(1, 65), max_size=4),
    drawn=st.randoms(use_true_random=False),
)
def test_in_one_piece_or_line_by_line(
    count: int,
    learned: float,
    lost: int,
    level: float,
    odd: list[tuple[int, float]],
    repeated: set[int],
    drawn: Random,
) -> None:
    """Compiled code, which only sees all of them at once, passes by none that would be told."""
    assert native.judging.works()
    losses = [
        level + 2.0 - i * drawn.choice([0.0, 0.02]) + drawn.random()
        + learned * (0.9**i if not lost <= i < lost + 6 else drawn.uniform(0.7, 1.0))
        for i in range(count)
    ]  # fmt: skip
    for at, times in odd:
        losses[min(at, count - 1)] *= times
    records = [
        record(i + 1, step=i - (i in repeated), rank=rank, loss=loss)
        for i, loss in enumerate(losses)
        for rank in (0, 1)
    ]
    whole, pieces = Detector(), Detector()
    for watching, parts in ((whole, [records]), (pieces, [[one] for one in records])):
        for part in parts:
            said = batch(part)
            watching.feed(said, Columns(said))
    assert [told(track) for track in pieces.state()["tracks"].values()] == [
        told(track) for track in whole.state()["tracks"].values()
    ]
    assert pieces.findings() == whole.findings()
