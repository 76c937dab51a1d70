"""Records printed as objects: nested keys joined with `.`, list items numbered, quoted numbers.

A few shapes wrap something else: a line of text in a container's JSON, a message in a structured
logger's, an MLPerf event with its name in `key`. What they wrap is what counts.
"""

import re
from typing import Any

from runwatch.kernels.layout import TIMES
from runwatch.parse import stamp
from runwatch.parse.members import Members, finite_of, is_numeric
from runwatch.parse.memo import shortened
from runwatch.parse.plan import Evidence
from runwatch.parse.quantity import Names
from runwatch.parse.record import MAX_RANK, Record, count
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_TEXT_KEYS = ("log", "textPayload", "message", "msg", "MESSAGE", "event", "text", "jsonPayload")
_MOST_MILLISECONDS = 1e14  # since 1970: beyond them is no date of ours
TIME_KEYS = ("time", "timestamp", "ts", "@timestamp", "asctime", "datetime", "date", "created")
_NAME_KEYS = ("name", "metric", "metric_name", "tag", "key")  # beside "value": what it is
_META = frozenset(
    ("stream", "severity", "level", "levelname", "lineno", "line", "pid", "process", "thread", "ts",
     "time_ms", "file", "filename", "insertId", "receiveTimestamp", "time", "timestamp", "created",
     "StartTime", "EndTime", "msecs", "relativeCreated",
     "_runtime", "_timestamp", "levelno", "hostname", "logger")
)  # fmt: skip
_REPORTED = compiled(r"(?i)\b(?:losses|results?|metrics|scores)\W{0,4}$")
_MEASURED = compiled(r"(?i)(?:^|\.)(?:results?|metrics|scores)\.")  # what a key says of its keys
_EVAL = compiled(r"(?:^|[/_. ])(?:val|valid|validation|eval|test|dev)(?:[/_. ]|$)", re.I)
_MAX_ITEMS = 32  # a longer list is data, not measurements


@mutable
class Unwrapped:
    """An object read: its record, or the text it wraps with the time and the rank around it."""

    record: Record | None = None
    text: str | None = None
    time: int | None = None
    rank: int | None = None


def read(before: str, value: Any, names: Names, year: int) -> Unwrapped:
    """Understand an object and the text in front of it."""
    if not isinstance(value, dict):
        return Unwrapped()
    if "key" in value and "value" in value and ("time_ms" in value or "metadata" in value):
        return _event(str(value["key"]), value)
    if "value" in value and (m := _NAMED_VALUE.search(before)):
        seconds = None if m.group(1) is None else float(m.group(1))
        return _event(m.group(2), value, seconds)
    time = _when(value, year)
    text = next((value[k] for k in _TEXT_KEYS if isinstance(value.get(k), str)), None)
    if text is not None and _is_wrapper(value, names):
        rank = next((finite_of(v) for k, v in value.items() if names.axis(k) == "rank"), None)
        return Unwrapped(text=text, time=time, rank=_rank(rank))
    payload = value.get("jsonPayload")
    if isinstance(payload, dict):
        inner = read("", payload, names, year)
        inner.time = time if inner.time is None else inner.time
        return inner
    found = Members()
    if "elapsedtime" in value and isinstance(value.get("step"), list | tuple):
        value = _placed(value, found)
    value = _unnested(value)
    if (named := _named(value)) is not None:
        value = {named if k == "value" else k: v for k, v in value.items() if k not in _NAME_KEYS}
    _flatten("", value, found, names)
    if found.step is None and found.epoch is None:
        _take_place_inside(value, found, names)
    return Unwrapped(_record(before, found, names), time=time)


def _named(value: dict[str, Any]) -> str | None:
    """The name of a measurement that stands beside its `value`."""
    if not is_numeric(value.get("value")):
        return None
    return next((value[k] for k in _NAME_KEYS if isinstance(value.get(k), str)), None)


def _unnested(value: dict[str, Any]) -> dict[str, Any]:
    """An object whose name stands beside another that holds its value, as one object."""
    inner = [k for k, v in value.items() if isinstance(v, dict) and is_numeric(v.get("value"))]
    if len(inner) != 1 or not any(isinstance(value.get(k), str) for k in _NAME_KEYS):
        return value
    return {**{k: v for k, v in value.items() if k != inner[0]}, **value[inner[0]]}


def _placed(value: dict[str, Any], found: Members) -> dict[str, Any]:
    """DLLogger's `step`: epoch, iteration within it, and finer ones; empty for the whole run."""
    parts = [part for part in value["step"] if is_numeric(part)]
    found.epoch = finite_of(parts[0]) if parts else None
    if len(parts) > 1:
        found.step, found.step_claim = finite_of(parts[1]), 2
    return {key: part for key, part in value.items() if key not in ("step", "elapsedtime")}


_SETTINGS = compiled(
    r"(?i)\b(?:parameters|params|hparams|hyperparameters|config|configuration|args|arguments"
    r"|settings|kwargs)\W{1,3}$"
)
_NAMED_VALUE = compiled(r"(?::::MLL (\d+\.\d+) |^)([\w./-]+): ?$")


def is_setting(before: str) -> bool:
    """Whether the text in front of an object says that it holds settings."""
    return _SETTINGS.search(before) is not None


def joined(record: Record, said: Record) -> Record:
    """An object's record with the place, and with what is surely measured, of text beside it."""
    return record._replace(
        evidence=max(record.evidence, said.evidence)
        if record.points and said.evidence is Evidence.CLEAR
        else record.evidence,
        points=record.points + (said.points if said.evidence is Evidence.CLEAR else ()),
        step=said.step if record.step is None else record.step,
        total_steps=said.total_steps if record.total_steps is None else record.total_steps,
        epoch=said.epoch if record.epoch is None else record.epoch,
        rank=said.rank if record.rank is None else record.rank,
    )


def _event(key: str, value: dict[str, Any], seconds: float | None = None) -> Unwrapped:
    """An MLPerf event: the measurement's name is a value, its place in the run is metadata."""
    found = Members()
    metadata = value.get("metadata", value)
    if isinstance(metadata, dict):
        for name in ("step", "step_num", "samples_count", "epoch_num", "first_epoch_num", "epoch"):
            at = metadata.get(name)
            if name == "step" and isinstance(at, list) and len(at) == 2:
                found.epoch, found.step = finite_of(at[0]), finite_of(at[1])
            elif "epoch" in name:
                found.epoch = finite_of(at) if found.epoch is None else found.epoch
            elif found.step is None:
                found.step = finite_of(at)
    inner = value.get("value")
    if isinstance(inner, dict):
        for name, item in inner.items():
            found.take(name, item, None)
    else:
        found.take(key, inner, None)
    milliseconds = value.get("time_ms", None if seconds is None else seconds * 1000)
    told = finite_of(milliseconds)
    time = int(told * 1000) if told is not None and 0 <= told < _MOST_MILLISECONDS else None
    evidence = Evidence.CLEAR if found.points else Evidence.NONE
    training = not _EVAL.search(key)
    return Unwrapped(
        Record(
            evidence, tuple(found.points), count(found.step), None, found.epoch,
            training=training, key=shortened(f"event {key}"),
        ),
        time=time,
    )  # fmt: skip


def _is_wrapper(value: dict[str, Any], names: Names) -> bool:
    """Whether everything beside the text is bookkeeping."""
    return not any(
        _measures(v, names) if isinstance(v, dict)
        else is_numeric(v) and k not in _META
        and (names.quantity(k) is not None or names.axis(k) not in (None, "rank"))
        for k, v in value.items()
    )  # fmt: skip


def _measures(value: dict[str, Any], names: Names) -> bool:
    """Whether an object beside a text holds a measurement, however deep."""
    return any(
        _measures(v, names) if isinstance(v, dict) else is_numeric(v) and _is_clue(k, names)
        for k, v in value.items()
    )


def _is_clue(name: str, names: Names) -> bool:
    rule = names.quantity(name)
    return rule is not None and rule.clue


def _when(value: dict[str, Any], year: int) -> int | None:
    for key in TIME_KEYS:
        said = value.get(key)
        if isinstance(said, str) and said[:4].isdigit() and len(said) >= 19:
            if (time := stamp.microseconds("time", said, year)) is not None:
                return time
        elif _is_unix_time(said):
            return stamp.microseconds("epoch", str(said), year)
    return None


def _is_unix_time(said: Any) -> bool:
    return is_numeric(said) and bool(said > TIMES)


def _flatten(prefix: str, value: dict[str, Any], found: Members, names: Names) -> None:
    for key, item in value.items():
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(item, dict):
            _flatten(name, item, found, names)
        elif isinstance(item, (list, tuple)):
            if len(item) <= _MAX_ITEMS and all(is_numeric(i) for i in item):
                for index, part in enumerate(item):
                    found.take(f"{name}.{index}", part, None)
            elif len(item) <= _MAX_ITEMS and all(isinstance(i, dict) and _named(i) for i in item):
                for each in item:
                    found.take(str(_named(each)), each["value"], names)
            else:
                found.words += 1
        elif key in _META and not prefix and names.quantity(key) is None:
            continue
        elif key in TIME_KEYS and not prefix and _is_unix_time(item):
            continue  # the time of a step takes no such seconds
        else:
            found.take(name, item, names)


def _take_place_inside(value: dict[str, Any], found: Members, names: Names) -> None:
    """Take the place that stands beside the measurements in the only object within an object:
    `{"type": "train", "data": {"step": 120, "loss": 0.5}}`."""
    within = [key for key, item in value.items() if isinstance(item, dict)]
    told = any(is_numeric(item) and key not in _META for key, item in value.items())
    if len(within) != 1 or told:
        return
    inner = value[within[0]]
    if any(_is_clue(key, names) for key in inner):
        for key, item in inner.items():
            if isinstance(item, int) and names.axis(key) in ("step", "epoch"):
                found.move(f"{within[0]}.{key}", key, names)


def _record(before: str, found: Members, names: Names) -> Record:
    clues = settings = 0
    measured = _REPORTED.search(before) is not None
    for point in found.points:
        rule = names.quantity(point.metric)
        measured |= _MEASURED.search(point.metric) is not None
        clues += rule is not None and rule.clue
        settings += rule is None and names.is_setting(point.metric)
    located = found.step is not None or found.epoch is not None
    evidence = Evidence.NONE
    named = found.words <= len(found.points)
    numeric = settings + found.words <= len(found.points)
    reports = measured and named  # "results": {...}
    if not found.points:
        pass
    elif reports or (clues and (located or numeric)) or (numeric and found.step is not None):
        evidence = Evidence.CLEAR
    elif named:
        evidence = Evidence.HELD
    return Record(
        evidence, tuple(found.points), count(found.step), count(found.total_steps), found.epoch,
        count(found.total_epochs), _rank(found.rank), None, not _EVAL.search(before),
        shortened("{" + ",".join(found.keys) + "}"),
    )  # fmt: skip


def _rank(value: float | None) -> int | None:
    return int(value) if value is not None and 0 <= value < MAX_RANK else None
