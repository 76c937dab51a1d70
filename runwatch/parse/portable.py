"""What was learned of a line, without a word of it: fit to be kept for later runs.

Of a text that must stand as it is only its length is told; a digest of all of them tells whether
another line has the same. So a template is made again from a line like the one that it was learned
from, and of what a log says only ranks and zones are kept.
"""

import re
from typing import Any

from runwatch.digest import blake2b
from runwatch.kernels import layout
from runwatch.parse import numeral
from runwatch.parse.moment import Layout, UnixTime
from runwatch.parse.parts import Blanks, Filling, Fixed, Hex, Moment, Part, Same, Slot, Template
from runwatch.parse.plan import Evidence
from runwatch.parse.silence import Traits
from runwatch.parse.table import NO_HEAD, Head
from runwatch.parse.trace import Context, Outcome
from runwatch.pattern import compiled

Record = tuple[Any, ...]  # of numbers, texts of our own and digests, as `marshal` writes them
Found = tuple[list[Part], dict[int, float]]

_DIGEST = 16  # bytes
_FIXED, _SLOT, _SAME, _MOMENT, _BLANKS, _HEX, _FILLING = range(7)
_NUMBER = compiled(numeral.NUMBER)
_WRITTEN = {layout.WHOLE: compiled(rb"\d+"), layout.GROUPED: compiled(numeral.GROUPED)}
_OPEN: dict[int, tuple[re.Pattern[bytes], Part]] = {
    _BLANKS: (compiled(rb" +"), Blanks()),
    _HEX: (compiled(rb"[0-9a-fA-F]{1,%d}" % layout.MAX_HEX), Hex()),
    _FILLING: (compiled(rb"[^|\r\n]*(?=\|)"), Filling()),
}
_ZERO = 48


def digest_of(text: bytes) -> bytes:
    """What stands for a text."""
    return blake2b(text, digest_size=_DIGEST).digest()


def head_digest(head: Head | None) -> bytes:
    """What stands for the names of a table; nothing for none."""
    return b"" if head is None or head == NO_HEAD else digest_of(repr(head).encode())


def told(template: Template) -> Record:
    """A template without its texts."""
    fixed: list[bytes] = []
    return (
        tuple(_told(part, fixed) for part in template.parts), digest_of(b"".join(fixed)),
        tuple(template.values), tuple(template.places.items()), template.timed, template.opens,
        template.inside, template.code,
        None if template.head is None else head_digest(template.head),
    )  # fmt: skip


def suits(record: Record, before: Context) -> bool:
    """Whether a template holds in a context."""
    *_, inside, code, head = record
    return (
        (inside is None or inside == before.open)
        and (code is None or code == before.code)
        and (head is None or head == head_digest(before.head))
    )


def context_of(record: Record) -> Context | None:
    """One in which a template holds; None where that depends on a table's names."""
    *_, inside, code, head = record
    return Context(bool(inside), bool(code)) if head is None else None


def parts_of(record: Record, line: bytes) -> Found | None:
    """The parts of a line by a template, and the numbers in its slots; None where the line is not
    like the one that it was learned from."""
    fixed: list[bytes] = []
    slots: dict[int, float] = {}
    made: list[Part] = []
    at = 0
    for part in record[0]:
        found = _made(part, line, at, fixed, slots)
        if found is None:
            return None
        at, piece = found
        made.append(piece)
    is_alike = at == len(line) and digest_of(b"".join(fixed)) == record[1]
    return (made, slots) if is_alike else None


def again(record: Record, found: Found, before: Context, base: Outcome) -> Template | None:
    """The template of a line with these parts, which has this outcome in a context that suits; None
    where its numbers go elsewhere."""
    _, _, values, places, timed, opens, inside, code, head = record
    parts, slots = found
    if len(base.values) != len(values):
        return None
    goes = [*zip(values, base.values, strict=True), *((s, base.places[p]) for p, s in places)]
    if any(slot is not None and slots.get(slot) != value for slot, value in goes):
        return None
    template = Template(
        parts, base, list(values), dict(places), timed, opens, inside, code,
        None if head is None else before.head,
    )  # fmt: skip
    return template if template.complete else None


def _told(part: Part, fixed: list[bytes]) -> tuple[Any, ...]:
    if isinstance(part, Fixed):
        fixed.append(_masked(part.text, part.free))
        return _FIXED, len(part.text), part.free if 1 in part.free else b""
    if isinstance(part, Slot):
        return _SLOT, part.index, part.kind
    if isinstance(part, Same):
        return _SAME, part.index
    if isinstance(part, Moment):
        fixed.append(_masked(part.text, part.free))
        fields = part.layout.fields if isinstance(part.layout, Layout) else ()
        return _MOMENT, len(part.text), fields, part.offset
    return next((kind,) for kind, (_, open) in _OPEN.items() if part == open)


def _made(
    told: tuple[Any, ...], line: bytes, at: int, fixed: list[bytes], slots: dict[int, float]
) -> tuple[int, Part] | None:
    """Where a part ends that begins at a place of a line, and the part; None where it does not."""
    kind, *said = told
    if kind in (_FIXED, _MOMENT):
        end = at + said[0]
        text = line[at:end]
        if kind == _FIXED:
            part: Fixed | Moment = Fixed(text, said[1] or bytes(len(text)))
        else:
            part = Moment(text, Layout(*said[1]) if said[1] else UnixTime(), said[2])
        if end > len(line) or len(part.free) != len(text):
            return None
        fixed.append(_masked(text, part.free))
        return end, part
    if kind in _OPEN:
        pattern, open = _OPEN[kind]
        m = pattern.match(line, at)
        return m and (m.end(), open)
    m = _WRITTEN.get(layout.WHOLE if kind == _SAME else said[1], _NUMBER).match(line, at)
    if m is None:
        return None
    if kind == _SAME:
        return m.end(), Same(said[0])
    if said[0] is not None:
        slots[said[0]] = numeral.value(m.group())
    return m.end(), Slot(*said)


def _masked(text: bytes, free: bytes) -> bytes:
    """A text with 0 wherever any digit may stand; what else stands there makes another text."""
    if 1 not in free:
        return text
    return bytes(
        _ZERO if any_digit and 48 <= byte <= 57 else byte
        for byte, any_digit in zip(text, free, strict=True)
    )


def told_silent(outcome: Outcome, before: Context) -> Record | None:
    """What came of a line that reports nothing, and the context that it was read in; None where
    that depends on the names of a table, or gives some."""
    if outcome.form or outcome.tabular or outcome.head is not None or outcome.key:
        return None
    if any(place is not None for place in outcome.places[:-1]):
        return None  # its numbers are the log's
    return (
        int(outcome.evidence), outcome.training, outcome.bar,
        tuple(tuple(traits) for traits in outcome.traits), outcome.traced, outcome.asked,
        outcome.continues, outcome.near, outcome.open, outcome.deep, outcome.counts,
        outcome.places, outcome.noted, outcome.whole, before.open, before.code,
    )  # fmt: skip


def silent(record: Record) -> tuple[Outcome, Context]:
    """What `told_silent` was given."""
    (evidence, training, bar, traits, traced, asked, continues, near, opens, deep, counts, places,
     noted, whole, inside, code) = record  # fmt: skip
    outcome = Outcome(
        evidence=Evidence(evidence), training=training, bar=bar,
        traits=tuple(Traits(*each) for each in traits), traced=traced, asked=asked,
        continues=continues, near=near, open=opens, deep=deep, counts=counts, places=places,
        noted=noted, whole=whole,
    )  # fmt: skip
    return outcome, Context(inside, code)
