"""A batch as arrays, the memory it is put in order in, and what comes of that."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from runwatch.arrays import Array, Flags, Floats, Ints
from runwatch.kernels.tracks import keyed

NO_RANK = int(np.iinfo(np.int32).min)
MOVED = ("line", "time", "step", "epoch", "value")  # what is told of the rows of series


_MADE = 256  # things that a room remembers


class Room:
    """Memory in which one batch after the other is arranged: asking for it anew costs more than
    filling it. What was made in it is good until the next batch is."""

    def __init__(self) -> None:
        self._kept: dict[str, Array] = {}
        self._made: dict[Any, Any] = {}
        self.names = Names()

    def once(self, of: Any, make: Callable[[], Any]) -> Any:
        """What was made of this before, to be read only."""
        if of not in self._made:
            if len(self._made) >= _MADE:
                self._made.clear()
            self._made[of] = make()
        return self._made[of]

    def array(self, name: str, kind: Any, length: int) -> Any:
        """An array of this name; what it holds is left from before."""
        kept = self._kept.get(name)
        if kept is None or len(kept) < length:
            kept = self._kept[name] = np.empty(length + length // 4, kind)
        return kept[:length]

    def filled(self, name: str, value: Any, length: int) -> Any:
        """An array of this name that holds nothing but this value."""
        kept, wanted = self._kept.get(name), np.asarray(value)
        if (
            kept is None
            or len(kept) < length
            or kept.dtype != wanted.dtype
            or kept[:1].tobytes() != wanted.tobytes()  # NaN is the same as NaN here
        ):
            kept = self._kept[name] = np.full(length + length // 4, value)
        return kept[:length]


_LARGE = 1 << 16  # names of series that a room remembers


class Names:
    """Names of series that were asked for once: their keys are the same list each time."""

    def __init__(self) -> None:
        self._kept: dict[Any, tuple[list[Any], list[str]]] = {}
        self._count = 0

    def of(
        self, stream: str, metrics: list[str], ranks: list[int | None]
    ) -> tuple[list[tuple[str, int | None]], list[str]]:
        """Metric and rank of each series, and its key within a run."""
        asked = (stream, *metrics, *ranks)
        if asked not in self._kept:
            if self._count > _LARGE:
                self._kept, self._count = {}, 0
            names = list(zip(metrics, ranks, strict=True))
            self._kept[asked] = names, [keyed(stream, metric, rank) for metric, rank in names]
            self._count += len(names)
        return self._kept[asked]


class Table(Protocol):
    """What is arranged: `Columns` are one. `given_quantity` is anything where `unmeasured` is true,
    which is None where it nowhere is."""

    room: Room
    line: Ints
    time: Ints
    rank: Any
    step: Ints
    epoch: Floats
    value: Floats
    segment: Any
    metric: Any
    given_quantity: Any
    unmeasured: Flags | None
    metrics: Sequence[str]
    quantities: Sequence[str]

    def __len__(self) -> int: ...

    @property
    def quantity(self) -> Any:
        """What each row measures, by its place in `quantities`; -1 where there is none."""


class Arrangement(NamedTuple):
    """Series by quantity, then by first appearance. Rows `order[begins[i]:begins[i + 1]]` are the
    i-th, of which `first` is the first; `rows` are their line, time, step, epoch and value,
    read-only. Where the batch is made of records of `size` points, each quantity has one row a
    record, and all but the values are the same ones for all quantities. `find` makes `order`."""

    quantities: Ints
    begins: Ints
    first: Ints
    find: Callable[[], Ints]
    rows: list[Any]
    size: int = 0

    @property
    def order(self) -> Ints:
        """The rows of the batch, series after series."""
        return self.find()


def averages(table: Table) -> list[int]:
    """The metrics that are running averages."""
    return [i for i, name in enumerate(table.metrics) if is_average(name)]


def is_average(metric: str) -> bool:
    """Whether a metric is a running average."""
    return metric.endswith(".avg")


def span(ranks: Any) -> tuple[int, int]:
    """The lowest and the highest rank that is told."""
    told = ranks[ranks != NO_RANK] if ranks.min() == NO_RANK else ranks
    return (int(told.min()), int(told.max())) if len(told) else (0, 0)


def into(table: Table, name: str, length: int) -> tuple[Any, Any]:
    """A column and where to move it; None where nothing is told in all of it, which stands there
    already."""
    column = getattr(table, name)
    if not column.strides[0]:
        return None, table.room.filled(f"no {name}", column[0], length)
    return column, table.room.array(name, column.dtype, length)
