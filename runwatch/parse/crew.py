"""Blocks matched by several threads, ahead of the one that goes through them."""

import threading
import weakref
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from queue import SimpleQueue

from runwatch.kernels import native
from runwatch.parse import stage
from runwatch.parse.program import Program
from runwatch.parse.stage import Stage

Blocks = list[tuple[int, int]]


class Crew:
    """Stages and the threads that fill them. What a thread costs a block is some microseconds: it
    takes the next one that is free, and a lock tells that it is done."""

    def __init__(self, program: Program, threads: int) -> None:
        self._program = program
        self._stages = [Stage()]
        self._threads = threads
        self._spans: SimpleQueue[_Span | None] | None = None
        self._span: _Span | None = None

    def staged(self, data: object, at: int, limit: int) -> Iterator[Stage]:
        """The blocks between two addresses, which lie in `data`, one after the other; each is valid
        until the next."""
        blocks = _blocks(at, limit) if self._threads > 1 else [(at, limit)]
        if len(blocks) == 1:
            yield from self._alone(at, limit, limit)
            return
        while len(self._stages) < len(blocks):
            self._stages.append(Stage())
        for each in self._stages:
            each.aim(self._program)
        span = self._span = _Span(data, blocks, self._stages)
        spans = self._spans or self._begin()
        for _ in range(1, self._threads):
            spans.put(span)
        for i, (_, end) in enumerate(blocks):
            filled = span.matched(i, self._program)
            yield filled
            if filled.end < end:
                yield from self._alone(filled.end, end, limit)
        self._span = None

    def settle(self) -> None:
        """Let no thread look at the tables until the next block is wanted."""
        if self._span is not None:
            self._span.withdraw()

    def _begin(self) -> "SimpleQueue[_Span | None]":
        """Start the threads, which end when nobody has the crew any more."""
        spans = self._spans = SimpleQueue()
        for _ in range(1, self._threads):
            threading.Thread(
                target=_work, args=(spans,), name="runwatch-match", daemon=True
            ).start()
            weakref.finalize(self, spans.put, None).atexit = False
        return spans

    def _alone(self, at: int, limit: int, end: int) -> Iterator[Stage]:
        spare = Stage() if len(self._stages) > 1 else self._stages[0]
        while at < limit:
            spare.aim(self._program)
            yield spare.match(at, min(limit, at + stage.BLOCK), end)
            at = spare.end


class _Span:
    """Blocks to be matched. Whoever takes one out of `free` matches it, and then gives its lock
    back. The bytes stay as long as a thread may be at them."""

    def __init__(self, data: object, blocks: Blocks, stages: list[Stage]) -> None:
        self._data, self._blocks, self._stages = data, blocks, stages
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

    def matched(self, i: int, program: Program) -> Stage:
        """A block, once it is matched; while another thread is at it, those behind it are."""
        if i in self._withdrawn:
            self._withdrawn.remove(i)
            self._stages[i].aim(program)
            self._match(i)
        while self._locks[i].locked() and self.match_next():
            pass
        self._wait(i)
        return self._stages[i]

    def withdraw(self) -> None:
        """Let nobody begin another block, and wait for those that are at one."""
        while (i := self._taken()) is not None:
            self._withdrawn.add(i)
        for i in range(len(self._blocks)):
            if i not in self._withdrawn:
                self._wait(i)

    def _taken(self) -> int | None:
        try:
            return self._free.popleft()
        except IndexError:
            return None

    def _match(self, i: int) -> None:
        try:
            self._stages[i].match(*self._blocks[i], self._blocks[-1][1])
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
    while limit - edges[-1] > stage.BLOCK + stage.BLOCK // 2:
        edge = int(native.text_end(edges[-1] + stage.BLOCK, limit)) + 1
        if edge >= limit:
            break
        edges.append(edge)
    return list(pairwise([*edges, limit]))
