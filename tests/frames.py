"""Frames made of plain values, as the parser makes them of a log."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from runwatch.column import Column, Frame, Kind


def frame(kinds: Mapping[str, Kind], columns: Mapping[str, Sequence[Any]]) -> Frame:
    """A frame of these kinds: words as they are, times as microseconds or moments."""
    return Frame({name: _column(kind, columns[name]) for name, kind in kinds.items()})


def _column(kind: Kind, values: Sequence[Any]) -> Column:
    if kind == "time":
        values = [round(v.timestamp() * 1e6) if isinstance(v, datetime) else v for v in values]
    if kind != "word":
        return Column.of(kind, values)
    words = list(dict.fromkeys(value for value in values if value is not None))
    places = [None if value is None else words.index(value) for value in values]
    return Column.of(kind, places, words=words)
