"""Bytes to records: lines are cut, and read by the readable path or replayed by a compiled one."""

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.parse.cut import Cut, body
from runwatch.parse.knowledge import Knowledge
from runwatch.parse.reader import Reader
from runwatch.records import Batch
from runwatch.tally import Tally

if TYPE_CHECKING:
    from runwatch.parse.replay import Replay

# Bytes that take as long to read as the compiled path takes to load, and that many read so slowly
# that it is time to compile it; what comes in small pieces, as from a pipe, adds up.
_WORTH_LOADING, _WORTH_COMPILING = 1 << 17, 1 << 20
_MOST_THREADS = 8
# Bytes that are read, and judged, in about a tenth of a second: by the readable path, by a compiled
# one, and where the numbers are judged by compiled code, too.
_MOMENTS = 1 << 15, 1 << 20, 1 << 23


class Parser(Reader):
    """Reads the streams of one run, as a `Reader` does their lines. `replay` says whether repeating
    lines go through a compiled path, which gives the same and pays for large inputs; None lets the
    size decide; there it may use several `threads`, as many as there are cores where it is None,
    and `remember` what was learned of lines in earlier runs."""

    def __init__(
        self,
        *,
        watchwords: Iterable[str] = (),
        year: int = 1970,
        knowledge: Knowledge | None = None,
        tally: Tally | None = None,
        replay: bool | None = None,
        notes: bool = True,
        threads: int | None = None,
        remember: bool = False,
    ) -> None:
        super().__init__(
            watchwords=watchwords, year=year, knowledge=knowledge, tally=tally, notes=notes
        )
        self._cuts: dict[str, Cut] = {}
        self._fed = 0  # bytes
        self._threads = threads
        self._may_replay, self._remembers = replay, remember
        self._replay: Replay | None = None

    def feed(self, chunk: Chunk, following: Chunk | None = None) -> Batch:
        """Read the next bytes of a stream; an unfinished last line waits for the rest. Where it is
        known which chunk is fed after it, of any stream, that one is begun meanwhile."""
        cut = self._cuts.setdefault(chunk.stream.name, Cut(offset=chunk.offset))
        before = cut.lines
        self.account.bytes += len(chunk.data)
        self._fed += len(chunk.data)
        if self._is_worth_replaying():
            chunk = self._replayed(cut, chunk, following)
        for line, text in cut.feed(chunk):
            self._line(chunk.stream, line, text)
        self.account.lines += cut.lines - before
        return self._batch(chunk.stream, before + 1, cut.lines)

    def finish(self, stream: Stream) -> Batch:
        """Give up the unfinished last line and the open table of a stream at its true end."""
        cut = self._cuts.setdefault(stream.name, Cut())
        before = cut.lines
        for line, text in cut.give_up():
            self._line(stream, line, text)
        if self._replay is not None:
            self._replay.settle_all()
        for rank in sorted(
            self.writers.ranks(stream.name), key=lambda rank: -1 if rank is None else rank
        ):
            self._close(stream, rank, self.writers.of(stream.name, rank))
        self.account.lines += cut.lines - before
        return replace(self._batch(stream, before + 1, cut.lines), given_up=True)

    def cursor(self, stream: Stream) -> Cursor:
        """Where to go on in a stream after everything fed so far."""
        return self._cuts[stream.name].cursor

    def state(self) -> dict[str, Any]:
        """All that the next lines depend on, and the account, as plain JSON values. Unfinished
        texts are read again, so their bytes do not count yet."""
        if self._replay is not None:
            self._replay.settle_all()
        ledger = self.ledger.state()
        ledger["account"]["bytes"] -= sum(cut.length for cut in self._cuts.values())
        return {
            "ledger": ledger,
            "cuts": {name: cut.state() for name, cut in self._cuts.items()},
            **self.writers.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave; the streams go on at their cursors."""
        self.ledger.restore(state["ledger"])
        self._cuts = {name: Cut(**cut) for name, cut in state["cuts"].items()}
        self.writers.restore(state)

    def _batch(self, stream: Stream, first: int, last: int) -> Batch:
        return self.ledger.batch(stream, first, last, self.writers.places(stream.name))

    # Between the readable path and the compiled one

    def _is_worth_replaying(self) -> bool:
        size = self._fed
        if self._replay is not None or self._may_replay is False:
            return self._replay is not None
        if self._may_replay is None and size < _WORTH_LOADING:
            return False
        from runwatch.kernels import native

        if self._may_replay is None and size < _WORTH_COMPILING and not native.parsing.is_kept:
            return False
        return native.parsing.works()

    def _replayed(self, cut: Cut, chunk: Chunk, following: Chunk | None) -> Chunk:
        """Replay the finished lines of a chunk; what is left of it."""
        from runwatch.kernels.layout import PAD
        from runwatch.parse.replay import Replay

        whole, rest = cut.whole(chunk, PAD)
        if whole is not None:
            if self._replay is None:
                self._replay = Replay(self, self._threads or _cores(), remember=self._remembers)
                self.writers.settle = self._replay.settle
            coming = None if following is None else body(following.data, PAD)
            cut.lines = self._replay.read(chunk.stream, cut.lines + 1, whole, coming) - 1
        return rest


def moment() -> int:
    """How many bytes are read in one go by who has others to serve: more by compiled code."""
    from runwatch.kernels import native

    return _MOMENTS[native.parsing.is_loaded and 1 + native.judging.is_loaded]


def _cores() -> int:
    """How many threads are worth having here."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        cores = os.cpu_count() or 1
    return min(cores, _MOST_THREADS)
