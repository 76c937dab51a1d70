"""An Arrow column as a NumPy array, read where it lies.

`pyarrow.compute` does as much, but takes longer to import than a small log to read.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]


def numbers(column: Any, missing: Any = 0) -> Array:
    """The values of a column of n numbers, `missing` where one is null: shape (n,), the column's
    own type, not copied where nothing is null. Times are whole numbers in the column's unit."""
    _, data = column.buffers()
    if data is None:
        return np.zeros(len(column), _type(column))
    values = np.frombuffer(data, _type(column), len(column), column.offset * _type(column).itemsize)
    if not column.null_count:
        return values
    return np.where(known(column), values, np.asarray(missing, values.dtype))


def known(column: Any) -> npt.NDArray[np.bool_]:
    """Where a column of n values has one: shape (n,)."""
    validity = column.buffers()[0]
    if validity is None:
        return np.ones(len(column), np.bool_)
    bits = np.unpackbits(
        np.frombuffer(validity, np.uint8), count=column.offset + len(column), bitorder="little"
    )
    return bits[column.offset :].view(np.bool_)


def says(column: Any, word: str) -> npt.NDArray[np.bool_]:
    """Where a column of n words says this one: shape (n,)."""
    words = column.dictionary.to_pylist()
    if word not in words:
        return np.zeros(len(column), np.bool_)
    said: npt.NDArray[np.bool_] = numbers(column.indices, -1) == words.index(word)
    return said


def distinct(values: Array) -> Array:
    """The values of an array of n, each once, in rising order. As `numpy.unique`, which loads the
    masked arrays for it."""
    ordered = np.sort(values)
    once: Array = ordered[np.concatenate([ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1]])]
    return once


def _type(column: Any) -> np.dtype[Any]:
    if pa.types.is_temporal(column.type):
        return np.dtype(np.int64)
    kind: np.dtype[Any] = np.dtype(column.type.to_pandas_dtype())
    return kind
