"""Climbs of the medians of blocks, and levels that are absurd from the start."""

from typing import Any

from runwatch.kernels.field import REPEATED, Field, counts, follows, numbers, passed
from runwatch.kernels.rolling import clear, middle, order, put
from runwatch.kernels.run import DONE, over

BLOCK = 20  # steps in a block; blocks are compared by their medians
LASTING = 5  # blocks in a row that must stand high, in a long run a twentieth of all blocks
SHARE = 0.2  # of all that was learned, that must be lost
CLEAR = 3.0  # spreads within a block by which it must stand higher
SUDDEN = 5.0  # spreads from one block to the next: a jump, which `spike` judges
ABSURD = 1e6  # a loss above this, late in a run and not falling, is no loss of a healthy run
LATE = 1000  # the step from which a run is late
OVER = 2  # a climb that lasted has ended; it stands in the fields `climb_*`

FIELDS = (
    Field("segment"),
    *REPEATED,
    *numbers("start_n", "block_n", "block_line", "block_step", "block_time"),
    Field("start", 0.0, BLOCK),
    Field("block", 0.0, BLOCK, count="block_n"),
    *numbers("blocks", "sudden"),
    *numbers("began", "before", "best", "best_spread", start=0.0),
    *numbers("climbing", "climb_line", "climb_step", "climb_time", "climb_blocks"),
    *numbers("climb_sudden", "climb_last_line"),
    *numbers("climb_best", "climb_now", "climb_share", start=0.0),
    *numbers("judged", "absurd", "absurd_line", "absurd_step", "absurd_time"),
    *numbers("absurd_count", "absurd_last_line"),
    Field("absurd_value", 0.0),
)


def lasts(s: Any) -> bool:
    """Whether the climb is long enough to be told, and no jump."""
    long = s.climb_blocks >= max(LASTING, s.blocks // 20)
    return bool(s.climbing == 1 and long and s.climb_sudden == 0)


def stand(s: Any, value: float, line: int, step: int, time: int) -> None:
    """Judge the level of a segment that begins late."""
    if s.judged == 0:
        s.judged = 1
        if step >= LATE and value > ABSURD:
            s.absurd = 1
            s.absurd_line = line
            s.absurd_step = step
            s.absurd_time = time
            s.absurd_value = value
            s.absurd_count = 0
    if s.absurd == 1:
        s.absurd_count += 1
        s.absurd_last_line = line
        if value < min(ABSURD, 0.5 * s.absurd_value):
            s.absurd = 0


def block_ends(s: Any, line: int) -> int:
    """Judge a whole block, which stands in order of size; the code of what happened."""
    block, best = s.block, s.best
    median = block[BLOCK // 2]
    width = (block[3 * BLOCK // 4] - block[BLOCK // 4]) / 1.349
    spread = max(width, 1e-3 * abs(median), 1e-9)
    jump = median - s.before
    s.before = median
    s.blocks += 1
    if s.blocks == 1:
        s.began = middle(s.start, BLOCK)
    if s.blocks == 1 or median < best:
        best = median
        s.best = median
        s.best_spread = spread
    learned = s.began - best
    gone = median - best
    high = learned > 5 * s.best_spread
    high = high and gone > max(SHARE * learned, CLEAR * max(spread, s.best_spread))
    if s.blocks > 1 and jump > SUDDEN * s.best_spread:
        s.sudden = 1
    elif gone <= CLEAR * s.best_spread:
        s.sudden = 0
    if not high:
        over = lasts(s)
        s.climbing = 0
        return OVER if over else DONE
    if s.climbing == 0:
        s.climbing = 1
        s.climb_line = s.block_line
        s.climb_step = s.block_step
        s.climb_time = s.block_time
        s.climb_best = best
        s.climb_blocks = 0
        s.climb_sudden = s.sudden
    s.climb_blocks += 1
    s.climb_now = median
    s.climb_share = gone / learned
    s.climb_last_line = line
    return DONE


def climb(s: Any, value: float, line: int, step: int, time: int) -> int:
    """One more finite value of a series; the code of what happened."""
    if s.start_n < BLOCK:
        s.start[s.start_n] = value
        s.start_n += 1
    stand(s, value, line, step, time)
    if s.block_n == 0:
        s.block_line = line
        s.block_step = step
        s.block_time = time
    put(s.block, s.block_n, value)
    s.block_n += 1
    if s.block_n < BLOCK:
        return DONE
    order(s.block, BLOCK)
    happened = block_ends(s, line)
    clear(s.block)
    s.block_n = 0
    return happened


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more row of a series; OVER where a climb that lasted has ended."""
    return climb(s, value, line, step, time) if counts(s, value, step, epoch) else DONE


def stretch(
    s: Any, line: Any, step: Any, epoch: Any, value: Any, time: Any, k: int, end: int, more: Any
) -> int:  # fmt: skip
    """`row` within a block of a loss whose level is no question."""
    if s.start_n < BLOCK or s.judged == 0 or s.absurd == 1 or s.block_n == 0:
        return k
    first, before, room = k, s.last_step, k + BLOCK - 1 - s.block_n
    while k < min(end, room) and follows(value[k], step[k], before):
        put(s.block, s.block_n + k - first, value[k])
        before = step[k]
        k += 1
    if k > first:
        s.block_n += k - first
        passed(s, step, epoch, k - 1)
    return k


follow = over(row, stretch, FIELDS)
