"""Arrow columns from Python and NumPy values, and back, without what takes long to load.

`pyarrow.compute` does as much as is here and takes longer to import than a small log to read, and
`pyarrow.array` imports pandas wherever it is installed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]


def array(
    values: Sequence[Any] | Array, kind: pa.DataType, null: npt.NDArray[np.bool_] | None = None
) -> "pa.Array[Any]":
    """A column of n numbers, times or texts, copied. `null` says which are none; of a list it is
    those that are None. What is no text (half a surrogate pair) becomes a question mark."""
    if null is None and not isinstance(values, np.ndarray):
        null = np.fromiter((value is None for value in values), np.bool_, len(values))
    if null is None or not null.any():
        validity, nulls = None, 0
    else:
        validity = pa.py_buffer(np.packbits(~null, bitorder="little").data)
        nulls = int(np.count_nonzero(null))
    if pa.types.is_string(kind):
        buffers = _texts(values)
    else:
        if nulls and not isinstance(values, np.ndarray):
            values = [0 if value is None else value for value in values]
        buffers = [pa.py_buffer(np.array(values, _type(kind), order="C").data)]
    return pa.Array.from_buffers(kind, len(values), [validity, *buffers], nulls)


def _texts(values: Sequence[str | None] | Array) -> list["pa.Buffer"]:
    """Where each text begins, and the bytes of all."""
    texts = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    ends = np.cumsum([0, *map(len, texts)])
    return [pa.py_buffer(ends.astype(np.int32).data), pa.py_buffer(b"".join(texts))]


def numbers(column: Any, missing: Any = 0) -> Array:
    """The values of a column of n numbers, `missing` where one is null: shape (n,), the column's
    own type, not copied where nothing is null. Times are whole numbers in the column's unit."""
    _, data = column.buffers()
    if data is None:
        return np.zeros(len(column), _type(column.type))
    kind = _type(column.type)
    values = np.frombuffer(data, kind, len(column), column.offset * kind.itemsize)
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


def _type(kind: pa.DataType) -> np.dtype[Any]:
    return np.dtype(np.int64 if pa.types.is_temporal(kind) else kind.to_pandas_dtype())
