"""Templates laid out in arrays, as the replay kernel wants them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from runwatch.kernels import replay as kernel
from runwatch.kernels.memory import PAD
from runwatch.parse.template import Blanks, Filling, Moment, Part, Slot, Template

_BYTE = 0xFF
_HALF = 0xF0  # the upper half of a digit's byte


class Table:
    """Rows in an array that grows by doubling."""

    def __init__(self, width: int, kind: type) -> None:
        self.rows: npt.NDArray[Any] = np.zeros((64, width), kind)
        self.used = 0

    def add(self, *cells: Any) -> int:
        """Append a row; its index."""
        if self.used == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        self.rows[self.used] = cells
        self.used += 1
        return self.used - 1


class Program:
    """All templates of a run; unless `timed`, stamps are only digits."""

    def __init__(self, *, timed: bool) -> None:
        self._timed = timed
        self.templates = Table(kernel.WIDTH, np.int64)
        self.ops = Table(kernel.OP_WIDTH, np.int64)
        self.words = Table(kernel.WORD_WIDTH, np.uint64)
        self.points = Table(kernel.POINT_WIDTH, np.int64)
        self.constants = Table(1, np.float64)
        self.links = Table(2, np.int64)
        self.buckets = np.full(kernel.BUCKETS, -1, np.int64)
        self._kinds: dict[str, int] = {}
        self._known_links: set[tuple[int, int]] = set()

    @property
    def kinds(self) -> int:
        """How many kinds of records there are, by their first metric."""
        return len(self._kinds)

    def kind(self, metric: str) -> int | None:
        """The number of a kind."""
        return self._kinds.get(metric)

    def all_kinds(self) -> list[tuple[str, int]]:
        """Every kind by its first metric."""
        return list(self._kinds.items())

    def add(
        self, template: Template, line: bytes, point: Callable[[str, str, bool], tuple[int, ...]]
    ) -> int:
        """Lay a template out; its number. `point` gives a point's tally, metric, unit, quantity."""
        said = template.outcome
        first_op = self.ops.used
        for part in template.parts:
            self._part(part)
        first_point = self.points.used
        for (metric, unit), slot, value in zip(
            said.form, template.values, said.values, strict=True
        ):
            self.points.add(-1 if slot is None else slot, *point(metric, unit, said.training))
            self.constants.add(value)
        kind = self._kinds.setdefault(said.form[0][0], len(self._kinds)) if said.form else 0
        index = self.templates.add(
            first_op, self.ops.used, first_point, self.points.used,
            *(-1 if slot is None else slot for slot in (
                template.step, template.total_steps, template.epoch, template.total_epochs,
                template.rank,
            )),
            template.timed, said.training, kind, said.deep, said.near, -1,
            said.open if template.opens else -1, template.closed,
            any(slot is not None for slot in (
                template.step, template.total_steps, template.epoch, template.total_epochs,
            )),
            said.bar,
        )  # fmt: skip
        self.link(index, line)
        return index

    def link(self, index: int, line: bytes) -> bool:
        """Let lines that begin like this one find the template; False where they do already."""
        data = np.zeros(len(line[:8]) + PAD, np.uint8)
        data[: len(line[:8])] = np.frombuffer(line[:8], np.uint8)
        if len(line) < 8:
            data[len(line)] = 10
        bucket = int(kernel.key_at(np.int64(data.ctypes.data)))
        if (index, bucket) in self._known_links:
            return False
        self._known_links.add((index, bucket))
        self.buckets[bucket] = self.links.add(index, self.buckets[bucket])
        return True

    def _part(self, part: Part) -> None:
        if isinstance(part, Slot):
            slot = kernel.NO_SLOT if part.index is None else part.index
            self.ops.add(kernel.NUMBER, slot, 0, 0)
        elif isinstance(part, Blanks):
            self.ops.add(kernel.BLANKS, 0, 0, 0)
        elif isinstance(part, Filling):
            self.ops.add(kernel.UNTIL, 0, 0, 0)
        elif isinstance(part, Moment) and self._timed:
            self.ops.add(kernel.STAMP, part.fraction, part.offset, len(part.text))
        else:
            first = self.words.used
            for at in range(0, len(part.text), 8):
                self.words.add(*_word(part.text[at : at + 8], part.free[at : at + 8]))
            kind = kernel.MASKED if any(part.free) else kernel.LITERAL
            self.ops.add(kind, first, self.words.used - first, len(part.text))


def _word(text: bytes, free: bytes) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Eight bytes as (mask, what must stand under it, where any digit does)."""
    mask = expected = digits = 0
    for i, (byte, any_digit) in enumerate(zip(text, free, strict=True)):
        shift = 8 * i
        if any_digit:
            mask |= _HALF << shift
            expected |= 0x30 << shift
            digits |= _BYTE << shift
        else:
            mask |= _BYTE << shift
            expected |= byte << shift
    return np.uint64(mask), np.uint64(expected), np.uint64(digits)
