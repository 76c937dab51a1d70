"""Forms that wait for their proof, on rows: what `parse/gate.py` does as long as there is none."""

import numpy as np

from runwatch.kernels.layout import (
    DIGEST,
    EPOCH,
    EVENT_WIDTH,
    EVIDENCE,
    F_EVENT,
    F_EVENT_VALUE,
    F_EVENT_VALUES,
    F_EVENTS,
    KNOWN,
    MAX_EVENT_VALUES,
    MAX_EVENTS,
    NEW,
    P_EPOCH,
    P_SEGMENT,
    P_STEP,
    POINT_WIDTH,
    POINTS,
    POINTS_END,
    REFUSED,
    REFUSED_NOW,
    STEP,
    TIME,
    UNKNOWN,
    WAITS,
)
from runwatch.kernels.memory import double_at, put_double, put_whole, whole_at
from runwatch.kernels.place import said
from runwatch.kernels.points import value_of

_DIGEST = np.uint64(DIGEST)
_PLACE = 3  # values of an event in front of those of its points: step, epoch, segment


def weighed(row, values, place, gate, points, constants, timed):
    """What becomes of a form without proof that comes once more. UNKNOWN where a proof may have
    come, and where only the clock, of which a row does not tell, says whether one has."""
    fate = np.int64(double_at(gate))
    step, epoch = np.trunc(said(row, STEP, values)), said(row, EPOCH, values)
    if step != step:
        step = double_at(place + 8 * P_STEP)
    if epoch != epoch:
        epoch = double_at(place + 8 * P_EPOCH)
    by_clock = whole_at(row + 8 * EVIDENCE) == KNOWN and step != step and epoch != epoch
    if fate == NEW:
        return np.int64(UNKNOWN if by_clock and not timed else NEW)
    if fate != WAITS or (by_clock and not (timed and whole_at(row + 8 * TIME) < 0)):
        return np.int64(UNKNOWN)
    last_step, last_epoch = double_at(gate + 8), double_at(gate + 16)
    stands_still = (step == last_step or (step != step and last_step != last_step)) and (
        epoch == last_epoch or (epoch != epoch and last_epoch != last_epoch)
    )
    if not stands_still:
        return np.int64(UNKNOWN)
    same = _digest(row, values, points, constants) == whole_at(gate + 24)
    return np.int64(WAITS if same else REFUSED_NOW)


def _digest(row, values, points, constants):
    """A number that is the same where all values of the points are; 0 and -0 are."""
    digest = np.uint64(0)
    for p in range(whole_at(row + 8 * POINTS), whole_at(row + 8 * POINTS_END)):
        slot = whole_at(points + 8 * POINT_WIDTH * p)
        at = values + 8 * slot if slot >= 0 else constants + 8 * p
        bits = whole_at(at) if double_at(at) != 0 else np.int64(0)
        digest = (digest ^ np.uint64(bits)) * _DIGEST
    return np.int64(digest)


def has_room(given, row):
    """Whether there is room to note what became of a form."""
    values = whole_at(given + 8 * F_EVENT_VALUE) + _PLACE
    values += whole_at(row + 8 * POINTS_END) - whole_at(row + 8 * POINTS)
    return whole_at(given + 8 * F_EVENTS) < MAX_EVENTS and values <= MAX_EVENT_VALUES


def note_fate(given, fate, t, row, w, line, values, place, gate, points, constants, step, epoch):
    """Write into its gate that a form waits from now on, or is refused, and note it for those who
    keep what waits."""
    events, used = whole_at(given + 8 * F_EVENTS), whole_at(given + 8 * F_EVENT_VALUE)
    event = whole_at(given + 8 * F_EVENT) + 8 * EVENT_WIDTH * events
    put_whole(given + 8 * F_EVENTS, events + 1)
    put_whole(event, w)
    put_whole(event + 8, t)
    put_whole(event + 32, np.int64(-1))
    if fate == REFUSED_NOW:
        put_double(gate, np.float64(REFUSED))
        return
    slot = whole_at(row + 8 * TIME)
    moment = np.int64(double_at(values + 8 * slot)) if slot >= 0 else np.int64(-1)
    put_whole(event + 16, line)
    put_whole(event + 24, moment)
    put_whole(event + 32, used)
    at = whole_at(given + 8 * F_EVENT_VALUES) + 8 * used
    put_double(at, step)
    put_double(at + 8, epoch)
    put_double(at + 16, double_at(place + 8 * P_SEGMENT))
    at += 8 * _PLACE
    waits = True
    for p in range(whole_at(row + 8 * POINTS), whole_at(row + 8 * POINTS_END)):
        value = value_of(points + 8 * POINT_WIDTH * p, values, constants + 8 * p)
        put_double(at, value)
        at += 8
        waits = waits and value == value  # not a number is never the same
    put_whole(given + 8 * F_EVENT_VALUE, (at - whole_at(given + 8 * F_EVENT_VALUES)) // 8)
    put_double(gate, np.float64(WAITS if waits else UNKNOWN))
    put_double(gate + 8, step)
    put_double(gate + 16, epoch)
    put_whole(gate + 24, _digest(row, values, points, constants))
