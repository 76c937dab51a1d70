"""What a line of one shape means: which of its numbers are measurements, and where it belongs."""

from dataclasses import field
from enum import IntEnum

from runwatch.slotted import frozen

# A cell of a row: the slot of its number, OPAQUE, the slots of a list in it, or None for a word.
Cell = int | tuple[int, ...] | None
OPAQUE = -1  # a time, a date, an address


class Evidence(IntEnum):
    """How sure a shape is to report something.

    NONE reports nothing. HELD may be a record or a setting: it counts once the same shape comes
    again with another number after training began. KNOWN is held too, but has the name of a known
    quantity: beside a line that reports it becomes BESIDE and counts at once. CLEAR counts
    anywhere.
    """

    NONE = 0
    HELD = 1
    KNOWN = 2
    BESIDE = 3
    CLEAR = 4


@frozen
class Field:
    """A measurement: `slot` is the number of its token in the line.

    A metric may name other tokens of the line as `\\x01slot\\x04` ("AP @[ IoU=…"); they are put in
    when the plan is filled.
    """

    slot: int
    metric: str
    unit: str = ""


@frozen
class Plan:
    """What to take from every line of a shape. Slots count all tokens of the line from 0.

    `bar` is the description of a progress bar, None where there is none. `row` lists the cells of a
    line that is nothing but values; `head` the names of a line that is nothing but names, `spans`
    where in the line each begins and ends.
    """

    evidence: Evidence = Evidence.NONE
    fields: tuple[Field, ...] = ()
    step: int | None = None
    total_steps: int | None = None
    epoch: int | None = None
    total_epochs: int | None = None
    rank: int | None = None
    bar: str | None = None
    row: tuple[Cell, ...] = ()
    head: tuple[str, ...] = field(default=())
    training: bool = True  # False where it speaks of evaluation or of something beside training
    spans: tuple[tuple[int, int], ...] = ()
    step_unit: str = ""  # "step:1K" counts thousands


SILENT = Plan()
