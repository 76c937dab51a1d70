"""Points and lines on their way into frames."""

from typing import Any

import numpy as np

from runwatch.arrays import Floats, Ints
from runwatch.column import Column, Frame, Kind, joined
from runwatch.records import LINES, POINTS


class Words:
    """Numbers for words that come again and again, and the words in that order."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self.texts: list[str] = []

    def __getitem__(self, word: str) -> int:
        index = self._index.get(word)
        if index is None:
            index = self._index[word] = len(self._index)
            self.texts.append(word)
        return index


_SMALL = 1 << 12  # rows of a block that waits for others


class Columns:
    """The rows of one batch, column by column. `words` are shared by all batches of a run.

    Points come one by one or in blocks; a block is kept as arrays, and what came one by one before
    it is made into arrays first, so that the order stays.
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        self._points: list[list[Any]] = [[] for _ in POINTS]
        self._lines: list[list[Any]] = [[] for _ in LINES]
        self._blocks: list[Frame] = []
        self._small: list[tuple[Ints, Floats]] = []  # blocks that are to be one
        self._ranks: list[int | None] = []  # of their writers
        self._nothing = self._frame(self._points, POINTS), self._frame(self._lines, LINES)

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
        self, whole: Ints, doubles: Floats,
        ranks: list[int | None],
    ) -> None:  # fmt: skip
        """Add many measurements: columns line, time, writer, metric, unit, quantity (-1 is null)
        and value, step, epoch, segment (nan is null). `ranks` has the rank of each writer."""
        if self._points[0] or ranks is not self._ranks:
            self._settle()
            self._ranks = ranks
        self._small.append(
            (whole, doubles) if len(whole) > _SMALL else (whole.copy(), doubles.copy())
        )
        if len(whole) > _SMALL:
            self._join()

    def _join(self) -> None:
        """Make one block of the small ones that came one after the other, as where each is ended by
        a line that is read by itself."""
        if not self._small:
            return
        parts = zip(*self._small, strict=True)
        whole, doubles = (one[0] if len(one) == 1 else np.concatenate(one) for one in parts)
        self._small, ranks = [], self._ranks
        line, time, writer, metric, unit, quantity = whole.T
        value, step, epoch, segment = doubles.T
        rank = np.array([-1 if r is None else r for r in ranks], np.int32)[writer]
        no_step = np.isnan(step)
        steps = np.where(no_step, 0, step).astype(np.int64)
        columns = {
            "line": Column.of("int64", line),
            "time": Column.of("time", time, time < 0),
            "rank": Column.of("int32", rank, rank < 0),
            "step": Column.of("int64", steps, no_step),
            "epoch": Column.of("float64", epoch, np.isnan(epoch)),
            "metric": self._worded(metric),
            "value": Column.of("float64", value),
            "unit": self._worded(unit),
            "quantity": self._worded(quantity),
            "segment": Column.of("int32", segment),
        }
        self._blocks.append(Frame(columns))

    def _worded(self, places: Ints) -> Column:
        return Column.of("word", places, places < 0, self.words.texts)

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

    def frames(self) -> tuple[Frame, Frame]:
        """The points and the lines; the columns are empty again."""
        self._settle()
        blocks, self._blocks = self._blocks, []
        points, lines = self._nothing
        if self._lines[0]:
            lines, self._lines = self._frame(self._lines, LINES), [[] for _ in LINES]
        return joined(blocks) if blocks else points, lines

    def _settle(self) -> None:
        """Make what came one by one, and in small blocks before, into blocks."""
        self._join()
        if self._points[0]:
            self._blocks.append(self._frame(self._points, POINTS))
            self._points = [[] for _ in POINTS]

    def _frame(self, columns: list[list[Any]], kinds: dict[str, Kind]) -> Frame:
        return Frame(
            {
                name: Column.of(kind, column, words=self.words.texts if kind == "word" else ())
                for (name, kind), column in zip(kinds.items(), columns, strict=True)
            }
        )
