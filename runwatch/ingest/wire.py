"""The wire format of protocol buffers, as far as a reader of few fields needs it.

https://protobuf.dev/programming-guides/encoding: a record is a row of fields, each a number, a
type and a value; unknown ones are stepped over.
"""

import struct
from collections.abc import Iterator

VARINT, DOUBLE, BYTES, FLOAT = 0, 1, 2, 5
_DOUBLE, _FLOAT = struct.Struct("<d"), struct.Struct("<f")


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, type and raw value of each field: an int for VARINT, else bytes.

    Raises ValueError where the bytes are no such record.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield number, kind, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (DOUBLE, FLOAT):
            size = 8 if kind == DOUBLE else 4
        else:
            raise ValueError(f"field {number} has the unknown type {kind}")
        if not number or at + size > end:
            raise ValueError(f"field {number} is cut off")
        yield number, kind, data[at : at + size]
        at += size


def signed(value: int | bytes) -> int:
    """An int32 or int64: negative ones are written as 64-bit two's complement."""
    if isinstance(value, bytes):
        raise ValueError("a number is written as bytes")
    return value - (1 << 64) if value >> 63 else value


def real(value: int | bytes) -> float:
    """A float or double."""
    if isinstance(value, int) or len(value) not in (4, 8):
        raise ValueError("a real number is written otherwise")
    number: float = (_FLOAT if len(value) == 4 else _DOUBLE).unpack(value)[0]
    return number


def inner(value: int | bytes) -> bytes:
    """A record or text within a field."""
    if isinstance(value, int):
        raise ValueError("a record is written as a number")
    return value


def text(value: int | bytes) -> str:
    """A string."""
    return inner(value).decode("utf-8", "replace")


def varints(value: int | bytes) -> list[int]:
    """Whole numbers, one alone or many packed."""
    if isinstance(value, int):
        return [signed(value)]
    found, at = [], 0
    while at < len(value):
        one, at = _varint(value, at)
        found.append(signed(one))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
