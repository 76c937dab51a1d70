"""Blocks matched by several threads, ahead of the one that goes through them."""

import threading
import weakref
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from queue import SimpleQueue

import numpy as np

from runwatch.kernels import native
from runwatch.parse.program import Program
from runwatch.parse.stage import Stage

BLOCK = 1 << 20  # bytes that are matched at a time
Blocks = list[tuple[int, int]]


class Crew:
    """Stages and the threads that fill them. What a thread costs a block is some microseconds: it
    takes the next one that is free, and a lock tells that it is done."""

    def __init__(self, program: Program, threads: int) -> None:
        self._program = program
        self._threads = threads
        self._spare = Stage()
        self._free: list[Stage] = []
        self._queue: SimpleQueue[_Span | None] | None = None
        self._spans: list[_Span] = []  # that is gone through, and that comes
        self._coming: memoryview | None = None

    def expect(self, coming: memoryview | None) -> None:
        """Know which bytes come behind those that are wanted next: they are begun meanwhile."""
        self._coming = coming

    def staged(self, data: object, at: int, limit: int) -> Iterator[Stage]:
        """The blocks between two addresses, which lie in `data`, one after the other; each is valid
        until the next."""
        blocks = _blocks(at, limit) if self._threads > 1 else [(at, limit)]
        if len(blocks) == 1:
            yield from self._alone(at, limit, limit)
            return
        if not (self._spans and self._spans[0].blocks == blocks):
            self.settle()  # what was expected did not come
            self._spans = [self._begun(data, blocks)]
        span = self._spans[0]
        self._begin_next()
        for i, (_, end) in enumerate(blocks):
            stage = span.matched(i, self._program, self._spans[1:])
            yield stage
            if stage.end < end:
                yield from self._alone(stage.end, end, limit)
        del self._spans[0]
        self._free += span.stages

    def settle(self) -> None:
        """Let no thread look at the tables until the next block is wanted."""
        for span in self._spans:
            span.withdraw()

    def _begin_next(self) -> None:
        if self._coming:
            data = np.frombuffer(self._coming, np.uint8)
            at = int(data.ctypes.data)
            blocks = _blocks(at, at + len(data))
            if len(blocks) > 1:
                self._spans.append(self._begun(data, blocks))
        self._coming = None

    def _begun(self, data: object, blocks: Blocks) -> "_Span":
        """Blocks, and all threads at work on them."""
        stages = [self._free.pop() if self._free else Stage() for _ in blocks]
        for stage in stages:
            stage.aim(self._program)
        span = _Span(data, blocks, stages)
        queue = self._queue or self._hired()
        for _ in range(1, self._threads):
            queue.put(span)
        return span

    def _hired(self) -> "SimpleQueue[_Span | None]":
        """Start the threads, which end when nobody has the crew any more."""
        queue = self._queue = SimpleQueue()
        for _ in range(1, self._threads):
            threading.Thread(
                target=_work, args=(queue,), name="runwatch-match", daemon=True
            ).start()
            weakref.finalize(self, queue.put, None).atexit = False
        return queue

    def _alone(self, at: int, limit: int, end: int) -> Iterator[Stage]:
        while at < limit:
            self._spare.aim(self._program)
            yield self._spare.match(at, min(limit, at + BLOCK), end)
            at = self._spare.end


class _Span:
    """Blocks to be matched. Whoever takes one out of `free` matches it, and then gives its lock
    back. The bytes stay as long as a thread may be at them."""

    def __init__(self, data: object, blocks: Blocks, stages: list[Stage]) -> None:
        self.blocks, self.stages = blocks, stages
        self._data = data
        self._free = deque(range(len(blocks)))
        self._withdrawn: set[int] = set()
        self._locks = [threading.Lock() for _ in blocks]
        for lock in self._locks:
            lock.acquire()
        self._error: BaseException | None = None

    def match_next(self) -> bool:
        """Match the next block that nobody took; False where there is none."""
        i = self._taken()
        if i is None:
            return False
        self._match(i)
        return True

    def matched(self, i: int, program: Program, behind: "list[_Span]") -> Stage:
        """A block, once it is matched; while another thread is at it, those behind it are."""
        if i in self._withdrawn:
            self._withdrawn.remove(i)
            self.stages[i].aim(program)
            self._match(i)
        while self._locks[i].locked() and any(s.match_next() for s in (self, *behind)):
            pass
        self._wait(i)
        return self.stages[i]

    def withdraw(self) -> None:
        """Let nobody begin another block, and wait for those that are at one."""
        while (i := self._taken()) is not None:
            self._withdrawn.add(i)
        for i in range(len(self.blocks)):
            if i not in self._withdrawn:
                self._wait(i)

    def _taken(self) -> int | None:
        try:
            return self._free.popleft()
        except IndexError:
            return None

    def _match(self, i: int) -> None:
        try:
            self.stages[i].match(*self.blocks[i], self.blocks[-1][1])
        except BaseException as error:  # it is raised by the one who waits
            self._error = error
        finally:
            self._locks[i].release()

    def _wait(self, i: int) -> None:
        with self._locks[i]:
            pass
        if self._error is not None:
            raise self._error


def _work(spans: "SimpleQueue[_Span | None]") -> None:
    """Match blocks of one span after the other, until there is no more."""
    while (span := spans.get()) is not None:
        while span.match_next():
            pass
        del span  # and its bytes


def _blocks(at: int, limit: int) -> Blocks:
    """A span cut into blocks, between texts."""
    edges = [at]
    while limit - edges[-1] > BLOCK + BLOCK // 2:
        edge = int(native.text_end(edges[-1] + BLOCK, limit)) + 1
        if edge >= limit:
            break
        edges.append(edge)
    return list(pairwise([*edges, limit]))
