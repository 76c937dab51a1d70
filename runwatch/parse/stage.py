"""Blocks of bytes matched against templates, by several threads where there are several."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import pairwise

import numpy as np

from runwatch.kernels import layout, native
from runwatch.parse.program import Addresses, Program

BLOCK = 1 << 20  # bytes that are matched at a time
_ROOM = 1 << 14  # texts of a block; a block of shorter texts is matched in several goes
_VALUES = 8 * _ROOM + 2 * layout.MAX_SLOTS


class Stage:
    """The texts of one block: what `match` wrote down of them."""

    def __init__(self) -> None:
        self.texts = np.empty((_ROOM, layout.STAGED_WIDTH), np.int64)
        self._values = np.empty(_VALUES)
        self._nexts = np.empty((0, layout.NEXTS), np.int64)
        self.given = np.zeros(layout.M_WIDTH, np.int64)
        self.given[layout.M_LAST] = -1
        self._addresses = Addresses(self.given)
        self.address = int(self.given.ctypes.data)
        self.end = 0  # the address behind the last text
        self._known = -1  # templates, when the kernel was told last

    def aim(self, program: Program) -> None:
        """Tell the kernel where the tables are; they move when they grow."""
        if self._known == program.templates.used:
            return
        self._known = program.templates.used
        if len(self._nexts) < len(program.templates.rows):
            nexts = np.full((len(program.templates.rows), layout.NEXTS), -1, np.int64)
            nexts[: len(self._nexts)] = self._nexts
            self._nexts = nexts
        self._addresses.tell(
            program.templates.rows, program.ops.rows, program.blocks.rows, program.forms.rows,
            program.exact.rows, self._nexts, self.texts, self._values,
        )  # fmt: skip
        self.given[layout.M_FORM_MASK] = program.forms.mask
        self.given[layout.M_EXACT_MASK] = program.exact.mask
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


class Crew:
    """Stages and the threads that fill them ahead of the one that goes through them."""

    def __init__(self, program: Program, threads: int) -> None:
        self._program = program
        self._stages = [Stage()]
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._tasks: list[Future[Stage]] = []

    def staged(self, at: int, limit: int) -> Iterator[Stage]:
        """The blocks between two addresses one after the other; each is valid until the next."""
        blocks = _blocks(at, limit) if self._threads > 1 else [(at, limit)]
        if len(blocks) == 1:
            yield from self._alone(at, limit, limit)
            return
        while len(self._stages) < len(blocks):
            self._stages.append(Stage())
        for stage in self._stages:
            stage.aim(self._program)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads - 1, "runwatch-match")
        self._tasks = [
            self._pool.submit(stage.match, *block, limit)
            for stage, block in zip(self._stages, blocks, strict=False)
        ]
        for i, (_, end) in enumerate(blocks):
            self._help(blocks, i)
            yield self._stages[i]
            if self._stages[i].end < end:
                yield from self._alone(self._stages[i].end, end, limit)
        self._tasks = []

    def settle(self) -> None:
        """Let no thread look at the tables until the next block is wanted."""
        if self._tasks:
            for task in self._tasks:
                task.cancel()
            wait(self._tasks)

    def _help(self, blocks: list[tuple[int, int]], i: int) -> None:
        """See that a block is matched; while another thread is at it, match those behind it."""
        for j in range(i, len(blocks)):
            if self._tasks[i].done() and not self._tasks[i].cancelled():
                return
            if self._tasks[j].cancelled() or self._tasks[j].cancel():
                self._stages[j].aim(self._program)
                done: Future[Stage] = Future()
                done.set_result(self._stages[j].match(*blocks[j], blocks[-1][1]))
                self._tasks[j] = done
        self._tasks[i].result()

    def _alone(self, at: int, limit: int, end: int) -> Iterator[Stage]:
        spare = Stage() if len(self._stages) > 1 else self._stages[0]
        while at < limit:
            spare.aim(self._program)
            yield spare.match(at, min(limit, at + BLOCK), end)
            at = spare.end


def _blocks(at: int, limit: int) -> list[tuple[int, int]]:
    """A span cut into blocks, between texts."""
    edges = [at]
    while limit - edges[-1] > BLOCK + BLOCK // 2:
        edge = int(native.text_end(edges[-1] + BLOCK, limit)) + 1
        if edge >= limit:
            break
        edges.append(edge)
    return list(pairwise([*edges, limit]))
