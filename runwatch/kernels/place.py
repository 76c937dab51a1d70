"""Where a writer is, as a row: what `parse/place.py` does, and what that says of a line."""

import numpy as np

from runwatch.kernels.layout import (
    ASIDE,
    BAR,
    CLEAR,
    EPOCH,
    EVIDENCE,
    F_CHANGED,
    F_CHANGES,
    KIND,
    KNOWN,
    LONG,
    NESTED,
    P_BAR,
    P_BEGAN,
    P_CHANGED,
    P_EPOCH,
    P_EPOCHS,
    P_NEAR,
    P_SEGMENT,
    P_STEP,
    P_TOTAL,
    POINT_WIDTH,
    POINTS,
    POINTS_END,
    STEP,
    TOTAL,
    TOTAL_EPOCHS,
    TRAINING,
)
from runwatch.kernels.memory import double_at, put_double, put_whole, whole_at
from runwatch.kernels.points import value_of


def said(row, column, values):
    """The value that a template takes for a place, nan where it takes none."""
    slot = whole_at(row + 8 * column)
    return double_at(values + 8 * slot) if slot >= 0 else np.nan


def _goes_back(own, epoch, step, mark):
    last_epoch, last_step, total = double_at(mark), double_at(mark + 8), double_at(mark + 16)
    if own:
        return epoch < last_epoch or (epoch == last_epoch and step < last_step)
    if step >= last_step or epoch > last_epoch:
        return False
    return not (total > 0 and last_step >= total - 1)


def _is_a_step(row):
    """Whether a template says nothing of a place but the step, as most lines do."""
    beside = (
        whole_at(row + 8 * TOTAL) & whole_at(row + 8 * EPOCH) & whole_at(row + 8 * TOTAL_EPOCHS)
    )
    return beside < 0 <= whole_at(row + 8 * STEP) and whole_at(row + 8 * BAR) == 0


def moved(row, values, place, marks, kinds, cutting):
    """`Place.follow` on a row. False, and nothing done, where a counter is no count."""
    if not cutting and _is_a_step(row):
        step = np.trunc(said(row, STEP, values))
        if not abs(step) <= 9e15:
            return step != step
        put_double(place + 8 * P_STEP, step)
        put_double(place + 8 * P_BEGAN, 1.0)
        return True
    step, total = said(row, STEP, values), said(row, TOTAL, values)
    epoch, epochs = said(row, EPOCH, values), said(row, TOTAL_EPOCHS, values)
    step, total, epochs = np.trunc(step), np.trunc(total), np.trunc(epochs)
    if abs(step) > 9e15 or abs(total) > 9e15 or abs(epoch) > 9e15 or abs(epochs) > 9e15:
        return False
    bar = whole_at(row + 8 * BAR)
    if bar == ASIDE:
        return True
    if bar:
        counted, most = total if total == total else 0.0, double_at(place + 8 * P_BAR)
        if bar == NESTED and counted < most:
            return True
        put_double(place + 8 * P_BAR, max(counted, most))
    if epochs == epochs:
        put_double(place + 8 * P_EPOCHS, epochs)
    own = epoch == epoch
    if own:
        put_double(place + 8 * P_EPOCH, epoch)
    training = whole_at(row + 8 * TRAINING) != 0
    if step == step:
        sure = whole_at(row + 8 * EVIDENCE) == CLEAR
        if cutting and sure and training:
            here = double_at(place + 8 * P_EPOCH)
            if here != here:
                here = -1.0
            mark = marks + whole_at(row + 8 * KIND) * 24
            if double_at(mark) == double_at(mark) and _goes_back(own, here, step, mark):
                put_double(place + 8 * P_SEGMENT, double_at(place + 8 * P_SEGMENT) + 1)
                for cell in range(kinds * 3):
                    put_double(marks + 8 * cell, np.nan)
            put_double(mark, here)
            put_double(mark + 8, step)
            put_double(mark + 16, total if total == total else 0.0)
        put_double(place + 8 * P_STEP, step)
        put_double(place + 8 * P_BEGAN, 1.0)
        if total == total and training:
            put_double(place + 8 * P_TOTAL, total)
    elif total == total:
        put_double(place + 8 * P_TOTAL, total)
    return True


def all_count(row, values, points, constants):
    """Whether every point is the step itself: the line only counts."""
    step = np.trunc(said(row, STEP, values))
    for p in range(whole_at(row + 8 * POINTS), whole_at(row + 8 * POINTS_END)):
        point = points + 8 * POINT_WIDTH * p
        if value_of(point, values, constants + 8 * p) != step:
            return False
    return step == step


def is_beside(row, values, place):
    """`Writer._is_beside` for a template whose evidence is KNOWN or HELD."""
    near = double_at(place + 8 * P_NEAR)
    here = double_at(place + 8 * P_EPOCH)
    if near == 0 or (double_at(place + 8 * P_BEGAN) == 0 and here != here):
        return False
    if whole_at(row + 8 * EVIDENCE) == KNOWN:
        return True
    step, last = np.trunc(said(row, STEP, values)), double_at(place + 8 * P_STEP)
    onward = step == step and (last != last or step >= last)
    return near == 2 and onward and whole_at(row + 8 * LONG) != 0


def note_change(place, w, given):
    """Note that a writer's row is no longer what its objects say."""
    if double_at(place + 8 * P_CHANGED) == 0:
        put_double(place + 8 * P_CHANGED, 1.0)
        changes = whole_at(given + 8 * F_CHANGES)
        put_whole(whole_at(given + 8 * F_CHANGED) + 8 * changes, w)
        put_whole(given + 8 * F_CHANGES, changes + 1)
