"""Columns of equal length and the frame that they make: what flows from the parser to the
detectors and into the history.

They lie in memory as Arrow lays them out, which takes them over without a copy (`arrow`), but to
load Arrow takes longer than to read a small log: whoever only reads and judges does without.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from runwatch.arrays import Array, Flags

# Times are microseconds since 1970 in UTC; words are their places among the words of the column.
Kind = Literal["int32", "int64", "float64", "time", "word", "text", "flag"]
_DTYPES: dict[str, Any] = {
    "int32": np.int32, "int64": np.int64, "float64": np.float64, "time": np.int64,
    "word": np.int32, "flag": np.bool_,
}  # fmt: skip


class Column:
    """n values of one kind: `values` has the shape (n,) and cannot be written to, of texts it is a
    list. `null` (n,) says where nothing is known, None where all is; a value there is any, of a
    text it is "". `words` are those that a word's place is in; it may grow at its end."""

    __slots__ = ("kind", "null", "values", "words")

    def __init__(
        self, kind: Kind, values: Any, null: Flags | None = None, words: Sequence[str] = ()
    ) -> None:
        self.kind: Kind = kind
        self.values = values
        if kind != "text":
            values.flags.writeable = False
        self.null = null if null is not None and null.any() else None
        self.words = words

    @classmethod
    def of(
        cls, kind: Kind, values: Sequence[Any] | Array, null: Flags | None = None,
        words: Sequence[str] = (),
    ) -> "Column":  # fmt: skip
        """A copy of n values. `null` says which are none; of a list it is those that are None."""
        if null is None and not isinstance(values, np.ndarray):
            null = np.fromiter((value is None for value in values), np.bool_, len(values))
            if null.any():
                filler = "" if kind == "text" else 0
                values = [filler if value is None else value for value in values]
        if kind == "text":
            return cls(kind, list(values), null)
        return cls(kind, np.array(values, _DTYPES[kind], order="C"), null, words)

    @classmethod
    def repeated(cls, kind: Kind, value: Any, count: int) -> "Column":
        """One value, `count` times."""
        values = [value] * count if kind == "text" else np.full(count, value, _DTYPES[kind])
        return cls(kind, values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> "Column":
        """The rows of a slice, of numbers of rows (m,), or where a mask (n,) is true."""
        null = None if self.null is None else self.null[rows]
        if self.kind != "text":
            return Column(self.kind, self.values[rows], null, self.words)
        chosen = self.values[rows] if isinstance(rows, slice) else _chosen(self.values, rows)
        return Column("text", chosen, null)

    @property
    def empty(self) -> bool:
        """Whether no value is known."""
        return len(self) == 0 or (self.null is not None and bool(self.null.all()))

    @property
    def known(self) -> Flags:
        """Where there is a value: shape (n,)."""
        return np.ones(len(self), np.bool_) if self.null is None else ~self.null

    def numbers(self, missing: Any = 0) -> Array:
        """The values, `missing` where one is null: shape (n,), of the column's own type, not copied
        where nothing is null. Of words their places."""
        values: Array = self.values
        if self.null is None:
            return values
        return np.where(self.null, np.asarray(missing, values.dtype), values)

    def says(self, word: str) -> Flags:
        """Where a column of words says this one: shape (n,)."""
        if word not in self.words:
            return np.zeros(len(self), np.bool_)
        said: Flags = self.numbers(-1) == self.words.index(word)
        return said

    def tolist(self) -> list[Any]:
        """The values as plain ones, None where one is null; times as microseconds."""
        values = self.values if self.kind == "text" else self.values.tolist()
        if self.kind == "word":
            words = self.words
            values = [words[at] for at in values] if self.null is None else [
                None if gone else words[at]
                for at, gone in zip(values, self.null.tolist(), strict=True)
            ]  # fmt: skip
            return list(values)
        if self.null is None:
            return list(values)
        return [
            None if gone else value for value, gone in zip(values, self.null.tolist(), strict=True)
        ]


class Frame:
    """Columns of equal length, by name."""

    __slots__ = ("_columns", "_length")

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = dict(columns)
        self._length = max(map(len, self._columns.values()), default=0)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        """The names of the columns."""
        return iter(self._columns)

    def column(self, name: str) -> Column:
        """The column of this name."""
        return self._columns[name]

    def __getitem__(self, rows: Any) -> "Frame":
        """The rows of a slice, of numbers of rows (m,), or where a mask (n,) is true."""
        return Frame({name: column[rows] for name, column in self._columns.items()})

    def with_columns(self, **columns: Column) -> "Frame":
        """The same with these columns added, or in the place of those of their names."""
        return Frame(self._columns | columns)


def joined(frames: Sequence[Frame]) -> Frame:
    """The rows of frames with the same columns, one after the other; of words, those of the first
    frame, which the others share."""
    if len(frames) == 1:
        return frames[0]
    return Frame({name: _joined([frame.column(name) for frame in frames]) for name in frames[0]})


def _joined(columns: list[Column]) -> Column:
    first = columns[0]
    null = None
    if any(column.null is not None for column in columns):
        null = np.concatenate([~column.known for column in columns])
    if first.kind == "text":
        return Column("text", [text for column in columns for text in column.values], null)
    return Column(
        first.kind, np.concatenate([column.values for column in columns]), null, first.words
    )


def _chosen(values: list[Any], rows: Array) -> list[Any]:
    places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    return [values[at] for at in places.tolist()]


def distinct(values: Array) -> Array:
    """The values of an array of n, each once, in rising order. As `numpy.unique`, which loads the
    masked arrays for it."""
    ordered = np.sort(values)
    once: Array = ordered[np.concatenate([ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1]])]
    return once
