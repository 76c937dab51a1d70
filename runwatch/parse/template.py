"""What lines of one shape look like byte for byte, learned by asking the readable path.

The readable path is the definition; a template must say the same of every line that it fits. So
each number of a line is changed in turn and the line is read again: a number that comes out as
given is a slot of any width, one that changes nothing is digits of the same width, and where
anything else happens the text must stay as it is. Lines whose meaning depends on more than
themselves (tables, bars, source, held records, lines of note) have no template.
"""

import re
from dataclasses import dataclass, replace

from runwatch.parse.probe import Outcome, Probe

_STAMP = (
    rb"\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?(?![\d.,:])"
)
_NUMBER = rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_TOKENS = re.compile(rb"(?<![\w.@#-])(" + _STAMP + rb")|(?<![\w.@#])(" + _NUMBER + rb")|(\d+)")
# Behind such a number another value might make another thing of it: a clock, a date, a thousand.
_UNSAFE = re.compile(rb"[,:]\d|\.|[eE]|[hm] ?\d| days?\b|[-/]\d+[-/]\d")
_UNSAFE_BEFORE = re.compile(rb"(?:[\d.,]|\d[:,]|\d[-/]\d+[-/])$")
_UNSAFE_MIDDLE = re.compile(rb"\d[-/]$"), re.compile(rb"[-/]\d")
_BAR = re.compile(rb"%\|([^|\r\n]{0,300}?)\|")
_MAX_TOKENS = 160
_PADDING = 2  # blanks in front of a number that may be padding
_SECOND = 17  # where the seconds of a stamp stand


@dataclass(frozen=True, slots=True)
class Slot:
    """A number of any width; None is the index of those that mean nothing."""

    index: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A stamp `YYYY-MM-DD hh:mm:ss.f` like this text; `offset` is its zone in microseconds."""

    text: bytes
    fraction: int
    offset: int

    @property
    def free(self) -> bytes:
        """Where any digit does, as `Fixed.free`."""
        return _all_digits(self.text)

    def __eq__(self, other: object) -> bool:
        """Two stamps of one form are the same part, whatever moment they were learned from."""
        return isinstance(other, Moment) and self._form() == other._form()

    def __hash__(self) -> int:
        return hash(self._form())

    def _form(self) -> tuple[bytes, int, int]:
        digits = bytes.maketrans(b"123456789", b"000000000")
        return self.text.translate(digits), self.fraction, self.offset


@dataclass(frozen=True, slots=True)
class Fixed:
    """Bytes that must stand as they are; where `free` is 1, any digit does."""

    text: bytes
    free: bytes


@dataclass(frozen=True, slots=True)
class Blanks:
    """One or more blanks in front of a number that is padded to a width."""


@dataclass(frozen=True, slots=True)
class Filling:
    """What a progress bar is drawn with, up to its end."""


Part = Slot | Moment | Fixed | Blanks | Filling


@dataclass(slots=True)
class Template:
    """The parts of a line in order, and by slot what the readable path makes of them.

    `values` has the slot of each point, None where its value is always the same.
    """

    parts: list[Part]
    outcome: Outcome
    values: list[int | None]
    step: int | None = None
    total_steps: int | None = None
    epoch: int | None = None
    total_epochs: int | None = None
    rank: int | None = None
    timed: bool = False
    opens: bool | None = True  # whether it sets `Writer.open`, to what its outcome says
    closed: bool = False  # whether it means something else inside a record of many lines


def learn(line: bytes, probe: Probe) -> Template | None:
    """The template of a line, None where it has none."""
    base, inside = probe.look(line), probe.look(line, open=True)
    if base is None:
        return None
    bar = _BAR.search(line)
    tokens = [
        m for m in _TOKENS.finditer(line)
        if bar is None or m.end() <= bar.start(1) or m.start() >= bar.end(1)
    ]  # fmt: skip
    if len(tokens) > _MAX_TOKENS:
        return None
    template = Template([], base, [None] * len(base.values))
    if inside is None or not replace(inside, open=0).same(replace(base, open=0)):
        template.closed = True
    elif inside.open != base.open:
        if base.open:
            return None
        template.opens = None
    if not base.deep and line[:1] in (b" ", b"\t", b"}"):
        template.closed = True  # it may go on where another writer stopped
    at = slots = 0
    for m in tokens:
        _up_to(template.parts, line, at, m.start(), bar)
        at = m.end()
        if m.group(1) is not None:
            part = _moment(line, m, base, probe)
            template.timed = template.timed or isinstance(part, Moment)
        else:
            part = _slot(line, m, base, probe, template, slots)
            slots += isinstance(part, Slot) and part.index is not None
        if isinstance(part, Fixed):
            _fixed(template.parts, part.text, part.free)
            continue
        if isinstance(part, Slot) and _padded(line, m.start(), base, probe):
            _unpad(template.parts)
        template.parts.append(part)
    _up_to(template.parts, line, at, len(line), bar)
    return template if _complete(template) else None


def _complete(template: Template) -> bool:
    """Whether every place that the outcome names comes from a slot, and its time from a stamp."""
    said = template.outcome
    return (
        (said.time is None) == (not template.timed)
        and (said.step is None) == (template.step is None)
        and (said.total_steps is None) == (template.total_steps is None)
        and (said.epoch is None) == (template.epoch is None)
        and (said.total_epochs is None) == (template.total_epochs is None)
        and (said.rank is None) == (template.rank is None)
    )


def _up_to(parts: list[Part], line: bytes, at: int, end: int, bar: re.Match[bytes] | None) -> None:
    """Add the text up to the next token, with the filling of a bar in it."""
    if bar is not None and at <= bar.start(1) and bar.end(1) <= end:
        _fixed(parts, line[at : bar.start(1)])
        parts.append(Filling())
        at = bar.end(1)
    _fixed(parts, line[at:end])


def _fixed(parts: list[Part], text: bytes, free: bytes = b"") -> None:
    """Add bytes to the last fixed part, or begin one."""
    if not text:
        return
    free = free or bytes(len(text))
    if parts and isinstance(parts[-1], Fixed):
        parts[-1] = Fixed(parts[-1].text + text, parts[-1].free + free)
    else:
        parts.append(Fixed(text, free))


def _padded(line: bytes, at: int, base: Outcome, probe: Probe) -> bool:
    """Whether blanks in front of a number are padding: any number of them means the same."""
    before = line[:at].rstrip(b" ")
    if at - len(before) < _PADDING:
        return False
    others = (before + blanks + line[at:] for blanks in (b" ", line[len(before) : at] + b" "))
    return all((seen := probe.look(other)) is not None and seen.same(base) for other in others)


def _unpad(parts: list[Part]) -> None:
    """Let the blanks at the end of the parts be any number of them."""
    last = parts.pop() if parts else None
    if isinstance(last, Fixed):
        kept = last.text.rstrip(b" ")
        _fixed(parts, kept, last.free[: len(kept)])
    elif last is not None:
        parts.append(last)
    parts.append(Blanks())


def _moment(line: bytes, m: re.Match[bytes], base: Outcome, probe: Probe) -> Part:
    """A stamp: the line's time, or digits that mean nothing, or text."""
    text = m.group()
    second = int(text[_SECOND : _SECOND + 2])
    other = b"%02d" % (second - 1 if second else 1)
    changed = text[:_SECOND] + other + text[_SECOND + 2 :]
    seen = probe.look(line[: m.start()] + changed + line[m.end() :])
    if seen is None or not seen.same_form(base):
        return Fixed(text, bytes(len(text)))
    if seen.same(base):
        return Fixed(text, _all_digits(text))
    if base.time is None or seen.time is None:
        return Fixed(text, bytes(len(text)))
    if not seen.same_but_time(base) or seen.time - base.time != (int(other) - second) * 1_000_000:
        return Fixed(text, bytes(len(text)))
    fraction = re.match(rb"[.,](\d+)", text[_SECOND + 2 :])
    digits = len(fraction.group(1)) if fraction else 0
    plain = probe.moment(text[: _SECOND + 2] + (b"." + fraction.group(1) if fraction else b""))
    if plain is None:
        return Fixed(text, bytes(len(text)))
    return Moment(text, min(digits, 6), plain - base.time)


def _slot(
    line: bytes, m: re.Match[bytes], base: Outcome, probe: Probe, template: Template, index: int
) -> Part:
    """A number: a slot where it comes out as it is, free digits where it means nothing."""
    text = m.group()
    as_it_stands = Fixed(text, bytes(len(text)))
    other = _other(text)
    if float(other) == float(text):
        return as_it_stands  # both beyond what a float holds: where it goes cannot be seen
    roles = _roles_of(line, m, other, base, probe)
    if roles is None:
        return as_it_stands
    free = m.group(2) is not None and _safe(line, m)
    if free:  # a number of another width must be the same thing
        free = _roles_of(line, m, _wider(text), base, probe) == roles
    if not any(roles):
        return Slot(None) if free else Fixed(text, _all_digits(text))
    if not free:
        return as_it_stands
    for position, role in enumerate(roles):
        if role:
            _assign(template, position, index)
    return Slot(index)


def _roles_of(
    line: bytes, m: re.Match[bytes], text: bytes, base: Outcome, probe: Probe
) -> list[bool] | None:
    """Into which outputs a number goes, by what another one in its place changes."""
    seen = probe.look(line[: m.start()] + text + line[m.end() :])
    if seen is None or not seen.same_form(base):
        return None
    return _roles(base, seen, float(text))


def _roles(base: Outcome, seen: Outcome, value: float) -> list[bool] | None:
    """Which outputs the number went into; None where one changed to something else."""
    if seen.time != base.time:
        return None
    before, after = base.outputs(), seen.outputs()
    roles = []
    for was, now in zip(before, after, strict=True):
        if was == now or (was != was and now != now):
            roles.append(False)
        elif now is not None and (now == value or now == int(value)):
            roles.append(True)
        else:
            return None
    return roles


def _assign(template: Template, position: int, index: int) -> None:
    if position < len(template.values):
        template.values[position] = index
        return
    name = Outcome.PLACES[position - len(template.values)]
    setattr(template, name, index)


def _safe(line: bytes, m: re.Match[bytes]) -> bool:
    """Whether a number of any other width would still be the same kind of thing here."""
    before = line[: m.start()]
    if _UNSAFE.match(line, m.end()) or _UNSAFE_BEFORE.search(before):
        return False
    behind, ahead = _UNSAFE_MIDDLE
    return not (behind.search(before) and ahead.match(line, m.end()))


def _other(text: bytes) -> bytes:
    """Another number of the same width: digits changed, none leading with 0 that did not."""
    out = bytearray(text)
    for i, byte in enumerate(text):
        if 48 <= byte <= 57:
            digit = (byte - 48 + 3) % 10
            if digit == 0 and byte != 48:
                digit = 5 if byte != 53 else 4
            out[i] = 48 + digit
    exponent = re.search(rb"[eE][+-]?(\d+)$", text)
    if exponent:  # a large exponent would make it infinite
        out[exponent.start(1) :] = text[exponent.start(1) :]
    return bytes(out)


def _wider(text: bytes) -> bytes:
    """Another number with a digit more."""
    other = _other(text)
    first = re.search(rb"\d", other)
    assert first is not None
    return other[: first.start()] + b"7" + other[first.start() :]


def _all_digits(text: bytes) -> bytes:
    return bytes(48 <= byte <= 57 for byte in text)
