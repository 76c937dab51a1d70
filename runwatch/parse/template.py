"""What lines of one form look like byte for byte, learned by asking the readable path.

A template must say what the readable path says of every line that it fits. So the numbers of a line
are changed and the line is read again: one that comes out as given is a slot of any width, one that
changes nothing is digits of the same width; where anything else happens the text must stay as it
is (`lesson.py`).
"""

from dataclasses import replace

from runwatch.parse import numeral
from runwatch.parse.lesson import Lesson, Match, Roles
from runwatch.parse.moment import STAMP
from runwatch.parse.parts import (
    Fixed,
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
from runwatch.parse.trace import Context, Outcome
from runwatch.pattern import compiled

_TOKENS = compiled(rb"(" + STAMP + rb")|(?<![\w.@#])(" + numeral.NUMBER + rb")|(\d+)")
_BAR = compiled(rb"%\|([^|\r\n]{0,300}?)\|")
_MAX_TOKENS = 160
_WHOLE = 7  # digits that a kernel reads at once


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
    _lay_out(template, Lesson(line, probe, before, base, tokens), bar)
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


def _lay_out(template: Template, lesson: Lesson, bar: Match | None) -> None:
    """Fill in the parts of the template and where their numbers go."""
    known, padded = lesson.roles(lesson.numbers), lesson.is_padding(lesson.padded)
    idle, wide = lesson.all_idle(known), lesson.any_width(known)
    twins = lesson.twins(known)
    line, at, slots = lesson.line, 0, 0
    slot_of: dict[int, int] = {}
    for m in lesson.tokens:
        up_to(template.parts, line, at, m.start(), bar)
        at = m.end()
        part: Part | None = lesson.dated.get(m.start())
        if part is not None:
            template.timed = template.timed or isinstance(part, Moment)
        else:
            roles, free = known[m.start()]
            part = _number(m, roles, free, slots, prefixed=lesson.is_in_prefix(m))
            if isinstance(part, Slot) and lesson.is_under_time(m):
                part = replace(part, small=True)
            first = twins.get(m.start())
            if roles is not None and not any(roles) and not (idle or lesson.is_idle(m, free)):
                bound = free and lesson.is_idle_in_its_width(m)
                part = Fixed(m.group(), all_digits(m.group()) if bound else bytes(len(m.group())))
            if first is not None:
                part = Same(slot_of[first]) if first in slot_of else Slot(slots, whole=True)
            elif m.start() in wide:
                part = Slot(slots, whole=True)
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
    if roles is None or not (free or not any(roles)):
        return Fixed(text, bytes(len(text)))
    whole = prefixed and text.isdigit()
    if not free or (whole and len(text) > _WHOLE and not any(roles)):
        return Fixed(text, all_digits(text))
    if not any(roles):
        return Slot(None, whole=text.isdigit() and len(text) <= _WHOLE)
    return Slot(index, whole=whole and len(text) <= _WHOLE)


def _assign(template: Template, roles: Roles, index: int) -> None:
    for position, role in enumerate(roles):
        if role and position < len(template.values):
            template.values[position] = index
        elif role:
            template.places[position - len(template.values)] = index
