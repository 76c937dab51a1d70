"""What stands before the message of a line: time stamps, levels, ranks, wrappers, peeled in turn.

The knowledge is `prefix.toml`; here it is put together and applied.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import regex

from runwatch.parse import stamp

_DEPTH = 10  # nested prefixes of one line; srun + container + torchrun + two loggers is six
_LEVELS = {
    "i": "info", "w": "warning", "e": "error", "f": "critical", "d": "debug", "v": "debug",
    "trace": "debug", "debug": "debug", "info": "info", "notice": "info", "warning": "warning",
    "warn": "warning", "error": "error", "critical": "critical", "fatal": "critical",
}  # fmt: skip


class Prefix(NamedTuple):
    """What the peeled prefixes say, and the message behind them.

    `time` is in microseconds since 1970, `rank` the last one named (the writer's own), `deep` the
    number of prefixes.
    """

    time: int | None
    rank: int | None
    level: str | None
    message: str
    deep: int


class Peeler:
    """Peels prefixes; `year` is for stamps that do not say one."""

    def __init__(self, year: int = 1970) -> None:
        self._first, self._next = _patterns()
        self._year = year
        self._times: dict[tuple[str, str], int | None] = {}

    def peel(self, text: str) -> Prefix:
        """Take the prefixes off a line."""
        time = rank = level = None
        at, deep, pattern = 0, 0, self._first
        if text[:1] in " \t":
            at = len(text) - len(text.lstrip())
            if (indented := pattern.match(text, 0)) and indented.end() > at:
                at = 0  # srun pads its ranks with blanks
        while deep < _DEPTH and (m := pattern.match(text, at)) and m.end() > at:
            deep += 1
            at = m.end()
            pattern = self._next
            for name, said in m.groupdict().items():
                if said is None:
                    continue
                if name == "rank":
                    rank = int(said)
                elif name == "level":
                    level = level or _LEVELS.get(said.lower())
                elif name != "actor" and time is None:
                    time = self._moment(name, said)
        return Prefix(time, rank, level, text[at:] if deep else text, deep)

    def _moment(self, kind: str, text: str) -> int | None:
        key = (kind, text)
        if key not in self._times:
            if len(self._times) > 4096:
                self._times.clear()
            self._times[key] = stamp.microseconds(kind, text, self._year)
        return self._times[key]


@cache
def entries() -> list[dict[str, Any]]:
    """The prefixes that ship with runwatch, as `prefix.toml` lists them."""
    text = files("runwatch.parse").joinpath("prefix.toml").read_text("utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["prefix"]
    return found


@cache
def _patterns() -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """One pattern for the first prefix of a line and one for those behind it."""
    first = [e["pattern"] for e in entries() if e.get("at") != "after"]
    after = [e["pattern"] for e in entries() if e.get("at") != "start"]
    return tuple(  # type: ignore[return-value]  # two patterns, spelled as one expression
        regex.compile("|".join(f"(?:{pattern})" for pattern in patterns), regex.VERBOSE)
        for patterns in (first, after)
    )
