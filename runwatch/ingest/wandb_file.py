"""The `.wandb` file that a run of W&B keeps on its own disk: a line of JSON for each history row.

Framing as in LevelDB's log (blocks of 32 KiB, a header of 7 bytes before each piece, zlib's crc32
of type and data); records are protocol buffers, `wandb_internal.proto` of the wandb client. It is
there while the run goes on, also offline, so it needs neither network nor account.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from runwatch.ingest.rows import row, said
from runwatch.ingest.wire import fields, inner, real, signed, text

_IDENT = struct.Struct("<4sHB")
_HEADER = struct.Struct("<IHB")
_BLOCK = 1 << 15
_LONGEST = 1 << 26  # bytes of a record in pieces that are held
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _EXIT = 2, 18
_OWN = ("_step", "_timestamp", "_runtime", "_wandb")


def begins(head: bytes) -> bool:
    """Whether a file is one: it begins with its mark and magic number."""
    return len(head) >= _IDENT.size and _IDENT.unpack_from(head)[:2] == (b":W&B", 0xBEE1)


class Translation:
    """Pieces of blocks in, lines out; see `records.Translation`."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._at = 0  # of the file, where `_held` begins
        self._record: bytearray | None = None
        self._damaged = 0

    def feed(self, data: bytes) -> bytes:
        """The lines of the records that are whole now."""
        self._held += data
        if self._at == 0:
            if len(self._held) < _IDENT.size:
                return b""
            self._drop(_IDENT.size)
        lines = []
        for record in self._records():
            try:
                lines.append(_line(record))
            except (ValueError, struct.error):
                self._damaged += 1
        return b"".join(lines)

    @property
    def damage(self) -> str:
        """What was damaged so far."""
        return f"{self._damaged} damaged records left out" if self._damaged else ""

    def ended(self) -> str:
        """Whether the last record is cut off."""
        unfinished = self._held.strip(b"\0") or self._record is not None
        return "its last record is not complete" if unfinished else ""

    def _records(self) -> Iterator[bytes]:
        while True:
            left = _BLOCK - self._at % _BLOCK
            if left < _HEADER.size:  # too little for a header: filled with zeros
                if len(self._held) < left:
                    return
                self._drop(left)
                continue
            if len(self._held) < _HEADER.size:
                return
            crc, length, kind = _HEADER.unpack_from(self._held)
            if not kind and not length:  # the rest of the block was never written
                if len(self._held) < left:
                    return
                self._drop(left)
                continue
            if length > left - _HEADER.size or not _FULL <= kind <= _LAST:
                self._damaged += 1  # the next block begins anew
                if len(self._held) < left:
                    return
                self._drop(left)
                continue
            if len(self._held) < _HEADER.size + length:
                return
            piece = bytes(self._held[_HEADER.size : _HEADER.size + length])
            self._drop(_HEADER.size + length)
            if crc != zlib.crc32(piece, zlib.crc32(bytes([kind]))):
                self._damaged += 1
                self._record = None
            elif (record := self._joined(kind, piece)) is not None:
                yield record

    def _joined(self, kind: int, piece: bytes) -> bytes | None:
        """A record that is whole with this piece."""
        if kind in (_FULL, _FIRST):
            self._record = bytearray()
        if self._record is None:
            return None  # the pieces before it were damaged
        if len(self._record) <= _LONGEST:
            self._record += piece
        if kind not in (_FULL, _LAST):
            return None
        record, self._record = bytes(self._record), None
        return record if len(record) <= _LONGEST else None

    def _drop(self, count: int) -> None:
        del self._held[:count]
        self._at += count


def _line(record: bytes) -> bytes:
    for number, _, value in fields(record):
        if number == _HISTORY:
            return _history(inner(value))
        if number == _EXIT:
            return said(_exit(inner(value)))
    return b""


def _history(record: bytes) -> bytes:
    """One row of history; pictures, tables and other media are passed over."""
    values: dict[str, Any] = {}
    step: int | None = None
    for number, _, value in fields(record):
        if number == 1:
            key, item = _item(inner(value))
            if key and item is not None:
                values[key] = item
        elif number == 2:
            step = next((signed(v) for n, _, v in fields(inner(value)) if n == 1), 0)
    step = int(values["_step"]) if isinstance(values.get("_step"), int | float) else step
    return history_row(step, values)


def history_row(step: int | None, values: dict[str, Any]) -> bytes:
    """The line of one row of history, from a file or from the service."""
    time = values.get("_timestamp")
    kept = {
        name: value
        for name, value in values.items()
        if name not in _OWN and not (isinstance(value, dict) and "_type" in value)
    }
    return row(step, time if isinstance(time, int | float) else None, kept) if kept else b""


def _item(record: bytes) -> tuple[str, Any]:
    """Name and value; nested names are joined with a dot."""
    names: list[str] = []
    found: Any = None
    for number, _, value in fields(record):
        if number in (1, 2):
            names.append(text(value))
        elif number == 4:
            found = bool(value)
        elif number == 5:
            raw = value if isinstance(value, int) else 0
            found = raw >> 1 ^ -(raw & 1)
        elif number == 6:
            found = real(value)
        elif number == 7:
            found = text(value)
        elif number in (8, 16):
            found = json.loads(inner(value))
    return ".".join(names), found


def _exit(record: bytes) -> str:
    code = next((signed(v) for n, _, v in fields(record) if n == 1), 0)
    return "Training finished" if code == 0 else f"Process exited with code {code}"
