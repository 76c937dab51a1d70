"""Points and lines on their way into Arrow."""

from typing import Any

import pyarrow as pa

from runwatch.records import LINES, POINTS


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

    def column(self, indices: list[int | None]) -> "pa.Array[Any]":
        """The words of the indices; None stays null."""
        if self._array is None:
            self._array = pa.array(list(self._index), pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), self._array)


class Columns:
    """The rows of one batch, column by column. `words` are shared by all batches of a run."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self.points: list[list[Any]] = [[] for _ in POINTS]
        self.lines: list[list[Any]] = [[] for _ in LINES]

    def point(
        self, line: int, time: int | None, rank: int | None, step: int | None, epoch: float | None,
        metric: str, value: float, unit: str, quantity: str | None, segment: int,
    ) -> None:  # fmt: skip
        """Add one measurement."""
        words = self._words
        row = (
            line, time, rank, step, epoch, words[metric], value,
            words[unit] if unit else None, words[quantity] if quantity else None, segment,
        )  # fmt: skip
        for column, cell in zip(self.points, row, strict=True):
            column.append(cell)

    def line(
        self, line: int, time: int | None, rank: int | None, step: int | None, segment: int,
        level: str | None, block: str, text: str, raw: str,
    ) -> None:  # fmt: skip
        """Add one line of note."""
        words = self._words
        row = (
            line, time, rank, step, segment,
            words[level] if level else None, words[block], text, raw,
        )  # fmt: skip
        for column, cell in zip(self.lines, row, strict=True):
            column.append(cell)

    def arrow(self) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The points and the lines; the columns are empty again."""
        points = self._batch(self.points, POINTS)
        lines = self._batch(self.lines, LINES)
        self.points = [[] for _ in POINTS]
        self.lines = [[] for _ in LINES]
        return points, lines

    def _batch(self, columns: list[list[Any]], schema: pa.Schema) -> pa.RecordBatch:
        arrays = [
            self._words.column(column)
            if pa.types.is_dictionary(field.type)
            else pa.array(column, field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
