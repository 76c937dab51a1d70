"""What lines of one form look like byte for byte, learned by asking the readable path.

A template must say what the readable path says of every line that it fits. So the numbers of a line
are changed and the line is read again: one that comes out as given is a slot of any width, one that
changes nothing is digits of the same width; where anything else happens the text must stay as it
is. First all are changed at once, which settles most lines in two looks, else halves of them are.
"""

import re
from collections.abc import Sequence

from runwatch.parse import numeral
from runwatch.parse.parts import (
    Fixed,
    Moment,
    Part,
    Slot,
    Template,
    all_digits,
    fixed,
    unpad,
    up_to,
)
from runwatch.parse.probe import Probe
from runwatch.parse.trace import Context, Outcome
from runwatch.pattern import compiled

_STAMP = (
    rb"\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?(?![\d.,:])"
)
_NUMBER = rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_TOKENS = compiled(rb"(?<![\w.@#-])(" + _STAMP + rb")|(?<![\w.@#])(" + _NUMBER + rb")|(\d+)")
_BAR = compiled(rb"%\|([^|\r\n]{0,300}?)\|")
_MAX_TOKENS = 160
_PADDING = 2  # blanks in front of a number that may be padding
_TIMES = [b"1714564801", b"1714564801123"]  # in Unix seconds and milliseconds
_WIDTHS = (b"6", b"35", b"742", b"9183", b"60174", b"00417", b"520963")
_SECOND = 17  # where the seconds of a stamp stand

Roles = list[bool]  # for each output of an outcome, whether a number goes there
Match = re.Match[bytes]


def learn(line: bytes, probe: Probe, before: Context) -> Template | None:
    """The template of a line in a context, None where it has none."""
    base = probe.look(line, before)
    if base is None:
        return None
    bar = _BAR.search(line)
    tokens = [
        m for m in _TOKENS.finditer(line)
        if bar is None or m.end() <= bar.start(1) or m.start() >= bar.end(1)
    ]  # fmt: skip
    if len(tokens) > _MAX_TOKENS:
        return None
    template = Template([], base, [None] * len(base.values), opens=base.open)
    _settle(template, line, probe, before)
    _Lesson(line, probe, before, base, tokens).parts(template, bar)
    return template if template.complete else None


def as_it_is(line: bytes, outcome: Outcome, before: Context) -> Template:
    """The template of one line and no other, from what the readable path made of it. Where that
    was in a traceback, it holds in none of the other contexts."""
    return Template(
        [Fixed(line, bytes(len(line)))], outcome, [None] * len(outcome.values),
        opens=outcome.open, inside=before.open, code=before.code,
        head=before.head if outcome.tabular else None,
    )  # fmt: skip


def _settle(template: Template, line: bytes, probe: Probe, before: Context) -> None:
    """Find out which of the context matters."""
    base = template.outcome
    if base.tabular:
        template.head = before.head

    def same(seen: Outcome | None, open: bool) -> bool:
        if seen is None or not seen.same_but_open(base):
            return False
        # What it is set to, or what it was.
        return seen.open == base.open or (base.open == before.open and seen.open == open)

    inside, code = not before.open, not before.code
    other = probe.look(line, Context(inside, before.code, before.head))
    elsewhere = same(other, inside)
    # What reports nothing leaves its writer as it was in source, and nowhere else.
    coded = (base.reports or base.near < 0) and same(
        probe.look(line, Context(before.open, code, before.head)), before.open
    )
    if elsewhere and coded:
        coded = same(probe.look(line, Context(inside, code, before.head)), inside)
    template.inside = None if elsewhere else before.open
    template.code = None if coded else before.code
    if elsewhere and base.open == before.open:
        template.opens = base.open if other is not None and other.open == base.open else None


class _Lesson:
    """One line whose numbers are changed."""

    def __init__(
        self, line: bytes, probe: Probe, before: Context, base: Outcome, tokens: Sequence[Match]
    ) -> None:
        self._line, self._probe, self._before, self._base = line, probe, before, base
        self._tokens = tokens
        self._numbers = [m for m in tokens if m.group(1) is None]
        self._padded = [m for m in self._numbers if self._is_padded(m)]

    def parts(self, template: Template, bar: Match | None) -> None:
        """Fill in the parts of the template and where their numbers go."""
        known, padded = self._roles(self._numbers), self._is_padding(self._padded)
        idle = self._all_idle(known)
        line, at, slots = self._line, 0, 0
        for m in self._tokens:
            up_to(template.parts, line, at, m.start(), bar)
            at = m.end()
            if m.group(1) is not None:
                part = self._moment(m)
                template.timed = template.timed or isinstance(part, Moment)
            else:
                roles, free = known[m.start()]
                part = _number(m, roles, free, slots)
                if roles is not None and not any(roles) and not (idle or self._is_idle(m, free)):
                    part = Fixed(m.group(), bytes(len(m.group())))
                if roles is not None and any(roles) and not free and self._any_width(m, roles):
                    part = Slot(slots, whole=True)
                if isinstance(part, Slot) and part.index is not None:
                    _assign(template, roles or [], slots)
                    slots += 1
            if isinstance(part, Fixed):
                fixed(template.parts, part.text, part.free)
                continue
            if isinstance(part, Slot) and m in self._padded and (padded or self._is_padding([m])):
                unpad(template.parts)
            template.parts.append(part)
        up_to(template.parts, line, at, len(line), bar)

    # Many numbers at once

    def _roles(self, numbers: list[Match]) -> dict[int, tuple[Roles | None, bool]]:
        """By where a number stands, where it goes and whether its width is free. They are changed
        together; where that does not tell, those of each half are."""
        if len(numbers) == 1:
            return {numbers[0].start(): self._roles_alone(numbers[0])}
        together = self._roles_together(numbers)
        if together is not None:
            return together
        half = len(numbers) // 2
        return self._roles(numbers[:half]) | self._roles(numbers[half:])

    def _roles_together(self, numbers: list[Match]) -> dict[int, tuple[Roles | None, bool]] | None:
        others = [numeral.other(m.group(), i) for i, m in enumerate(numbers)]
        if not numbers or (found := self._told_apart(numbers, others)) is None:
            return None if numbers else {}
        safe = [m.group(2) is not None and numeral.is_free(self._line, m) for m in numbers]
        if any(safe):
            wider = [
                numeral.wider(m.group(), i) if ok else others[i]
                for i, (m, ok) in enumerate(zip(numbers, safe, strict=True))
            ]
            if self._told_apart(numbers, wider) != found:
                return None
        return {m.start(): (roles, ok) for m, roles, ok in zip(numbers, found, safe, strict=True)}

    def _told_apart(self, numbers: list[Match], texts: list[bytes]) -> list[Roles] | None:
        if any(map(numeral.alike, numbers, texts)):
            return None
        return self._roles_of(numbers, texts)

    def _look(self, changes: list[tuple[int, int, bytes]]) -> Outcome | None:
        """The outcome of the line with other texts in it."""
        pieces, at = [], 0
        for start, end, text in changes:
            pieces += [self._line[at:start], text]
            at = end
        return self._probe.look(b"".join([*pieces, self._line[at:]]), self._before)

    # One of them

    def _roles_alone(self, m: Match) -> tuple[Roles | None, bool]:
        text = m.group()
        other = numeral.other(text)
        if numeral.alike(m, other) or (roles := self._role(m, other)) is None:
            return None, False
        free = m.group(2) is not None and numeral.is_free(self._line, m)
        return roles, free and self._role(m, numeral.wider(text)) == roles

    def _role(self, m: Match, text: bytes) -> Roles | None:
        found = self._roles_of([m], [text])
        return None if found is None else found[0]

    def _roles_of(self, numbers: list[Match], texts: list[bytes]) -> list[Roles] | None:
        """Into which outputs each number goes, by what others in their places change; None where
        one changed to something else."""
        seen = self._look([(m.start(), m.end(), t) for m, t in zip(numbers, texts, strict=True)])
        if seen is None or not seen.same_form(self._base) or seen.time != self._base.time:
            return None
        outputs = list(zip(self._base.outputs(), seen.outputs(), strict=True))
        roles = [[False] * len(outputs) for _ in numbers]
        for position, (was, now) in enumerate(outputs):
            if was == now or (was != was and now != now):
                continue
            sources = [i for i, text in enumerate(texts) if _is(now, float(text))]
            if len(sources) != 1:
                return None
            roles[sources[0]][position] = True
        return roles

    def _is_idle(self, m: Match, free: bool) -> bool:
        """Whether a number that means nothing means nothing whatever it is: the digit of a name may
        make it a known one, and at the head of a line there may be a time."""
        return all(self._means_nothing([(m, other)]) for other in self._telling(m, free))

    def _all_idle(self, known: dict[int, tuple[Roles | None, bool]]) -> bool:
        """Whether all numbers that mean nothing do so together, whatever they are."""
        rounds: list[list[tuple[Match, bytes]]] = []
        for m in self._numbers:
            roles, free = known[m.start()]
            if roles is None or any(roles):
                continue
            for i, other in enumerate(self._telling(m, free)):
                rounds[i:] = rounds[i:] or [[]]
                rounds[i].append((m, other))
        return all(map(self._means_nothing, rounds))

    def _telling(self, m: Match, free: bool) -> list[bytes]:
        """Others to put in the place of a number that would mean something if any did."""
        before = self._line[max(0, m.start() - 64) : m.start()]
        if free and not before.endswith(b"-"):
            return [] if self._line[: m.start()].strip(b" [") else _TIMES
        widths = (1, 2) if free else (len(m.group()),)  # "Rank-10"
        return [text for width in widths for text in self._probe.digits(width, before)]

    def _means_nothing(self, changed: list[tuple[Match, bytes]]) -> bool:
        roles = self._roles_of([m for m, _ in changed], [other for _, other in changed])
        return roles is not None and not any(map(any, roles))

    def _any_width(self, m: Match, roles: Roles) -> bool:
        """Whether a number that stands where widths may matter is the same thing in all of them:
        a rank in `[1,0]<stderr>:` is, a thousand is not."""
        return m.group().isdigit() and all(
            self._role(m, text) == roles for text in _WIDTHS if text != m.group()
        )

    def _is_padded(self, m: Match) -> bool:
        return self._line[: m.start()].endswith(b" " * _PADDING)

    def _is_padding(self, numbers: list[Match]) -> bool:
        """Whether the blanks in front of numbers are padding: any number of them means the same."""
        ends = [(len(self._line[: m.start()].rstrip(b" ")), m.start()) for m in numbers]
        changes = (
            [(start, end, b" ") for start, end in ends],
            [(start, end, b" " * (end - start + 1)) for start, end in ends],
        )
        return not numbers or all(
            (seen := self._look(change)) is not None and seen.same(self._base) for change in changes
        )

    def _moment(self, m: Match) -> Part:
        """A stamp: the line's time, or digits that mean nothing, or text."""
        text, base = m.group(), self._base
        second = int(text[_SECOND : _SECOND + 2])
        other = b"%02d" % (second - 1 if second else 1)
        changed = text[:_SECOND] + other + text[_SECOND + 2 :]
        as_it_stands = Fixed(text, bytes(len(text)))
        seen = self._look([(m.start(), m.end(), changed)])
        if seen is None or not seen.same_form(base):
            return as_it_stands
        if seen.same(base):
            return Fixed(text, all_digits(text))
        if base.time is None or seen.time is None or not seen.same_but_time(base):
            return as_it_stands
        if seen.time - base.time != (int(other) - second) * 1_000_000:
            return as_it_stands
        fraction = re.match(rb"[.,](\d+)", text[_SECOND + 2 :])
        digits = len(fraction.group(1)) if fraction else 0
        plain = self._probe.moment(
            text[: _SECOND + 2] + (b"." + fraction.group(1) if fraction else b"")
        )
        if plain is None:
            return as_it_stands
        return Moment(text, min(digits, 6), plain - base.time)


def _number(m: Match, roles: Roles | None, free: bool, index: int) -> Part:
    """A number: a slot where it comes out as it is, free digits where it means nothing."""
    text = m.group()
    if roles is not None and not any(roles):
        return Slot(None) if free else Fixed(text, all_digits(text))
    return Slot(index) if free and roles is not None else Fixed(text, bytes(len(text)))


def _is(output: float | None, value: float) -> bool:
    """Whether an output is a number, as it is or as a count."""
    return output is not None and (output == value or (abs(value) < 2**62 and output == int(value)))


def _assign(template: Template, roles: Roles, index: int) -> None:
    for position, role in enumerate(roles):
        if role and position < len(template.values):
            template.values[position] = index
        elif role:
            template.places[Outcome.PLACES[position - len(template.values)]] = index
