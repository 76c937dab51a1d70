"""TensorBoard's event files: a line of JSON for each event that holds scalars.

Read are the few fields of `Event` and `Summary` that tell numbers; pictures, graphs, histograms
and text are passed over. Fields: https://github.com/tensorflow/tensorboard, `event.proto` and
`summary.proto`.
"""

import struct
from collections.abc import Iterator

from runwatch.ingest.rows import Counter, row
from runwatch.ingest.tfrecord import Frames, is_framed, masked_crc
from runwatch.ingest.wire import BYTES, fields, inner, real, signed, text, varints

_LONGEST = 1 << 20  # bytes of an event that may hold scalars; longer ones are pictures and graphs
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5
_VALUE = 1
_TAG, _SIMPLE, _TENSOR, _METADATA = 1, 2, 8, 9
_TYPES = {1: "f", 2: "d", 3: "i", 9: "q"}  # of tensors: float, double, int32, int64
_PACKED = {5: "f", 6: "d"}
_COUNTS = (7, 10)  # int_val and int64_val


def begins(head: bytes) -> bool:
    """Whether a file is one: a whole record with the version in it, or the start of one."""
    if not is_framed(head):
        return False
    try:
        return any(number in (_WALL_TIME, _STEP) for number, _, _ in fields(head[12:21]))
    except ValueError:
        return False


class Translation:
    """Event records in, lines out; see `records.Translation`."""

    def __init__(self) -> None:
        self._frames = Frames()
        self._counter = Counter()
        self._damaged = 0

    def feed(self, data: bytes) -> bytes:
        """The lines of the events that are whole now."""
        lines = []
        for record, crc in self._frames.feed(data, _LONGEST):
            try:
                line = self._line(record, crc)
            except (ValueError, struct.error):
                self._damaged += 1
            else:
                lines.append(line)
        return b"".join(lines)

    @property
    def damage(self) -> str:
        """What was damaged so far."""
        told = [f"{self._damaged} damaged events left out"] if self._damaged else []
        return "; ".join([*told, self._frames.broken] if self._frames.broken else told)

    def ended(self) -> str:
        """Whether the last event is cut off."""
        return "its last event is not complete" if self._frames.pending else ""

    def _line(self, record: bytes, crc: int) -> bytes:
        time, step = None, 0
        values: dict[str, float] = {}
        for number, _, value in fields(record):
            if number == _WALL_TIME:
                time = real(value)
            elif number == _STEP:
                step = signed(value)
            elif number == _SUMMARY:
                values.update(_scalars(inner(value)))
        if not values:
            return b""
        if masked_crc(record) != crc:
            raise ValueError("its checksum is another")
        name = next(iter(values))
        return row(self._counter.at(name, step), time, values)


def _scalars(summary: bytes) -> Iterator[tuple[str, float]]:
    for number, kind, value in fields(summary):
        if number == _VALUE and kind == BYTES:
            tag, found, plugin = "", None, ""
            for inside, _, part in fields(inner(value)):
                if inside == _TAG:
                    tag = text(part)
                elif inside == _SIMPLE:
                    found = real(part)
                elif inside == _TENSOR:
                    found = _scalar(inner(part))
                elif inside == _METADATA:
                    plugin = _plugin(inner(part))
            if tag and found is not None and plugin in ("", "scalars"):
                yield tag, found


def _plugin(metadata: bytes) -> str:
    """Who a summary is meant for: `plugin_data.plugin_name`."""
    for number, _, value in fields(metadata):
        if number == 1:
            return next((text(v) for n, _, v in fields(inner(value)) if n == 1), "")
    return ""


def _scalar(tensor: bytes) -> float | None:
    """The number of a tensor without dimensions, None for any other."""
    code, found = "", list[float]()
    for number, _, value in fields(tensor):
        if number == 1:
            code = _TYPES.get(signed(value), "")
        elif number == 2 and any(n == 2 for n, _, _ in fields(inner(value))):
            return None  # it has dimensions
        elif number == 4 and code:
            content = inner(value)
            if len(content) != struct.calcsize(code):
                return None
            found.extend(struct.unpack(f"<{code}", content))
        elif number in _PACKED:
            form = _PACKED[number]
            content = inner(value)
            found.extend(struct.unpack(f"<{len(content) // struct.calcsize(form)}{form}", content))
        elif number in _COUNTS:
            found.extend(map(float, varints(value)))
    return found[0] if code and len(found) == 1 else None
