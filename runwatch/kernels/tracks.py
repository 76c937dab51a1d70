"""What streaming kernels remember of many series: one record a series, plain or compiled.

A kernel is one function over records. As it stands it runs on plain objects whose fields are
numbers and lists; compiled it runs on the rows of a structured array. `Tracks` holds either, goes
over to the array when asked, and gives its past as plain JSON values from both.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from runwatch.arrays import Array, Bytes, Ints
from runwatch.kernels.field import Field
from runwatch.kernels.native import address

_FIRST = 8
_ASKED = 64  # lists of series whose slots are remembered


class Tracks:
    """The records of all series of a run, by key; those of metrics with one of the words of
    `unless` have none."""

    def __init__(self, fields: Sequence[Field], unless: tuple[str, ...] = ()) -> None:
        self.fields = tuple(fields)
        self.slots: dict[str, int] = {}
        self.seen = 0  # rows that came by, in this process
        self._unless = unless
        self._plain: list[Any] = []
        self._array: Array | None = None
        self._blank: Any = None  # bytes of a fresh record
        self.at = np.zeros(2, np.int64)  # where a kernel has stopped
        self.addresses = (0, 0)  # of the array and of `at`
        self._asked: dict[int, tuple[Any, Ints]] = {}

    def __len__(self) -> int:
        return len(self.slots)

    def places(self, keys: list[str], segments: Ints) -> Ints:
        """Where the records of these series stand, -1 for one that has none; new ones begin in
        their segments. A list that is asked for again must hold what it held."""
        asked = self._asked.get(id(keys))
        if asked is not None:
            return asked[1]
        slots: list[Any] = list(map(self.slots.get, keys))
        if None in slots:
            slots = self._begun(keys, segments.tolist(), slots)
        if len(self._asked) == _ASKED:
            self._asked.clear()
        found: Ints = np.array(slots, np.int64)
        self._asked[id(keys)] = keys, found
        return found

    def _begun(self, keys: list[str], segments: list[int], slots: list[Any]) -> list[int]:
        """The same with new records where there were none."""
        fresh = []
        for i, key in enumerate(keys):
            if slots[i] is not None:
                continue
            if self._is_passed_by(key):
                slots[i] = -1
                continue
            if key not in self.slots:
                self.slots[key] = len(self.slots)
                fresh.append(segments[i])
            slots[i] = self.slots[key]
        self._append(fresh)
        return slots

    def _is_passed_by(self, key: str) -> bool:
        if not self._unless:
            return False
        metric = unkeyed(key)[1].lower()
        return any(word in metric for word in self._unless)

    def fresh(self, **given: Any) -> Any:
        """A record of which nothing is known but what is given."""
        return SimpleNamespace(**{field.name: field.fresh() for field in self.fields} | given)

    def rows(self, *, compiled: bool) -> Any:
        """The records as a kernel takes them; once compiled, always compiled."""
        if self._array is None and compiled:
            plain, self._plain = self._plain, []
            dtype, self._blank = _laid_out(self.fields)
            self._lie_in(np.zeros(max(_FIRST, 2 * len(plain)), dtype))
            for i, row in enumerate(plain):
                self._pack(i, row)
        return self._plain if self._array is None else self._array

    @property
    def compiled(self) -> bool:
        """Whether the records stand in an array."""
        return self._array is not None

    def __getitem__(self, slot: int) -> Any:
        """A record to read; what is changed in it is lost unless it is put back."""
        return self._plain[slot] if self._array is None else self._unpacked(slot)

    def __setitem__(self, slot: int, row: Any) -> None:
        if self._array is None:
            self._plain[slot] = row
        else:
            self._pack(slot, row)

    def marked(self, name: str) -> Iterator[tuple[str, Any]]:
        """Key and record of every series in which this field is not 0."""
        if self._array is None:
            chosen = [bool(getattr(row, name)) for row in self._plain]
        else:
            chosen = (self._array[name][: len(self.slots)] != 0).tolist()
        for key, slot in self.slots.items():
            if chosen[slot]:
                yield key, self[slot]

    def column(self, name: str) -> Any:
        """One field of all records, in the order of their slots."""
        if self._array is None:
            return np.array([getattr(row, name) for row in self._plain])
        return self._array[name][: len(self.slots)]

    def state(self) -> dict[str, Any]:
        """All records as plain JSON values."""
        return {key: self._json(self[slot]) for key, slot in self.slots.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the records that `state` gave."""
        self.slots, self._plain, self._array = {}, [], None
        self._asked.clear()
        for key, values in state.items():
            row = self.fresh(**{name: _number(value) for name, value in values.items()})
            self.slots[key] = len(self.slots)
            self._plain.append(row)

    def _json(self, row: Any) -> dict[str, Any]:
        return {f.name: _plain(getattr(row, f.name)) for f in self.fields}

    def _append(self, segments: list[int]) -> None:
        """New records, which begin in these segments."""
        if self._array is None:
            self._plain += [self.fresh(segment=segment) for segment in segments]
            return
        end = len(self.slots)
        begin, room = end - len(segments), len(self._array)
        if end > room:
            more = np.zeros(max(room, end - room), self._array.dtype)
            self._lie_in(np.concatenate((self._array, more)))
        self._cells[begin:end] = self._blank
        self._segments[begin:end] = segments[0] if end - begin == 1 else segments

    def _lie_in(self, array: Array) -> None:
        """From now on records lie in this array."""
        self._array, self.addresses = array, (address(array), address(self.at))
        self._cells, self._segments = _bytes(array), array["segment"]

    def _pack(self, slot: int, row: Any) -> None:
        assert self._array is not None
        _pack(self.fields, row, self._array[slot])

    def _unpacked(self, slot: int) -> Any:
        assert self._array is not None
        values = dict(zip(self._array.dtype.names or (), self._array[slot].item(), strict=True))
        for field in self.fields:
            if field.size:
                used = values[field.count] if field.count else field.size
                values[field.name] = values[field.name][: min(used, field.size)].tolist()
        return SimpleNamespace(**values)


@cache
def _laid_out(fields: tuple[Field, ...]) -> tuple[Any, Bytes]:
    """How records of these fields lie in memory, and the bytes of a fresh one."""
    blank = np.zeros(1, np.dtype([field.dtype for field in fields]))
    fresh = SimpleNamespace(**{field.name: field.fresh() for field in fields})
    _pack(fields, fresh, blank[0])
    return blank.dtype, _bytes(blank)[0]


def _pack(fields: Sequence[Field], row: Any, target: Any) -> None:
    for field in fields:
        value = getattr(row, field.name)
        if field.count:
            value = value + [0] * (field.size - len(value))
        target[field.name] = value


def _bytes(rows: Array) -> Bytes:
    """The bytes of every record: copied as such, not field by field."""
    return rows.view(np.uint8).reshape(len(rows), rows.dtype.itemsize)


def _plain(value: Any) -> Any:
    """JSON knows no NaN and no infinity."""
    if isinstance(value, list):
        return list(map(_plain, value))
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_number, value))
    return float(value) if isinstance(value, str) else value


def keyed(stream: str, metric: str, rank: int | None) -> str:
    """Names a series within a run; plain text, so that it can be a key in JSON."""
    return f"{stream}\0{metric}\0{'' if rank is None else rank}"


def unkeyed(key: str) -> tuple[str, str, int | None]:
    """Stream, metric and rank of a key."""
    stream, metric, rank = key.rsplit("\0", 2)
    return stream, metric, int(rank) if rank else None
