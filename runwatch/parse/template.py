"""What lines of one form look like byte for byte, learned by asking the readable path.

A template must say what the readable path says of every line that it fits. So the numbers of a line
are changed and the line is read again: one that comes out as given is a slot of any width, one that
changes nothing is digits of the same width; where anything else happens the text must stay as it
is (`lesson.py`).
"""

from dataclasses import replace

from runwatch.kernels import layout
from runwatch.parse import numeral
from runwatch.parse.idle import all_idle, is_idle, is_idle_in_its_width
from runwatch.parse.lesson import Known, Lesson, Match, Roles
from runwatch.parse.moment import STAMP
from runwatch.parse.parts import (
    Fixed,
    Hex,
    Moment,
    Part,
    Same,
    Slot,
    Template,
    all_digits,
    fixed,
    unpad,
    up_to,
)
from runwatch.parse.probe import Probe
from runwatch.parse.trace import Context, Outcome, Trace
from runwatch.pattern import compiled

_BEHIND = rb"(?:(?<![\w.@#])|" + numeral.COLOURED + rb")"
_TOKENS, _GROUPED = (
    compiled(
        rb"(" + STAMP + rb")|" + _BEHIND + rb"(?!0x[0-9a-fA-F])(" + number + rb")"
        rb"|(?<![\w.@#])(0x[0-9a-fA-F]++)(?!\w)|(\d+)"
    )
    for number in (numeral.NUMBER, rb"(?:" + numeral.GROUPED + rb"|" + numeral.NUMBER + rb")")
)
_BAR = compiled(rb"%\|([^|\r\n]{0,300}?)\|")
_MAX_TOKENS = 160
_ESCAPED = 3  # digits behind a `#` that may be a byte as syslog writes it
_WHOLE = 7  # digits that a kernel reads at once


def learn(line: bytes, probe: Probe, trace: Trace) -> Template | None:
    """The template of a line that took these steps, None where it has none."""
    base, before = probe.judged(line, trace), trace.before
    if base is not None and base.traced:
        base = probe.look(line, before)  # what it is elsewhere
    if base is None:
        return None
    bar = _BAR.search(line)
    if base.noted and bar is not None:
        return None  # what it is drawn with may be anything
    tokens = [
        m for m in _tokens(line, base)
        if bar is None or m.end() <= bar.start(1) or m.start() >= bar.end(1)
    ]  # fmt: skip
    if len(tokens) > _MAX_TOKENS or (base.tabular and numeral.may_be_grouped(line)):
        return None
    template = Template([], base, [None] * len(base.values), opens=base.open)
    _settle(template, line, probe, before)
    lesson = Lesson(line, probe, before, base, tokens)
    known = lesson.roles(lesson.numbers)
    if lesson.may_end_thousands(known):
        return None
    _lay_out(template, lesson, known, bar)
    return template if template.complete else None


def _tokens(line: bytes, base: Outcome) -> list[Match]:
    """The stamps, numbers and digits of a line; commas between thousands belong to a number where
    something is worth that."""
    if b"," in line and (found := [*_GROUPED.finditer(line)]):
        said = {numeral.value(m.group(2)) for m in found if m.group(2) and b"," in m.group(2)}
        if said.intersection(base.outputs()):
            return found
    return [*_TOKENS.finditer(line)]


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


def _lay_out(template: Template, lesson: Lesson, known: Known, bar: Match | None) -> None:
    """Fill in the parts of the template and where their numbers go."""
    padded = lesson.is_padding(lesson.padded)
    idle, wide = all_idle(lesson, known), lesson.any_width(known)
    twins = lesson.twins(known)
    line, at, slots = lesson.line, 0, 0
    slot_of: dict[int, int] = {}
    for m in lesson.tokens:
        up_to(template.parts, line, at, m.start(), bar)
        at = m.end()
        part: Part | None = lesson.told.get(m.start())
        if isinstance(part, Hex):
            fixed(template.parts, m.group()[:2])
        elif part is not None:
            template.timed = template.timed or isinstance(part, Moment)
        else:
            roles, free = known[m.start()]
            part = _number(m, roles, free, slots, prefixed=lesson.is_in_prefix(m))
            if isinstance(part, Slot) and part.kind == layout.NUMBER:
                part = replace(part, kind=lesson.kind(m))
            first = twins.get(m.start())
            if roles is not None and not any(roles) and not (idle or is_idle(lesson, m, free=free)):
                bound = free and is_idle_in_its_width(lesson, m)
                part = Fixed(m.group(), all_digits(m.group()) if bound else bytes(len(m.group())))
            if first is not None:
                part = Same(slot_of[first]) if first in slot_of else Slot(slots, layout.WHOLE)
            elif m.start() in wide:
                part = Slot(slots, layout.WHOLE)
            if isinstance(part, Slot) and part.index is not None:
                slot_of[m.start()] = slots
                _assign(template, roles or [], slots)
                slots += 1
        if isinstance(part, Fixed):
            fixed(template.parts, part.text, part.free)
            continue
        if isinstance(part, Slot) and m in lesson.padded and (padded or lesson.is_padding([m])):
            unpad(template.parts)
        template.parts.append(part)
    up_to(template.parts, line, at, len(line), bar)


def _number(m: Match, roles: Roles | None, free: bool, index: int, *, prefixed: bool) -> Part:
    """A number: a slot where it comes out as it is, free digits where it means nothing. In a prefix
    a whole one stays one, as a fraction in its place makes the prefix a part of the message; and so
    does one that means nothing: of `cuda:7` is no number to be seen, of `cuda:-7` there is."""
    text = m.group()
    escaped = m.string[m.start() - 1 : m.start()] == b"#" and len(text) >= _ESCAPED
    if roles is None or not (free or not any(roles)) or (escaped and not any(roles)):
        return Fixed(text, bytes(len(text)))
    whole = text.isdigit() and (prefixed or not any(roles))
    if not free or (prefixed and whole and len(text) > _WHOLE and not any(roles)):
        return Fixed(text, all_digits(text))
    kind = layout.WHOLE if whole and len(text) <= _WHOLE else layout.NUMBER
    return Slot(index if any(roles) else None, kind)


def _assign(template: Template, roles: Roles, index: int) -> None:
    for position, role in enumerate(roles):
        if role and position < len(template.values):
            template.values[position] = index
        elif role:
            template.places[position - len(template.values)] = index
