"""The parts of a template: what a line of one form looks like byte for byte."""

import re
from dataclasses import field

from runwatch.kernels.layout import NUMBER
from runwatch.parse.moment import Layout, UnixTime
from runwatch.parse.table import Head
from runwatch.parse.trace import Outcome
from runwatch.slotted import frozen, mutable


@frozen
class Slot:
    """A number of any width, of the kind that an operation of a kernel reads (`layout.NUMBER` or
    one of its like); None is the index of those that mean nothing."""

    index: int | None
    kind: int = NUMBER


@frozen
class Same:
    """The digits of a number that is also in a slot before, as a rank that is named twice."""

    index: int


@frozen
class Moment:
    """A stamp laid out like this one; `offset` is its zone in microseconds."""

    text: bytes
    layout: Layout | UnixTime
    offset: int

    @property
    def free(self) -> bytes:
        """Where any digit does, as `Fixed.free`."""
        return self.layout.free(self.text)

    def __eq__(self, other: object) -> bool:
        """Two stamps of one form are the same part, whatever moment they were learned from."""
        return isinstance(other, Moment) and self._form() == other._form()

    def __hash__(self) -> int:
        return hash(self._form())

    def _form(self) -> tuple[bytes, Layout | UnixTime, int]:
        digits = bytes.maketrans(b"123456789", b"000000000")
        return self.text.translate(digits), self.layout, self.offset


@frozen
class Fixed:
    """Bytes that must stand as they are; where `free` is 1, any digit does."""

    text: bytes
    free: bytes


@frozen
class Blanks:
    """One or more blanks in front of a number that is padded to a width."""


@frozen
class Hex:
    """The digits of an address in memory, behind its `0x`."""


@frozen
class Filling:
    """What a progress bar is drawn with, up to its end."""


Part = Slot | Same | Moment | Fixed | Blanks | Hex | Filling


@mutable
class Template:
    """The parts of a line in order, and by slot what the readable path makes of them.

    `values` has the slot of each point, None where its value is always the same; `places` that of
    each of `Outcome.places` that it names. `inside`, `code` and `head` are what must hold of its
    writer, None where it does not matter.
    """

    parts: list[Part]
    outcome: Outcome
    values: list[int | None]
    places: dict[int, int] = field(default_factory=dict)
    timed: bool = False
    opens: bool | None = None  # what it sets `Writer.open` to
    inside: bool | None = None
    code: bool | None = None
    head: Head | None = None

    @property
    def complete(self) -> bool:
        """Whether its time comes from a stamp."""
        return (self.outcome.time is None) == (not self.timed)


def all_digits(text: bytes) -> bytes:
    """Where a text has digits, as `Fixed.free`."""
    return bytes(48 <= byte <= 57 for byte in text)


def up_to(parts: list[Part], line: bytes, at: int, end: int, bar: re.Match[bytes] | None) -> None:
    """Add the text up to the next token, with the filling of a bar in it."""
    if bar is not None and at <= bar.start(1) and bar.end(1) <= end:
        fixed(parts, line[at : bar.start(1)])
        parts.append(Filling())
        at = bar.end(1)
    fixed(parts, line[at:end])


def fixed(parts: list[Part], text: bytes, free: bytes = b"") -> None:
    """Add bytes to the last fixed part, or begin one."""
    if not text:
        return
    free = free or bytes(len(text))
    if parts and isinstance(parts[-1], Fixed):
        parts[-1] = Fixed(parts[-1].text + text, parts[-1].free + free)
    else:
        parts.append(Fixed(text, free))


def unpad(parts: list[Part]) -> None:
    """Let the blanks at the end of the parts be any number of them."""
    last = parts.pop() if parts else None
    if isinstance(last, Fixed):
        kept = last.text.rstrip(b" ")
        fixed(parts, kept, last.free[: len(kept)])
    elif last is not None:
        parts.append(last)
    parts.append(Blanks())
