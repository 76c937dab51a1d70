"""What the numbers of a line mean, learned by changing them and reading the line again.

First all are changed at once, which settles most lines in two looks, else halves of them are. Where
a number goes is told as `Roles`: for each output of the line's outcome whether it is that number.
"""

import re
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import pairwise

from runwatch.kernels import layout
from runwatch.parse import numeral
from runwatch.parse.dating import dating
from runwatch.parse.idle import addresses, telling
from runwatch.parse.parts import Part
from runwatch.parse.probe import Probe
from runwatch.parse.structured import TIME_KEYS
from runwatch.parse.trace import Context, Outcome
from runwatch.pattern import compiled

_DIGITS = compiled(rb"\d+")
_FEW = 4  # numbers whose width is changed one by one
_PADDING = 2  # blanks in front of a number that may be padding
_UNDER_TIME = compiled(rb"""["'](?:%s)["']\s*:\s*\Z""" % "|".join(TIME_KEYS).encode())
_TIME = 1714564801  # in Unix seconds
_SIGHT = 32  # bytes in front of a number, where such a key stands

Roles = list[bool]
Match = re.Match[bytes]
Outputs = list[tuple[float | None, float | None]]  # as they were, and as they are
# By where a number stands: where it goes, None where that cannot be told, and whether a number of
# any width may stand there.
Known = dict[int, tuple[Roles | None, bool]]


class Lesson:
    """One line whose numbers are changed; `base` is what comes of it as it is."""

    def __init__(
        self, line: bytes, probe: Probe, before: Context, base: Outcome, tokens: Sequence[Match]
    ) -> None:
        self.line, self.probe, self._before, self.base = line, probe, before, base
        self.tokens = tokens
        message = probe.message.encode()  # of the base, which was looked at last
        self._front = len(line) - len(message) if line.endswith(message) else 0
        dated = {m.start(): part for m in tokens if (part := self._dated(m)) is not None}
        self.told = dated | addresses(self)
        self.numbers = [m for m in tokens if m.start() not in self.told]
        self._free = {
            m.start(): m.group(2) is not None and numeral.is_free(line, m) for m in self.numbers
        }
        times = [m for m in tokens if m.start() in self.told]
        inside = [m for m in self.numbers if not self.is_in_prefix(m)]
        found = numeral.listed(line, inside, times) if b"," in line else {}
        self._listed = {at: apart for at, apart in found.items() if not self._free[at]}
        self.changed: dict[int, bytes] = {}  # to what, when it was seen where they go together
        self.padded = [m for m in self.numbers if line[: m.start()].endswith(b" " * _PADDING)]

    def _dated(self, m: Match) -> Part | None:
        stamped = m.group(1) is not None
        return dating(self, m, stamped=stamped) if stamped or m.group(2) is not None else None

    # Many numbers at once

    def roles(self, numbers: list[Match]) -> Known:
        """By where a number stands, where it goes and whether its width is free. They are changed
        together; where that does not tell, those of each half are."""
        if len(numbers) == 1:
            return {numbers[0].start(): self._roles_alone(numbers[0])}
        together = self._roles_together(numbers)
        if together is not None:
            return together
        half = len(numbers) // 2
        return self.roles(numbers[:half]) | self.roles(numbers[half:])

    def _roles_together(self, numbers: list[Match]) -> Known | None:
        if not numbers:
            return {}
        others = [self._other(m, i) for i, m in enumerate(numbers)]
        safe = [self._free[m.start()] or m.start() in self._listed for m in numbers]
        wider = [
            self._wider(m, i) if ok else others[i]
            for i, (m, ok) in enumerate(zip(numbers, safe, strict=True))
        ]
        if (found := self._told_apart(numbers, wider)) is None:
            return None
        if any(safe) and not self._go_there(numbers, others, found):
            return None
        self.changed |= {m.start(): other for m, other in zip(numbers, others, strict=True)}
        return {
            m.start(): (roles, self._is_free(m, roles))
            for m, roles in zip(numbers, found, strict=True)
        }

    def _is_free(self, m: Match, roles: Roles) -> bool:
        """Whether a number that goes there may have any width; in a list, if it goes anywhere."""
        return self._free[m.start()] or (m.start() in self._listed and any(roles))

    def _other(self, m: Match, index: int) -> bytes:
        """What to put in the place of a number: of digits in a word, or in a clock, what would mean
        something if any did."""
        bound = m.group().isdigit() and not self._free[m.start()]
        told = telling(self, m, free=False) if bound else []
        if told and not numeral.alike(m, told[0]):
            return told[0]
        return numeral.other(m.group(), index)

    def _wider(self, m: Match, index: int = 0) -> bytes:
        return numeral.wider(
            m.group(), index, small=self._is_small(m), apart=m.start() in self._listed
        )

    def _told_apart(self, numbers: list[Match], texts: list[bytes]) -> list[Roles] | None:
        if any(map(numeral.alike, numbers, texts)):
            return None
        return self.roles_of(numbers, texts)

    def look(self, changes: list[tuple[int, int, bytes]]) -> Outcome | None:
        """The outcome of the line with other texts in it."""
        pieces, at = [], 0
        for start, end, text in changes:
            pieces += [self.line[at:start], text]
            at = end
        return self.probe.look(b"".join([*pieces, self.line[at:]]), self._before)

    # One of them

    def _roles_alone(self, m: Match) -> tuple[Roles | None, bool]:
        text = m.group()
        other = numeral.other(text)
        if numeral.alike(m, other) or (roles := self._role(m, other)) is None:
            return None, False
        return roles, self._is_free(m, roles) and self._role(m, self._wider(m)) == roles

    def _role(self, m: Match, text: bytes) -> Roles | None:
        found = self.roles_of([m], [text])
        return None if found is None else found[0]

    def roles_of(self, numbers: list[Match], texts: list[bytes]) -> list[Roles] | None:
        """Into which outputs each number goes, by what others in their places change; None where
        one changed to something else, or was something else."""
        found, was = self._sorted_out(self._with(numbers, texts), texts), self.base.outputs()
        all_were = all(
            _is(was[i], m.group())
            for m, roles in zip(numbers, found or (), strict=False)
            for i, goes in enumerate(roles) if goes
        )  # fmt: skip
        return found if all_were else None

    def _with(self, numbers: Sequence[Match], texts: Sequence[bytes]) -> Outputs | None:
        """Each output of the line, and the same with others in the places of numbers; None where
        the line then says something else."""
        seen = self.look([(m.start(), m.end(), t) for m, t in zip(numbers, texts, strict=True)])
        if seen is None or not seen.same_form(self.base) or seen.time != self.base.time:
            return None
        return list(zip(self.base.outputs(), seen.outputs(), strict=True))

    def _go_there(self, numbers: list[Match], texts: list[bytes], roles: list[Roles]) -> bool:
        """Whether others in the places of numbers go where those did, and nothing else changes."""
        if (outputs := self._with(numbers, texts)) is None:
            return False
        told = {i: text for text, role in zip(texts, roles, strict=True)
                for i, goes in enumerate(role) if goes}  # fmt: skip
        return all(
            _is(now, told[i]) if i in told else now == was or (now != now and was != was)
            for i, (was, now) in enumerate(outputs)
        )

    @staticmethod
    def _sorted_out(outputs: Outputs | None, texts: Sequence[bytes]) -> list[Roles] | None:
        """Into which outputs each text goes by what came of the line with them."""
        if outputs is None:
            return None
        roles = [[False] * len(outputs) for _ in texts]
        for position, (was, now) in enumerate(outputs):
            if was == now or (was != was and now != now):
                continue
            sources = [i for i, text in enumerate(texts) if _is(now, text)]
            if len(sources) != 1:
                return None
            roles[sources[0]][position] = True
        return roles

    def twins(self, known: Known) -> dict[int, int]:
        """Numbers that only mean something while they are the same, as a rank that a prefix and a
        field name: where each stands and where the first of them does, whose roles are then
        known."""
        alike: dict[bytes, list[Match]] = {}
        for m in self.numbers:
            if known[m.start()][0] is None and m.group().isdigit():
                alike.setdefault(m.group(), []).append(m)
        found: dict[int, int] = {}
        for text, (first, *others) in alike.items():
            roles = self._roles_of_all((first, *others), numeral.other(text)) if others else None
            if roles is None or not any(roles) or not all(
                self._roles_of_all((first, *others), width) == roles
                for width in numeral.widths(rank=not any(roles[:-1]))
            ):  # fmt: skip
                continue
            known[first.start()] = roles, False
            found |= {m.start(): first.start() for m in (first, *others)}
        return found

    def _roles_of_all(self, numbers: Sequence[Match], text: bytes) -> Roles | None:
        """Into which outputs a number goes that stands in several places."""
        roles = self._sorted_out(self._with(numbers, [text] * len(numbers)), [text])
        return None if roles is None else roles[0]

    def any_width(self, known: Known) -> set[int]:
        """Where the numbers stand that are the same thing in any width, though widths may matter
        there: a rank in `[1,0]<stderr>:` is, a thousand is not."""
        asked = [
            m for m in self.numbers
            if any(known[m.start()][0] or ()) and not known[m.start()][1] and m.group().isdigit()
        ]  # fmt: skip
        inside = [m for m in asked if not self.is_in_prefix(m)]
        if not (len(inside) > _FEW and self._have_any_width(inside, known)):
            inside = [m for m in inside if self._have_any_width([m], known)]
            beside = any(b.start() - a.end() == 1 for a, b in pairwise(inside))
            if beside and not self._have_any_width(inside, known):
                inside = []  # "65536,31": each of any width, but not both, as a thousand
        prefixed = filter(self.is_in_prefix, asked)
        return {m.start() for m in (*inside, *filter(partial(self._in_prefix, known), prefixed))}

    def _in_prefix(self, known: Known, m: Match) -> bool:
        """The same of a number in a prefix, whatever the message is; what was found is kept."""
        before, behind = self.line[: m.start()], self.line[m.end() : self._front]
        prefix = _DIGITS.sub(b"0", before), _DIGITS.sub(b"0", behind)
        found = self.probe.widths.get(prefix)
        if found is None:
            found = self.probe.widths[prefix] = self._have_any_width([m], known)
        return found

    def _have_any_width(self, numbers: list[Match], known: Known) -> bool:
        """Whether numbers of all widths go where these do; several are changed at once, all to the
        same width and each to another one, as a date is one in some widths only."""
        roles = [known[m.start()][0] or [] for m in numbers]
        together = list(map(any, zip(*roles, strict=True)))
        widths = numeral.widths(rank=not any(together[:-1]))
        count = range(len(numbers))
        return all(
            self._go_there(numbers, [widths[(k + i * apart) % len(widths)] for i in count], roles)
            for apart in ((0, 1) if len(numbers) > 1 else (0,))
            for k in range(len(widths))
        )

    def is_in_prefix(self, m: Match) -> bool:
        """Whether a number stands before the message, where one with a fraction, a sign or an
        exponent is something else."""
        return m.end() <= self._front

    def may_end_thousands(self, known: Known) -> bool:
        """Whether three digits behind a comma are not read, so that no kernel looks at what is
        behind them."""
        return any(
            apart and numeral.is_three(m.group()) and not any(known[m.start()][0] or ())
            for m in self.numbers if (apart := self._listed.get(m.start()))
        )  # fmt: skip

    def kind(self, m: Match) -> int:
        """How a kernel reads a number that may have any width."""
        if b"," in m.group():
            return layout.GROUPED
        small = self._is_small(m) or (self.base.tabular and not self._may_be_times)
        if self._listed.get(m.start()):
            return layout.SMALL_APART if small else layout.APART
        return layout.SMALL if small else layout.NUMBER

    @cached_property
    def _may_be_times(self) -> bool:
        """Whether the numbers of a row mean the same where all are times in Unix seconds, which a
        column of times may hold."""
        cells = [m for m in self.numbers if not self.is_in_prefix(m)]
        return self._with(cells, [b"%d" % (_TIME + i) for i in range(len(cells))]) is not None

    def _is_small(self, m: Match) -> bool:
        """Whether a large number would be a time: at the head of a line, or under its name."""
        return not self.line[: m.start()].strip(b" [") or self._is_under_time(m)

    def _is_under_time(self, m: Match) -> bool:
        """Whether a number stands under the name of a time, where a large one is none."""
        return _UNDER_TIME.search(self.line, max(0, m.start() - _SIGHT), m.start()) is not None

    def is_padding(self, numbers: list[Match]) -> bool:
        """Whether the blanks in front of numbers are padding: any number of them means the same."""
        ends = [(len(self.line[: m.start()].rstrip(b" ")), m.start()) for m in numbers]
        changes = (
            [(start, end, b" ") for start, end in ends],
            [(start, end, b" " * (end - start + 1)) for start, end in ends],
        )
        return not numbers or all(
            (seen := self.look(change)) is not None and seen.same(self.base) for change in changes
        )


def _is(output: float | None, text: bytes) -> bool:
    """Whether an output is what a number says, as it is or as a count."""
    value = numeral.value(text)
    return output is not None and (output == value or (abs(value) < 2**62 and output == int(value)))
