"""The three ways in which a batch's measurements are put side by side are the same."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.detect import arrange
from runwatch.detect.arrange import NO_RANK, Arrangement, Room
from runwatch.kernels.tracks import NOTHING


class Table(SimpleNamespace):
    """A batch as arrays."""

    def __len__(self) -> int:
        return len(self.line)


def table(metric: list[int], rank: list[int], quantities: list[int], segment: list[int]) -> Any:
    """Four metrics, the last a running average; `quantities` are theirs, -1 for none."""
    n = len(metric)
    return Table(
        room=Room(), line=np.arange(n) // 3 + 1, rank=np.array(rank, np.int32), step=np.arange(n),
        time=np.broadcast_to(np.int64(NOTHING), n), epoch=np.broadcast_to(np.float64(np.nan), n),
        value=np.arange(n) / 7.0, segment=np.array(segment, np.int32),
        metric=np.array(metric, np.int32), metrics=["loss", "lr", "other", "loss.avg"],
        quantity=np.array([quantities[m] for m in metric], np.int32), quantities=["lr", "loss"],
    )  # fmt: skip


def told(found: Arrangement) -> list[Any]:
    """All that an arrangement says."""
    rows = [column.tobytes() for column in found.rows]
    return [found.quantities.tolist(), found.begins.tolist(), found.order.tolist(), rows]


@given(data=st.data(), n=st.integers(1, 60))
def test_compiled_and_plain_are_the_same(data: st.DataObject, n: int) -> None:
    """A batch of any mixture of metrics and ranks is arranged by compiled code as by numpy's."""
    metric = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    rank = data.draw(st.lists(st.sampled_from([NO_RANK, 0, 1]), min_size=n, max_size=n))
    quantities = data.draw(st.sampled_from([[1, 0, -1, 1], [1, 1, 0, 1], [-1, -1, -1, -1]]))
    mixed = table(metric, rank, quantities, [0] * n)
    compiled = arrange._counted(mixed)
    assert compiled is None or told(compiled) == told(arrange._sorted(mixed))


@pytest.mark.parametrize("record", [[0], [0, 1], [1, 0, 2], [3, 0, 1, 2], [2], [3]])
def test_like_records_are_the_same_by_stride(record: list[int]) -> None:
    """Where all records have the same metrics, taking every so many-th row is the same."""
    n = 40 * len(record)
    alike = table(record * 40, [3] * n, [1, 0, -1, 1], [2] * n)
    found = arrange._regular(alike)
    assert found is not None
    assert told(arrange._sorted(alike)) == told(found)


@pytest.mark.parametrize(
    ("metric", "rank", "segment"),
    [
        ([0, 1, 0, 1, 0, 2], [0] * 6, [0] * 6), ([0, 1, 0, 1, 0], [0] * 5, [0] * 5),
        ([0, 1, 0, 1], [0, 0, 1, 1], [0] * 4), ([0, 1, 0, 1], [0] * 4, [0, 0, 1, 1]),
        ([0, 1, 1, 0, 1, 1], [0] * 6, [0] * 6), ([0, 1, 2], [0] * 3, [0] * 3),
    ],
)  # fmt: skip
def test_unlike_records_are_left_to_the_others(
    metric: list[int], rank: list[int], segment: list[int]
) -> None:
    """Another metric, rank or segment somewhere, or a metric twice, and no stride is taken."""
    assert arrange._regular(table(metric, rank, [1, 0, -1, 1], segment)) is None


def test_a_room_is_used_again() -> None:
    """The second batch stands where the first one stood."""
    first = table([0, 1] * 40, [0] * 80, [1, 0, -1, 1], [0] * 80)
    before = arrange.arranged(first).rows[4]
    second = table([0, 1] * 30, [0] * 60, [1, 0, -1, 1], [0] * 60)
    second.room = first.room
    assert np.shares_memory(before, arrange.arranged(second).rows[4])


@given(fills=st.lists(st.tuples(st.sampled_from([0, 1, -1.5, np.nan]), st.integers(0, 9))))
def test_room_that_is_filled_holds_nothing_but_the_value(fills: list[tuple[float, int]]) -> None:
    """Whatever it was filled with before."""
    room = Room()
    for value, length in fills:
        np.testing.assert_array_equal(room.filled("x", value, length), np.full(length, value))
    room.filled("x", np.float64(np.nan), 9)
    assert room.filled("x", np.float64("nan"), 8).base is room.filled("x", np.nan, 7).base
