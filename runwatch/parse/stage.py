"""A block of bytes matched against templates."""

import numpy as np

from runwatch.kernels import layout, native
from runwatch.parse.program import Addresses, Program

_ROOM = 1 << 14  # texts of a block; a block of shorter texts is matched in several goes
_SEEN_FIRST = 8  # texts of a template, before it has a stencil
_VALUES = 8 * _ROOM + 2 * layout.MAX_SLOTS


class Stage:
    """The texts of one block: what `match` wrote down of them."""

    def __init__(self) -> None:
        self.texts = np.empty((_ROOM, layout.STAGED_WIDTH), np.int64)
        self._values = np.empty(_VALUES)
        self._nexts = np.empty((0, layout.NEXTS), np.int64)
        self._kept = np.empty((0, layout.KEPT_WIDTH), np.int64)
        self._stencils = np.empty((layout.STENCILS, layout.Z_SIZE), np.uint8)
        self._stencils[:, :8] = 255  # of no template
        self.given = np.zeros(layout.M_WIDTH, np.int64)
        self.given[layout.M_LAST] = -1
        self._addresses = Addresses(self.given)
        self.address = int(self.given.ctypes.data)
        self.end = 0  # the address behind the last text
        self._moves = -1  # of the tables, when the kernel was told last

    def aim(self, program: Program) -> None:
        """Tell the kernel where the tables are; they move when they grow."""
        if self._moves == program.moves:
            return
        self._moves = program.moves
        if len(self._nexts) < len(program.templates.rows):
            nexts = np.full((len(program.templates.rows), layout.NEXTS), -1, np.int64)
            nexts[: len(self._nexts)] = self._nexts
            self._nexts = nexts
            kept = np.full((len(nexts), layout.KEPT_WIDTH), -1, np.int64)
            kept[:, 0] = -_SEEN_FIRST
            kept[: len(self._kept)] = self._kept
            self._kept = kept
        self._addresses.tell(
            program.templates.rows, program.ops.rows, program.blocks.rows, program.forms.rows,
            program.exact.rows, self._nexts, self.texts, self._values,
        )  # fmt: skip
        self.given[layout.M_FORM_MASK] = program.forms.mask
        self.given[layout.M_EXACT_MASK] = program.exact.mask
        self.given[layout.M_STENCILS] = self._stencils.ctypes.data
        self.given[layout.M_KEPT] = self._kept.ctypes.data
        self.given[layout.M_ROOM] = _ROOM

    def match(self, at: int, limit: int, end: int) -> "Stage":
        """Match the texts that begin between two addresses, as many as there is room for; the last
        of all ends at `end`."""
        self.given[layout.M_END] = end
        self.end = int(native.match(at, limit, self.address))
        return self

    @property
    def count(self) -> int:
        """How many texts were staged."""
        return int(self.given[layout.M_COUNT])

    @property
    def lines(self) -> int:
        """How many lines ended in the block."""
        return int(self.given[layout.M_LINES])
