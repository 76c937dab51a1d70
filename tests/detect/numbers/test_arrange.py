"""The three ways in which a batch's measurements are put side by side are the same."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.detect import arrange
from runwatch.detect.alike import regular
from runwatch.detect.table import NO_RANK, Arrangement, Room
from runwatch.kernels.field import NOTHING


class Table(SimpleNamespace):
    """A batch as arrays."""

    def __len__(self) -> int:
        return len(self.line)


def table(
    metric: list[int], rank: list[int], quantities: list[int], segment: list[int], size: int = 1
) -> Any:
    """Four metrics, the last a running average; `quantities` are theirs, -1 for none. As many
    points as `size` have line and step in common."""
    n = len(metric)
    line = np.arange(n) // size
    quantity = np.array([quantities[m] for m in metric], np.int32)
    return Table(
        room=Room(), line=line // 3 + 1, rank=np.array(rank, np.int32), step=line,
        time=np.broadcast_to(np.int64(NOTHING), n), epoch=np.broadcast_to(np.float64(np.nan), n),
        value=np.arange(n) / 7.0, segment=np.array(segment, np.int32),
        metric=np.array(metric, np.int32), metrics=["loss", "lr", "other", "loss.avg"],
        quantity=quantity, given_quantity=np.abs(quantity), unmeasured=quantity < 0,
        quantities=["lr", "loss"],
    )  # fmt: skip


def told(found: Arrangement) -> list[Any]:
    """All that an arrangement says."""
    times = len(found.rows[4]) // max(1, len(found.rows[0]))
    rows = [np.tile(column, times).tobytes() for column in found.rows[:4]] + [
        found.rows[4].tobytes()
    ]
    parts = (found.quantities, found.begins, found.first, found.order)
    return [part.tolist() for part in parts] + rows


@given(data=st.data(), n=st.integers(1, 60))
def test_compiled_and_plain_are_the_same(data: st.DataObject, n: int) -> None:
    """A batch of any mixture of metrics and ranks is arranged by compiled code as by numpy's."""
    metric = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    rank = data.draw(st.lists(st.sampled_from([NO_RANK, 0, 1]), min_size=n, max_size=n))
    quantities = data.draw(st.sampled_from([[1, 0, -1, 1], [1, 1, 0, 1], [-1, -1, -1, -1]]))
    mixed = table(metric, rank, quantities, [0] * n)
    compiled = arrange._counted(mixed)
    assert compiled is None or told(compiled) == told(arrange._sorted(mixed))


@pytest.mark.parametrize("ranks", [[3], [4, NO_RANK], [7, 2, 5, 2]])
@pytest.mark.parametrize("record", [[0], [0, 1], [1, 0, 2], [3, 0, 1, 2], [2], [3]])
@pytest.mark.parametrize("compiled", [False, True])
def test_like_records_are_the_same_by_stride(
    record: list[int], ranks: list[int], compiled: bool
) -> None:
    """Where all records have the same metrics, taking every so many-th row is the same, and what a
    record's points have in common is there once."""
    n = 40 * len(record)
    rank = np.repeat([ranks[i % len(ranks)] for i in range(40)], len(record)).tolist()
    alike = table(record * 40, rank, [1, 0, -1, 1], [2] * n, len(record))
    found = regular(alike, compiled=compiled)
    assert found is not None
    assert told(arrange._sorted(alike)) == told(found)
    assert 40 == len(found.rows[0])


@pytest.mark.parametrize(
    ("metric", "rank", "segment"),
    [
        ([0, 1, 0, 1, 0, 2], [0] * 6, [0] * 6), ([0, 1, 0, 1, 0], [0] * 5, [0] * 5),
        ([0, 1, 0, 1], [0, 0, 1, 1], [0] * 4), ([0, 1, 0, 1], [0] * 4, [0, 0, 1, 1]),
        ([0, 1, 1, 0, 1, 1], [0] * 6, [0] * 6), ([0, 1, 2], [0] * 3, [0] * 3),
        ([0, 1, 0, 1], [0, 1, 0, 0], [0] * 4), ([0, 4, 0, 4], [0] * 4, [0] * 4),
    ],
)  # fmt: skip
def test_unlike_records_are_left_to_the_others(
    metric: list[int], rank: list[int], segment: list[int]
) -> None:
    """Another metric, rank or segment somewhere, a metric or a quantity twice, and no stride is
    taken."""
    whole = table(metric, rank, [1, 0, -1, 1, 1], segment, 2)
    whole.metrics = [*whole.metrics, "loss of a part"]
    assert regular(whole, compiled=False) is None


@pytest.mark.parametrize("name", ["line", "time", "step", "epoch"])
def test_points_that_stand_apart_are_no_record(name: str) -> None:
    """Another line, time, step or epoch within a record, and no stride is taken."""
    whole = table([0, 1] * 40, [0] * 80, [1, 0, -1, 1], [0] * 80, 2)
    column = np.array(getattr(whole, name))
    column[41] = 999
    setattr(whole, name, column)
    assert regular(whole, compiled=False) is None


def test_a_room_is_used_again() -> None:
    """The second batch stands where the first one stood."""
    first = table([0, 1] * 40, [0] * 80, [1, 0, -1, 1], [0] * 80, 2)
    before = arrange.arranged(first).rows[4]
    second = table([0, 1] * 30, [0] * 60, [1, 0, -1, 1], [0] * 60, 2)
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
