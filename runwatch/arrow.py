"""Frames as Arrow takes them over, without what takes long to load.

`pyarrow.array` imports pandas wherever it is installed, and copies; here only texts and the bits
that say what is null are copied.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from runwatch.column import Column, Frame

TYPES: dict[str, pa.DataType] = {
    "int32": pa.int32(), "int64": pa.int64(), "float64": pa.float64(),
    "time": pa.timestamp("us", tz="UTC"), "text": pa.string(), "flag": pa.bool_(),
    "word": pa.int32(),  # its place; the column is a dictionary of these
}  # fmt: skip


def record_batch(frame: Frame) -> pa.RecordBatch:
    """All columns of a frame, by their names."""
    return pa.record_batch([array(frame.column(name)) for name in frame], names=list(frame))


def array(column: Column) -> "pa.Array[Any]":
    """One column. What is no text (half a surrogate pair) becomes a question mark."""
    validity = None if column.null is None else _bits(~column.null)
    nulls = 0 if column.null is None else int(np.count_nonzero(column.null))
    if column.kind == "text":
        buffers = _texts(column.values)
    elif column.kind == "flag":
        buffers = [_bits(column.values)]
    else:
        buffers = [pa.py_buffer(np.ascontiguousarray(column.values).data)]
    kind = TYPES[column.kind]
    found: Any = pa.Array.from_buffers(kind, len(column), [validity, *buffers], nulls)
    made: pa.Array[Any] = _worded(found, column.words) if column.kind == "word" else found
    return made


def _worded(places: Any, words: Sequence[str]) -> Any:
    texts = pa.Array.from_buffers(pa.string(), len(words), [None, *_texts(words)], 0)
    return pa.DictionaryArray.from_arrays(places, texts)


def _bits(flags: Any) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little").data)


def _texts(values: Sequence[str]) -> list[pa.Buffer]:
    """Where each text begins, and the bytes of all."""
    texts = [value.encode("utf-8", "replace") for value in values]
    ends = np.cumsum([0, *map(len, texts)])
    return [pa.py_buffer(ends.astype(np.int32).data), pa.py_buffer(b"".join(texts))]
