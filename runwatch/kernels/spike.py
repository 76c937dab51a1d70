"""Sudden rises of a series: opened by the CUSUM, held, and closed when over or settled."""

from typing import Any

from runwatch.kernels.field import (
    LAST,
    NOTHING,
    REPEATED,
    TAIL,
    Field,
    counts,
    follows,
    keep,
    keep_rows,
    look_back,
    numbers,
    passed,
)
from runwatch.kernels.rolling import (
    ALLOWANCE,
    BLOCK,
    LEAST,
    LIMIT,
    MEMORY,
    WINDOW,
    forget,
    level,
    middle,
    push,
    put,
)
from runwatch.kernels.run import DONE, over

RECENT = 5  # values whose median tells where the loss stands
HOLD = 20  # steps that a rise is given before it is named
STRONG = 3.0  # spreads up, from which a rise is told to begin
BACK = 3.0  # spreads above the level before, below which a rise is over
NOTABLE = 8.0  # spreads that a rise must reach to be told once it is over
MARKED = 10.0  # spreads above which a rise that stays is more than a shift
HUGE = 20.0  # spreads above which a rise by half of the level is no mere shift
ENDURED = 60  # steps that such a rise must stay
STEADY = 0.75  # of where a rise stood: below that it is coming down
SETTLED = 300  # steps after which a shifted level is the new level
START = 10  # first values, whose median is where the run began
RECOVERED, SHIFTED = 2, 3  # a notable rise has ended; it stands in the record
_RISING, _BACK, _NEW_LEVEL = 0, 1, 2

_PLACES = [
    f"{where}_{what}" for where in ("onset", "first", "at") for what in ("line", "step", "time")
]

FIELDS = (
    Field("segment"),
    *REPEATED,
    *LAST,
    *WINDOW,
    *numbers("total", "usual", "median", "width", "per_width", start=0.0),
    *numbers("judged", "seen", "longest", "running_up", "strong"),
    *numbers(*_PLACES),
    *numbers("start_n"),
    Field("start", 0.0, START),
    *numbers("rising", "count", "peak_at", "line", "after_n"),
    *numbers("level", "spread", "rise_usual", "began", "peak", "top", start=0.0),
    *numbers("marked", "mark", start=0.0),
    Field("recent", 0.0, RECENT),
    Field("after_at", 0, TAIL),
    Field("after_value", 0.0, TAIL),
)  # fmt: skip


def refresh(s: Any) -> None:
    """Make anew what is usual of the window."""
    s.median, s.width = level(s)
    s.per_width = 1.0 / s.width
    if s.n >= LEAST:
        fresh = BLOCK if s.blocks > 1 else 1
        s.judged += fresh
        s.usual += (s.width - s.usual) * fresh / min(s.judged, MEMORY)


def alarms(s: Any, value: float, line: int, step: int, time: int) -> bool:
    """Whether the run-up of the CUSUM is above LIMIT with this value, else it is taken in."""
    if s.n >= LEAST:
        z = (value - s.median) * s.per_width
        s.total += z - ALLOWANCE
        if s.total > 0.0:
            runs_up(s, z, line, step, time)
            if s.total > LIMIT:
                return True
        else:
            calm_again(s)
    if push(s, value):
        refresh(s)
    return False


def runs_up(s: Any, z: float, line: int, step: int, time: int) -> None:
    """Note where a run-up begins, and its first value that is far up."""
    if s.running_up == 0:
        s.running_up = 1
        s.onset_line = line
        s.onset_step = step
        s.onset_time = time
    if s.strong == 0 and z >= STRONG:
        s.strong = 1
        s.first_line = line
        s.first_step = step
        s.first_time = time


def rise(s: Any) -> None:
    """Open a rise: at its first value three spreads up, else where the run-up began."""
    s.level = s.median
    s.spread = s.width
    s.at_line = s.first_line if s.strong == 1 else s.onset_line
    s.at_step = s.first_step if s.strong == 1 else s.onset_step
    s.at_time = s.first_time if s.strong == 1 else s.onset_time
    s.rise_usual = min(s.spread, s.usual)
    s.began = middle(s.start, s.start_n)
    s.rising = 1
    s.count = 0
    s.peak = s.level
    s.top = s.level
    s.peak_at = 0
    s.after_n = 0
    s.marked = s.level
    s.mark = s.level
    look_back(s)
    calm_again(s)


def calm_again(s: Any) -> None:
    """Nothing has been run up."""
    s.total = 0.0
    s.running_up = 0
    s.strong = 0


def stands(s: Any) -> float:
    """Where a rise stands by now."""
    return middle(s.recent, min(s.count, RECENT))


def falls(s: Any) -> bool:
    """Whether a rise comes down, as a loss does that learns something new: by a quarter since it
    was half as long, or up to a quarter as long."""
    return bool(stands(s) - s.level < STEADY * (s.marked - s.level))


def lost(s: Any) -> bool:
    """Whether more than half of all that the run had learned is gone."""
    learned = s.began - s.level
    height = stands(s) - s.level
    return bool(learned > 5.0 * s.spread and height > 0.5 * learned and height > MARKED * s.spread)


def diverged(s: Any) -> bool:
    """Whether a rise is a disaster: all is lost, or it stays far up for a tenth of the run."""
    if s.count >= HOLD and lost(s) and not falls(s):
        return True
    height = stands(s) - s.level
    stays = height > 0.5 * (s.peak - s.level)
    if height > max(HUGE * s.spread, 0.5 * abs(s.level)):
        # Spikes of this size that heal have done so long before: 2.2 to 5.1 in 30 steps.
        return bool(stays and s.count >= max(ENDURED, 2 * s.peak_at, s.seen // 20))
    return bool(height > 2.0 * MARKED * s.spread and stays and s.count >= max(200, s.seen // 10))


def goes_on(s: Any, at: int, value: float, line: int) -> int:
    """One more value of a rise: whether it is over, is the new level, or lasts."""
    if s.count >= RECENT and (s.count & (s.count - 1)) == 0:
        s.marked = s.mark
        s.mark = stands(s)
    s.recent[s.count % RECENT] = value
    s.count += 1
    s.line = line
    if value > s.peak:
        s.peak = value
        if value > s.top + 0.1 * (s.top - s.level):  # not by noise on a level
            s.top = value
            s.peak_at = s.count
    if s.after_n < TAIL:
        s.after_at[s.after_n] = at
        s.after_value[s.after_n] = value
        s.after_n += 1
    if s.count >= RECENT and stands(s) < s.level + BACK * s.spread:
        return _BACK
    # Long there, not rising, not a disaster: what looked like a rise is the new level.
    long = s.count >= max(SETTLED, s.seen // 4) and s.peak_at < 2 * s.count // 3
    return _NEW_LEVEL if long and not diverged(s) else _RISING


def notable(s: Any, recovered: bool) -> bool:
    """Whether the rise, now over, is worth a word."""
    height = (s.peak - s.level) / s.rise_usual
    return bool(height >= NOTABLE or not (recovered or s.count < HOLD))


def take(s: Any, at: int, value: float, line: int, step: int, time: int) -> int:
    """One more finite value of a series; the code of what happened."""
    if s.start_n < START:
        s.start[s.start_n] = value
        s.start_n += 1
    if s.rising == 0 and alarms(s, value, line, step, time):
        rise(s)
    s.seen += 1
    happened = DONE
    if s.rising == 1:
        end = goes_on(s, at, value, line)
        if end != _RISING:
            s.rising = 0
            if notable(s, end == _BACK):
                happened = RECOVERED if end == _BACK else SHIFTED
            if end == _NEW_LEVEL:
                forget(s)
    keep(s, at, value)
    return happened


def row(
    s: Any, i: int, value: float, line: int, step: int, time: int, epoch: float, more: Any
) -> int:  # fmt: skip
    """One more row of a series; a code where a notable rise has ended."""
    if not counts(s, value, step, epoch):
        return DONE
    return take(s, line if step == NOTHING else step, value, line, step, time)


def stretch(
    s: Any, line: Any, step: Any, epoch: Any, value: Any, time: Any, k: int, end: int, more: Any
) -> int:  # fmt: skip
    """`row` for what neither opens a rise nor makes a block whole."""
    if s.rising == 1 or s.start_n < START or s.blocks == 0:
        return k
    first, before, room = k, s.last_step, k + BLOCK - 1 - s.late_n
    total, median, per_width = s.total, s.median, s.per_width
    while k < min(end, room) and follows(value[k], step[k], before):
        z = (value[k] - median) * per_width
        above = total + (z - ALLOWANCE)
        if above > LIMIT:
            break
        total = max(above, 0.0)
        if above > 0.0:
            runs_up(s, z, line[k], step[k], time[k])
        else:
            s.running_up = 0
            s.strong = 0
        put(s.late, s.late_n + k - first, value[k])
        before = step[k]
        k += 1
    if k > first:
        s.total = total
        s.late_n += k - first
        s.seen += k - first
        keep_rows(s, line, step, value, first, k)
        passed(s, step, epoch, k - 1)
    return k


follow = over(row, stretch, FIELDS)
