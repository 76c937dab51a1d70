"""Speeds against a baseline of their own: drops by half, and small ones that last."""

from typing import Any

from runwatch.kernels.field import Field, numbers
from runwatch.kernels.rolling import clear, insert, middle, order, put
from runwatch.kernels.run import DONE, over

WARM = 5  # first records: compilation, caches
FEW = 3  # records that make a first baseline where a log is short
BASELINE = 100  # records whose median is the baseline
HALF = 0.5
LOWER = 0.6  # below this a record counts towards a drop
BLOCK = 20  # records whose median is compared for small drops
SMALL = 0.04  # a lasting loss of this share is told
GRADUAL = 0.75  # of the baseline: a run that was down to this already did not drop
CLEAR = 4.0  # spreads of the block medians
RECENT = 10
FIRST = 10  # block medians that tell how far these spread
_OPENING = 4 * WARM

FIELDS = (
    Field("segment"),
    *numbers("rises", "falls", "known", "first_n", "opening_n", "settled_n", "recent_n"),
    *numbers("before", "level", start=0.0),
    Field("opening", 0.0, _OPENING, count="opening_n"),  # of the first records, the first, sorted
    Field("settled", 0.0, 2 * BASELINE + WARM, count="settled_n"),  # those after WARM, sorted
    Field("recent", 0.0, RECENT),
    *numbers("dropping", "drop_line", "drop_step", "drop_time", "drop_last_line", "drop_count"),
    *numbers("drop_sudden", "drop_below"),
    *numbers("drop_level", "drop_now", start=0.0),
    Field("drop_values", 0.0, BASELINE),
    *numbers("block_n", "block_line", "block_step", "block_time", "blocks_n"),
    Field("block", 0.0, BLOCK, count="block_n"),
    Field("blocks", 0.0, FIRST),
    *numbers("small", "small_line", "small_step", "small_time", "small_last_line"),
    *numbers("small_level", "small_now", start=0.0),
)


def baseline(s: Any) -> float:
    """The median of the first records, without those in which a run warms up."""
    if s.first_n > _OPENING:
        n = s.settled_n
        return float(0.5 * (s.settled[n // 2] + s.settled[(n - 1) // 2]))
    n = s.opening_n
    return float(0.5 * (s.opening[n // 2] + s.opening[(n - 1) // 2]))


def begin(s: Any, value: float) -> None:
    """Take in one of the first records."""
    if s.first_n < _OPENING:
        insert(s.opening, s.opening_n, value)
        s.opening_n += 1
    if s.first_n >= WARM:
        insert(s.settled, s.settled_n, value)
        s.settled_n += 1
    s.first_n += 1


def enough(first: int) -> int:
    """How many records make a drop, after so many that make the baseline."""
    return min(max(2, first // 2), 20)


def compare(s: Any, value: float, line: int, step: int, time: int, level: float) -> None:
    """Does this record belong to a drop?"""
    if value >= LOWER * level:
        if s.dropping == 1 and s.known == 0:
            kept = min(s.drop_count, BASELINE)
            for j in range(kept):
                begin(s, s.drop_values[(s.drop_count - kept + j) % BASELINE])
        s.dropping = 0
        s.recent[s.recent_n % RECENT] = value
        s.recent_n += 1
        return
    if s.dropping == 0:
        usual = middle(s.recent, min(s.recent_n, RECENT)) if s.recent_n > 0 else level
        s.dropping = 1
        s.drop_count = 0
        s.drop_level = level
        s.drop_below = 0
        s.drop_sudden = 1 if usual >= GRADUAL * level else 0
    if s.known == 0:
        s.drop_values[s.drop_count % BASELINE] = value
    s.drop_count += 1
    if s.drop_below == 0 and value < HALF * level:
        s.drop_below = 1
        s.drop_line = line
        s.drop_step = step
        s.drop_time = time
    s.drop_now = value
    s.drop_last_line = line


def scatter(s: Any) -> float:
    """How far the first block medians lie from the baseline."""
    away = [0.0] * FIRST
    for j in range(s.blocks_n):
        away[j] = abs(s.blocks[j] - s.level)
    return middle(away, s.blocks_n) * 1.4826


def block_ends(s: Any, line: int) -> None:
    """Judge the median of a whole block, which stands in order of size."""
    median = s.block[BLOCK // 2]
    if s.blocks_n < FIRST:
        s.blocks[s.blocks_n] = median
        s.blocks_n += 1
    if s.level - median < SMALL * s.level or s.level - median < CLEAR * scatter(s):
        s.small = 0
        return
    if s.small == 0:
        s.small_line = s.block_line
        s.small_step = s.block_step
        s.small_time = s.block_time
        s.small_level = s.level
    s.small += 1
    s.small_now = median
    s.small_last_line = line


def take(s: Any, value: float, line: int, step: int, time: int) -> None:
    """One more speed."""
    if s.known == 0:
        if s.first_n >= FEW:
            compare(s, value, line, step, time, baseline(s))
        if s.dropping == 0:
            begin(s, value)
        if s.first_n >= BASELINE + WARM:
            s.known = 1
            s.level = baseline(s)
        return
    compare(s, value, line, step, time, s.level)
    if s.block_n == 0:
        s.block_line = line
        s.block_step = step
        s.block_time = time
    put(s.block, s.block_n, value)
    s.block_n += 1
    if s.block_n == BLOCK:
        order(s.block, BLOCK)
        block_ends(s, line)
        clear(s.block)
        s.block_n = 0


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more row of a series; `more` is 1 where speed is told by the time of a step."""
    if value - value != 0.0 or not value > 0.0:
        return DONE
    speed = value
    if more == 1:
        if s.before > 0.0:
            s.rises += 1 if value > s.before else 0
            s.falls += 1 if value < s.before else 0
        s.before = value
        speed = 1.0 / value
    take(s, speed, line, step, time)
    return DONE


def stretch(
    s: Any, line: Any, step: Any, epoch: Any, value: Any, time: Any, k: int, end: int, more: Any
) -> int:  # fmt: skip
    """`row` within a block of a run at its usual speed."""
    if s.known == 0 or s.dropping == 1 or s.block_n == 0 or (more == 1 and not s.before > 0.0):
        return k
    first, room, least, before = k, k + BLOCK - 1 - s.block_n, LOWER * s.level, s.before
    while k < min(end, room) and value[k] - value[k] == 0.0 and value[k] > 0.0:
        speed = 1.0 / value[k] if more == 1 else value[k]
        if not speed >= least:
            break
        if more == 1:
            s.rises += 1 if value[k] > before else 0
            s.falls += 1 if value[k] < before else 0
            before = value[k]
        put(s.block, s.block_n + k - first, speed)
        k += 1
    for i in range(max(first, k - RECENT), k):
        speed = 1.0 / value[i] if more == 1 else value[i]
        s.recent[(s.recent_n + i - first) % RECENT] = speed
    s.before = before
    s.recent_n += k - first
    s.block_n += k - first
    return k


follow = over(row, stretch, FIELDS)
