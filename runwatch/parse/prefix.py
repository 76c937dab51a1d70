"""What stands before the message of a line: time stamps, levels, ranks, wrappers, peeled in turn.

The knowledge is `prefix.toml` and the user's own files; here it is put together and applied.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from runwatch.errors import FormatError
from runwatch.parse import stamp
from runwatch.pattern import compiled
from runwatch.slotted import frozen

_DEPTH = 10  # nested prefixes of one line; srun + container + torchrun + two loggers is six
_RANK_DIGITS = 7
_PATIENCE = 0.05  # seconds that a user's own pattern may take on one line
_LEVELS = {
    "i": "info", "w": "warning", "e": "error", "f": "critical", "d": "debug", "v": "debug",
    "trace": "debug", "debug": "debug", "info": "info", "notice": "info", "success": "info",
    "warning": "warning", "warn": "warning",
    "error": "error", "critical": "critical", "fatal": "critical",
}  # fmt: skip
_MARKS = "-:|>"  # between a prefix and its message
_ROW = compiled(
    r"\|(?!\s*(?:TRACE|DEBUG|INFO|NOTICE|SUCCESS|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b|[^|]*\s-\s)"
    r"[^|]*\|.*\|\s*$"
)
_GLUED = compiled(r"(?<=[\w.)\]])(?=\[[Rr]ank ?\d+\][ :])")  # two ranks that print on one line
_GLUED_APART = compiled(r"(?<=\d)\s{1,8}(?=\[[Rr]ank ?\d+\][ :])")  # ... with a blank between
_RANKED = compiled(r"\[[Rr]ank ?\d+\]")
_NAMED = compiled(r"\(\?P<(\w+)>")
_MEANINGS = frozenset((*stamp.KINDS, "clock", "rank", "level", "actor"))


Match = tuple[int, list[tuple[str, str]], str]  # its end, what its groups say, its name


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


@frozen
class Pattern:
    """Many prefixes as one expression; `parts` has the groups (index, meaning) of each by its own
    group, `names` what `prefix.toml` calls it."""

    expression: re.Pattern[str]
    parts: dict[str, tuple[tuple[int, str], ...]]
    names: dict[str, str]

    @classmethod
    def joined(cls, entries: Sequence[dict[str, Any]]) -> "Pattern":
        """The alternatives, tried in order; `re` wants each group name once."""
        numbered: list[str] = []
        meanings: list[tuple[str, ...]] = []
        for pattern in (entry["pattern"] for entry in entries):
            meanings.append(tuple(_NAMED.findall(pattern)))
            body = _NAMED.sub("(", pattern)
            numbered.append(f"(?P<p{len(numbered)}>{body})")
        expression = compiled("|".join(numbered) or "(?!)", re.VERBOSE)
        parts = {
            name: tuple(
                (index + 1 + i, meaning) for i, meaning in enumerate(meanings[int(name[1:])])
            )
            for name, index in expression.groupindex.items()
        }
        return cls(expression, parts, {f"p{i}": e["name"] for i, e in enumerate(entries)})

    def match(self, text: str, at: int) -> Match | None:
        """The end of a prefix at a position, what its groups say, and what it is called."""
        m = self.expression.match(text, at)
        if m is None or m.lastgroup is None:
            return None
        said = [(meaning, m.group(i)) for i, meaning in self.parts[m.lastgroup]]
        found = [(meaning, text) for meaning, text in said if text is not None]
        return m.end(), found, self.names[m.lastgroup]


@frozen
class Prefixes:
    """All known prefixes, by where they may stand, and the user's own."""

    start: Pattern
    anywhere: Pattern
    after: Pattern
    whole: frozenset[str] = frozenset()  # names of those whose end is their own
    own: tuple[tuple[Any, str], ...] = ()  # with names; of `regex`, which can be told to give up

    @classmethod
    def of(
        cls, entries: Sequence[dict[str, Any]], own: Sequence[dict[str, Any]] = ()
    ) -> "Prefixes":
        """Put the entries of `prefix.toml` and of users' files together.

        Raises FormatError where a user's pattern is none, or does not peel its own samples.
        """
        start, anywhere, after = (
            Pattern.joined([e for e in entries if e.get("at") == place])
            for place in ("start", None, "after")
        )
        found = cls(
            start,
            anywhere,
            after,
            frozenset(e["name"] for e in entries if e.get("whole"))
            | {str(entry.get("name", "?")) for entry in own},  # a user's pattern says all of it
            tuple((own_pattern(entry), str(entry.get("name", "?"))) for entry in own),
        )
        for entry in own:
            for sample in entry.get("samples", ()):
                if sample not in _peeled_by(found, sample):
                    raise FormatError(
                        f"prefix {entry['name']!r} does not peel its sample {sample!r}",
                        hint="the pattern must match the whole sample, blanks included",
                    )
        return found

    def match(self, text: str, at: int, *, first: bool) -> Match | None:
        """The next prefix at a position, the user's own before ours."""
        for pattern, name in self.own:
            try:
                m = pattern.match(text, at, timeout=_PATIENCE)
            except TimeoutError:
                continue
            if m is not None and m.end() > at:
                return m.end(), [(k, v) for k, v in m.groupdict().items() if v is not None], name
        there = self.start if first else self.after
        return self.anywhere.match(text, at) or there.match(text, at)


class Peeler:
    """Peels prefixes; `year` is for stamps that do not say one."""

    def __init__(self, prefixes: Prefixes, year: int = 1970) -> None:
        self._prefixes = prefixes
        self._year = year
        self._times: dict[tuple[str, str], int | None] = {}
        self.misdated = False  # whether a stamp was no date after all, such as one of month 13
        self._last = "", Prefix(None, None, None, "", 0), False

    def peel(self, text: str) -> Prefix:
        """Take the prefixes off a line."""
        last, peeled, misdated = self._last
        if text != last:
            before, self.misdated = self.misdated, False
            peeled, misdated = self._peeled(text), self.misdated
            self._last = text, peeled, misdated
            self.misdated |= before
        self.misdated |= misdated
        return peeled

    def _peeled(self, text: str) -> Prefix:
        time = rank = level = None
        message, deep = text, 0
        for _, end, said, _ in self.steps(text):
            message, deep = text[end:], deep + 1
            for meaning, words in said:
                if meaning == "rank":
                    rank = int(words) if len(words) < _RANK_DIGITS else rank
                elif meaning == "level":
                    level = level or _LEVELS.get(words.lower())
                elif time is None:
                    time = self._moment(meaning, words)
        return Prefix(time, rank, level, message, deep)

    def steps(self, text: str) -> Iterator[tuple[int, int, list[tuple[str, str]], str]]:
        """The prefixes of a line in order: begin, end, what its groups say, its name.

        The last one ends before the message's own indentation.
        """
        at = self._indent(text)
        found = self._prefixes.match(text, at, first=True)
        for _ in range(_DEPTH):
            if found is None or found[0] == at:
                return
            end, said, name = found
            whole = name in self._prefixes.whole
            edge = -1 if whole else _edge(text, at, end)
            found = self._prefixes.match(text, end, first=False) if edge < 0 else None
            if found is None or found[0] == end:
                if not whole:
                    end = edge if edge >= 0 else _before_indent(text, at, end, said)
                if end > at:
                    yield at, end, said, name
                return
            yield at, end, said, name
            at = end

    def _indent(self, text: str) -> int:
        """Where the first prefix may begin; srun pads its ranks with blanks."""
        if text[:1] not in " \t":
            return 0
        blanks = len(text) - len(text.lstrip())
        padded = self._prefixes.match(text, 0, first=True)
        return 0 if padded and padded[0] > blanks else blanks

    def _moment(self, kind: str, text: str) -> int | None:
        key = (kind, text)
        if key not in self._times:
            if len(self._times) > 4096:
                self._times.clear()
            self._times[key] = stamp.microseconds(kind, text, self._year)
        found = self._times[key]
        self.misdated |= found is None and kind in stamp.KINDS
        return found


def glued(text: str) -> re.Match[str] | None:
    """Where a second rank's line begins inside a line."""
    if m := _GLUED.search(text, 1):
        return m
    first = _RANKED.search(text)
    return first and _GLUED_APART.search(text, first.end())


def _edge(text: str, begin: int, end: int) -> int:
    """Where the bar that a prefix ends in stands, if it is the edge of a table's row and no
    separator; -1 where it is not."""
    bar = begin + len(text[begin:end].rstrip()) - 1
    return bar if text[bar] == "|" and _ROW.match(text, bar) else -1


def _before_indent(text: str, begin: int, end: int, said: list[tuple[str, str]]) -> int:
    """Where the message begins whose indentation a prefix took: behind one blank. What pads its
    own end, as a level does without a mark behind it, keeps its blanks."""
    solid = begin + len(text[begin:end].rstrip(" "))
    if end - solid < 2 or end == len(text):
        return end
    padded = any(meaning == "level" for meaning, _ in said) and text[solid - 1] not in _MARKS
    return end if padded else solid + 1


def own_pattern(entry: dict[str, Any]) -> Any:
    """A user's pattern, by a library whose matching can be given a time limit."""
    import regex

    try:
        pattern = regex.compile(entry["pattern"], regex.VERBOSE)
    except (KeyError, TypeError, regex.error) as error:
        raise FormatError(
            f"prefix {entry.get('name', '?')!r}: no pattern, or none that works: {error}",
            hint="a prefix needs `name`, `pattern` and `samples`; blanks are written as `\\ `",
        ) from error
    if unknown := set(pattern.groupindex) - _MEANINGS:
        raise FormatError(
            f"prefix {entry['name']!r}: groups that mean nothing: {', '.join(sorted(unknown))}",
            hint=f"groups may be named {', '.join(sorted(_MEANINGS))}",
        )
    return pattern


def _peeled_by(prefixes: Prefixes, sample: str) -> str:
    """What is taken off a sample with a message behind it."""
    message = Peeler(prefixes).peel(sample + "message").message
    return (sample + "message").removesuffix(message)
