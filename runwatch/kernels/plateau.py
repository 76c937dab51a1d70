"""Values that stand still, and slopes that are lost in the noise of their own blocks."""

from typing import Any

from runwatch.kernels.field import REPEATED, Field, counts, follows, numbers, passed
from runwatch.kernels.rolling import clear, middle, order, put
from runwatch.kernels.run import DONE, over

BLOCK = 25  # steps whose median is taken; ever more medians are averaged as the run grows
WINDOW = 20  # blocks that are judged together: 500 steps, or 5 % of the run
MANY = 400  # blocks at which two become one
EVERY = 5  # blocks between two judgements
PAIRS = WINDOW * (WINDOW - 1) // 2
FLAT = 0.002  # of what was learned
STAYS = 4.0  # times the noise of the blocks: a level that moved less did not move
STILL = 0.002  # of the first level: a printed loss that moved less shows rounding

FIELDS = (
    Field("segment"),
    *REPEATED,
    Field("still", 0.0),
    *numbers("still_count", "still_line", "still_step", "still_time", "still_last_line"),
    *numbers("part_n", "medians", "size", "count", "window"),
    *numbers("block_line", "block_step", "block_time"),
    Field("part", 0.0, BLOCK, count="part_n"),
    *numbers("sum", "start", start=0.0),
    Field("blocks", 0.0, WINDOW),
    Field("lines", 0, WINDOW),
    Field("steps", 0, WINDOW),
    Field("times", 0, WINDOW),
    *numbers("flat", "flat_line", "flat_step", "flat_time", "flat_steps", "flat_last_line"),
    *numbers("flat_level", "flat_fall", "flat_noise", start=0.0),
    *numbers("moved", "unmoved", "unmoved_line", "unmoved_step", "unmoved_time", "unmoved_steps"),
    Field("unmoved_noise", 0.0),
)


def shift(s: Any, into: int, source: int) -> None:
    """Put the block at `source` to `into`."""
    s.blocks[into] = s.blocks[source]
    s.lines[into] = s.lines[source]
    s.steps[into] = s.steps[source]
    s.times[into] = s.times[source]


def halve(s: Any) -> None:
    """Make one block of two."""
    for j in range(WINDOW // 2):
        mean = 0.5 * (s.blocks[2 * j] + s.blocks[2 * j + 1])
        shift(s, j, 2 * j)
        s.blocks[j] = mean
    s.window = WINDOW // 2
    s.count //= 2
    s.size *= 2


def judge(s: Any, line: int) -> None:
    """Whether the Theil-Sen slope of the blocks is lost in their noise."""
    blocks = s.blocks
    slopes, rest = [0.0] * PAIRS, [0.0] * WINDOW
    n = 0
    for i in range(WINDOW):
        for j in range(i + 1, WINDOW):
            slopes[n] = (blocks[j] - blocks[i]) / (j - i)
            n += 1
    slope = middle(slopes, PAIRS)
    for i in range(WINDOW):
        rest[i] = blocks[i] - slope * i
    level = middle(rest, WINDOW)
    for i in range(WINDOW):
        rest[i] = abs(rest[i] - level)
    noise = 1.4826 * middle(rest, WINDOW)
    fall = -slope * WINDOW
    learned = abs(s.start - blocks[WINDOW - 1])
    stay(s, level, abs(fall), noise)
    if abs(fall) < noise and abs(fall) < FLAT * learned:
        if s.flat == 0:
            s.flat = 1
            s.flat_line = s.lines[0]
            s.flat_step = s.steps[0]
            s.flat_time = s.times[0]
            s.flat_level = level
        s.flat_fall = fall
        s.flat_noise = noise
        s.flat_steps = WINDOW * BLOCK * s.size
        s.flat_last_line = line
    elif abs(fall) > min(3 * noise, 0.01 * learned) or s.flat_level - level > noise:
        s.flat = 0  # what was called flat falls, or has sunk since, however slowly


def stay(s: Any, level: float, fall: float, noise: float) -> None:
    """Whether the series still stands where it began, in all that was seen of it.

    Its first block tells where it began; noise is that of the blocks, so that a loss whose level
    is lost in the noise of single steps still counts as moving.
    """
    if max(fall, abs(level - s.start)) > max(STAYS * noise, STILL * abs(s.start)):
        s.moved = 1
    s.unmoved = 1 - s.moved
    s.unmoved_steps = s.count * BLOCK * s.size
    s.unmoved_noise = noise


def block_ends(s: Any, mean: float, line: int) -> None:
    """Take in a whole block and judge now and then."""
    if s.count == 0:
        s.start = mean
        s.unmoved_line = s.block_line
        s.unmoved_step = s.block_step
        s.unmoved_time = s.block_time
    if s.window == WINDOW:
        for j in range(WINDOW - 1):
            shift(s, j, j + 1)
        s.window -= 1
    s.blocks[s.window] = mean
    s.lines[s.window] = s.block_line
    s.steps[s.window] = s.block_step
    s.times[s.window] = s.block_time
    s.window += 1
    s.count += 1
    if s.count == MANY:
        halve(s)
    if s.window == WINDOW and s.count % EVERY == 0:
        judge(s, line)


def stand(s: Any, value: float, line: int, step: int, time: int) -> None:
    """How long the last value has stood."""
    if s.still_count == 0 or value != s.still:
        s.still = value
        s.still_count = 0
        s.still_line = line
        s.still_step = step
        s.still_time = time
    s.still_count += 1
    s.still_last_line = line


def take(s: Any, value: float, line: int, step: int, time: int) -> None:
    """One more finite value of a series."""
    stand(s, value, line, step, time)
    if s.medians == 0 and s.part_n == 0:
        s.size = max(s.size, 1)
        s.block_line = line
        s.block_step = step
        s.block_time = time
        s.sum = 0.0
    put(s.part, s.part_n, value)
    s.part_n += 1
    if s.part_n == BLOCK:
        order(s.part, BLOCK)
        s.sum += s.part[BLOCK // 2]
        clear(s.part)
        s.part_n = 0
        s.medians += 1
        if s.medians == s.size:
            s.medians = 0
            block_ends(s, s.sum / s.size, line)


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more row of a series."""
    if counts(s, value, step, epoch):
        take(s, value, line, step, time)
    return DONE


def stretch(
    s: Any, line: Any, step: Any, epoch: Any, value: Any, time: Any, k: int, end: int, more: Any
) -> int:  # fmt: skip
    """`row` within a block."""
    if s.part_n == 0 or s.still_count == 0:
        return k
    first, before, room = k, s.last_step, k + BLOCK - 1 - s.part_n
    still, began = s.still, k - 1
    while k < min(end, room) and follows(value[k], step[k], before):
        if value[k] != still:
            still, began = value[k], k
        put(s.part, s.part_n + k - first, value[k])
        before = step[k]
        k += 1
    if k > first:
        if began >= first:
            s.still = still
            s.still_count = 0
            s.still_line = line[began]
            s.still_step = step[began]
            s.still_time = time[began]
        s.still_count += k - max(began, first)
        s.still_last_line = line[k - 1]
        s.part_n += k - first
        passed(s, step, epoch, k - 1)
    return k


follow = over(row, stretch, FIELDS)
