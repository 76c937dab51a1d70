"""Entries of Cloud Logging as lines of the logs that they are of, each given once.

Entries come late and twice: each is known by its insert id, and all that was received in the last
minute is asked for again, whatever time it says of itself.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any

from runwatch.digest import blake2b
from runwatch.slotted import mutable

OVERLAP = 60_000_000_000  # ns that are asked for again
_AT_ONCE = 10_000_000_000  # ns within which what is received is told by an open stream
_REMEMBERED = 1_000  # entries of a stream that its cursor knows by their ids
# Numbers that a logger writes of itself: beside a message they say nothing of the training.
_OF_LOGGERS = frozenset(
    ("created", "levelno", "lineno", "line", "msecs", "pid", "process", "process_id",
     "relativeCreated", "thread", "thread_id", "time", "timestamp")
)  # fmt: skip


@mutable
class Given:
    """What of one stream was given: ids of entries, each with when it was received and the time it
    says, in ns; all that was received before `floor` counts as given."""

    ids: dict[str, tuple[int, int]] = field(default_factory=dict)
    floor: int = 0


@mutable
class Journal:
    """Which entries of a log were given.

    `through` is when the latest was received, ns since 1970, as of the last time that everything
    was asked for. Until that has been once, `since` is the time up to which a first reader came:
    it goes on there, and takes what was received late besides.
    """

    through: int = 0
    since: int = 0
    _top: int = 0
    _oldest: int = 0  # when the first of those was received that were given since
    _streams: dict[str, Given] = field(default_factory=dict)

    def restore(self, seen: Mapping[str, Mapping[str, Any]]) -> None:
        """Take up what cursors of the streams say."""
        for name, told in seen.items():
            if "ids" not in told:
                continue
            ids = {str(key): (int(at), int(time)) for key, at, time in told["ids"]}
            self._streams[name] = Given(ids, int(told["floor"]))
            self.through = max(self.through, int(told["through"]))
            self.since = max(self.since, int(told["since"]))
            self._top = max(self._top, int(told["top"]))

    def seen(self, stream: str) -> dict[str, Any]:
        """What a cursor of the stream says: never more than what was given with it."""
        given = self._streams.get(stream, Given())
        latest = sorted(given.ids.items(), key=lambda one: one[1])[-_REMEMBERED:]
        floor = given.floor if len(latest) == len(given.ids) else latest[0][1][0]
        return {
            "through": self.through, "since": self.since, "top": self._top, "floor": floor,
            "ids": [[key, *times] for key, times in latest],
        }  # fmt: skip

    def is_new(self, stream: str, entry: Any) -> bool:
        """Whether an entry was not given before; from now on it was."""
        given = self._streams.setdefault(stream, Given())
        key, time = _id(entry), nanoseconds(entry.timestamp)
        received = nanoseconds(entry.receive_timestamp) or time
        if key in given.ids or received < given.floor:
            return False
        given.ids[key] = (received, time)
        self._oldest = min(self._oldest or received, received)
        self._top = max(self._top, received)
        return True

    def listed(self, entries: Iterable[Any]) -> None:
        """These were the next in order of their time, while everything is asked for."""
        if not self.through:
            times = [nanoseconds(entry.timestamp) for entry in entries]
            self.since = max([self.since, *times])
        self._forget()

    def complete(self) -> bool:
        """Everything has been asked for. Whether that gave what was received a while before."""
        late = 0 < self._oldest < self._top - _AT_ONCE
        self.through = max(self.through, self._top)
        self._forget()
        return late

    def _forget(self) -> None:
        """Ids of entries that are not asked for again."""
        oldest = (self.through or self._top) - OVERLAP
        for given in self._streams.values():
            given.ids = {
                key: (received, time) for key, (received, time) in given.ids.items()
                if received >= oldest or (not self.through and time >= self.since)
            }  # fmt: skip

    def wanted(self, made: float) -> str:
        """Everything is asked for now: the filter for what may be new, in Logging's query language.
        `made` is when the job was.

        https://cloud.google.com/logging/docs/view/logging-query-language
        """
        self._oldest = 0
        told = f'timestamp>="{stamp(int(made * 1e9))}"'
        late = stamp((self.through or self._top) - OVERLAP)
        if self.through:
            told += f' AND receiveTimestamp>="{late}"'
        elif self.since:
            told += f' AND (timestamp>="{stamp(self.since)}" OR receiveTimestamp>="{late}")'
        return told


def _id(entry: Any) -> str:
    """What an entry is known by: ids are unique for one time and log."""
    key = f"{entry.log_name}\0{entry.timestamp.seconds}.{entry.timestamp.nanos}\0{entry.insert_id}"
    return blake2b(key.encode("utf-8", "replace"), digest_size=6).hexdigest()


def lines_of(entry: Any, before: str = "") -> Iterator[bytes]:
    """The lines that an entry wrote, each behind its time as containers put it."""
    time = stamp(nanoseconds(entry.timestamp))
    for line in text_of(entry).split("\n"):
        if line.strip():
            yield f"{time} {before}{line}".encode("utf-8", "replace") + b"\n"


def text_of(entry: Any) -> str:
    """What an entry says. An object with a message is its message, unless it measures, too."""
    kind = entry.WhichOneof("payload")
    if kind == "text_payload":
        return str(entry.text_payload)
    if kind == "json_payload":
        value = _plain(entry.json_payload)
        message = value.get("message")
        if isinstance(message, str) and not any(_measures(k, v) for k, v in value.items()):
            return message
        return json.dumps(value, ensure_ascii=False)
    return ""


def _measures(key: str, value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and key not in _OF_LOGGERS


def _plain(struct: Any) -> dict[str, Any]:
    return {key: _value(value) for key, value in struct.fields.items()}


def _value(value: Any) -> Any:
    """A value of a protobuf Struct, whose numbers are all floats."""
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _plain(value.struct_value)
    if kind == "list_value":
        return [_value(one) for one in value.list_value.values]
    if kind == "number_value":
        number = float(value.number_value)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    return None if kind in (None, "null_value") else getattr(value, kind)


def stamp(nanos: int) -> str:
    """A time in ns since 1970 as RFC 3339 writes it, to the microsecond."""
    seconds, rest = divmod(max(0, nanos), 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


def nanoseconds(time: Any) -> int:
    """A protobuf Timestamp as ns since 1970."""
    return int(time.seconds) * 1_000_000_000 + int(time.nanos)
