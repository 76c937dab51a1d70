"""Points and lines on their way into Arrow."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from runwatch.column import array
from runwatch.records import LINES, POINTS, TIME


class Words:
    """Numbers for words that come again and again, as an Arrow dictionary wants them."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._array: pa.Array[Any] | None = None

    def __getitem__(self, word: str) -> int:
        index = self._index.get(word)
        if index is None:
            index = self._index[word] = len(self._index)
            self._array = None
        return index

    def column(self, indices: "pa.Array[Any]") -> "pa.Array[Any]":
        """The words of the indices; null stays null."""
        if self._array is None:
            self._array = array(list(self._index), pa.string())
        return pa.DictionaryArray.from_arrays(indices, self._array)


class Columns:
    """The rows of one batch, column by column. `words` are shared by all batches of a run.

    Points come one by one or in blocks; a block is kept as arrays, and what came one by one before
    it is made into arrays first, so that the order stays.
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        self._points: list[list[Any]] = [[] for _ in POINTS]
        self._lines: list[list[Any]] = [[] for _ in LINES]
        self._blocks: list[list[pa.Array[Any]]] = []
        self._nothing = self._batches([_arrays(self._points, POINTS)])

    def point(
        self, line: int, time: int | None, rank: int | None, step: int | None, epoch: float | None,
        metric: str, value: float, unit: str, quantity: str | None, segment: int,
    ) -> None:  # fmt: skip
        """Add one measurement."""
        words = self.words
        row = (
            line, time, rank, step, epoch, words[metric], value,
            words[unit] if unit else None, words[quantity] if quantity else None, segment,
        )  # fmt: skip
        for column, cell in zip(self._points, row, strict=True):
            column.append(cell)

    def block(
        self, whole: npt.NDArray[np.int64], doubles: npt.NDArray[np.float64],
        ranks: list[int | None],
    ) -> None:  # fmt: skip
        """Add many measurements: columns line, time, writer, metric, unit, quantity (-1 is null)
        and value, step, epoch, segment (nan is null). `ranks` has the rank of each writer."""
        self._settle()
        line, time, writer, metric, unit, quantity = whole.T
        value, step, epoch, segment = doubles.T
        rank = np.array([-1 if r is None else r for r in ranks], np.int32)[writer]
        no_step = np.isnan(step)
        steps = np.where(no_step, 0, step).astype(np.int64)
        self._blocks.append(
            [
                array(line, pa.int64()),
                array(time, TIME, time < 0),
                array(rank, pa.int32(), rank < 0),
                array(steps, pa.int64(), no_step),
                array(epoch, pa.float64(), np.isnan(epoch)),
                array(metric, pa.int32()),
                array(value, pa.float64()),
                array(unit, pa.int32(), unit < 0),
                array(quantity, pa.int32(), quantity < 0),
                array(segment, pa.int32()),
            ]
        )

    def line(
        self, line: int, time: int | None, rank: int | None, step: int | None, segment: int,
        level: str | None, block: str, text: str, raw: str,
    ) -> None:  # fmt: skip
        """Add one line of note."""
        words = self.words
        row = (
            line, time, rank, step, segment,
            words[level] if level else None, words[block], text, raw,
        )  # fmt: skip
        for column, cell in zip(self._lines, row, strict=True):
            column.append(cell)

    def arrow(self) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The points and the lines; the columns are empty again."""
        self._settle()
        blocks, self._blocks = self._blocks, []
        if not blocks and not self._lines[0]:
            return self._nothing
        found = self._batches(blocks or [_arrays(self._points, POINTS)])
        self._lines = [[] for _ in LINES]
        return found

    def _batches(
        self, blocks: list[list["pa.Array[Any]"]]
    ) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        one = len(blocks) == 1
        columns = blocks[0] if one else list(map(pa.concat_arrays, zip(*blocks, strict=True)))
        return self._batch(columns, POINTS), self._batch(_arrays(self._lines, LINES), LINES)

    def _settle(self) -> None:
        """Make what came one by one into a block."""
        if self._points[0]:
            self._blocks.append(_arrays(self._points, POINTS))
            self._points = [[] for _ in POINTS]

    def _batch(self, columns: list["pa.Array[Any]"], schema: pa.Schema) -> pa.RecordBatch:
        arrays = [
            self.words.column(column) if pa.types.is_dictionary(field.type) else column
            for column, field in zip(columns, schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _arrays(columns: list[list[Any]], schema: pa.Schema) -> list["pa.Array[Any]"]:
    """Arrow arrays, of words their numbers."""
    return [
        array(column, pa.int32() if pa.types.is_dictionary(field.type) else field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
