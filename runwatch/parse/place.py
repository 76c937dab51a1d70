"""Where in the run one writer is: its step, epoch and segment, from the lines so far.

A *segment* is a stretch in which (epoch, step) only goes forward. A restart, or a second run in the
same file, opens a new one; a batch counter that starts over in a new epoch, or after reaching its
announced total, does not.
"""

import re
from dataclasses import asdict, field
from typing import Any

from runwatch.parse.plan import Evidence
from runwatch.parse.record import Record
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_MAX_KINDS = 256  # of records whose last place is remembered

_ASIDE = compiled(
    r"\b(?:map|download|loading|load|tokeniz|filter|generat|sampl|sav|shard|fetch|extract|cach|read|"
    r"valid|eval|test|infer|predict|checking|scanning|running|prepar|convert|build|upload|"
    r"resolv|unpack|collat|render|merg|quantiz|writ|copy|export|packing)", re.I
)  # fmt: skip


@mutable
class Place:
    """One writer's place. `marks` holds the last (epoch, step, total) of each kind of record."""

    step: int | None = None
    epoch: float | None = None
    total_steps: int | None = None
    total_epochs: int | None = None
    segment: int = 0
    began: bool = False  # a record with a step was seen
    marks: dict[str, list[float]] = field(default_factory=dict)
    bar_total: int = 0

    def follow(self, record: Record) -> None:
        """Move to where the record says it is."""
        if record.bar is not None and not self.counts(record):
            return
        if record.total_epochs is not None:
            self.total_epochs = record.total_epochs
        if record.epoch is not None:
            self.epoch = record.epoch
        if record.step is not None:
            if record.training and record.points and record.evidence is Evidence.CLEAR:
                self._segment(record)
            self.step = record.step
            self.began = True
            if record.total_steps is not None and record.training:
                self.total_steps = record.total_steps
        elif record.total_steps is not None:
            self.total_steps = record.total_steps

    def counts(self, record: Record) -> bool:
        """Whether a progress bar counts training steps rather than something beside training."""
        if record.bar is None or _ASIDE.search(record.bar):
            return False
        total = record.total_steps or 0
        if not record.points and total < self.bar_total and not record.bar:
            return False  # a nested bar: an evaluation inside the run
        self.bar_total = max(self.bar_total, total)
        return True

    def _segment(self, record: Record) -> None:
        """Open a new segment where this kind of record goes backwards."""
        assert record.step is not None
        kind = record.points[0].metric
        epoch = self.epoch if record.epoch is None else record.epoch
        here = [
            -1.0 if epoch is None else epoch,
            float(record.step),
            float(record.total_steps or 0),
        ]
        last = self.marks.get(kind)
        if last is not None and self._goes_back(record, here, last):
            self.segment += 1
            self.marks = {}
        self.marks[kind] = here
        if len(self.marks) > _MAX_KINDS:
            self.marks.pop(next(iter(self.marks)))

    @staticmethod
    def _goes_back(record: Record, here: list[float], last: list[float]) -> bool:
        """Whether a place lies before the last one and no new epoch or pass explains it.

        An epoch that the record itself does not name comes from another line, perhaps another
        writer's; it only ever excuses a smaller step.
        """
        if record.epoch is not None:
            return here[:2] < last[:2]
        if here[1] >= last[1] or here[0] > last[0]:
            return False
        finished = last[2] > 0 and last[1] >= last[2] - 1
        return not finished

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return asdict(self)
