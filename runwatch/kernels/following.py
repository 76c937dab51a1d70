"""Matched lines followed in order: whose they are, where the run is, what counts and what does not.

This is what `parse/parser.py` and its `Writer` do, on rows of numbers: the readable path is the
definition. `follow` stops at the first line whose meaning depends on more than its template and the
row of its writer say; that one is read by the readable path.
"""

import numpy as np
from numba import njit

from runwatch.kernels.jit import PART
from runwatch.kernels.layout import (
    ASIDE,
    ASKED,
    BAR,
    CLEAR,
    CODE,
    CODE_LIMIT,
    CONTINUES,
    COUNTS,
    DEEP,
    DONE,
    EMPTY,
    EPOCH,
    EVIDENCE,
    F_BESIDE,
    F_BESIDES,
    F_BLANK,
    F_CHANGED,
    F_CHANGES,
    F_CONSTANTS,
    F_EXAMPLES,
    F_GATED,
    F_GATES,
    F_KEYS,
    F_KINDS,
    F_LINE,
    F_MADE,
    F_MARKED,
    F_MARKS,
    F_METRIC_LINE,
    F_METRIC_LINES,
    F_NOTES,
    F_OUT,
    F_OUT_VALUES,
    F_OWN,
    F_PLACES,
    F_POINTS,
    F_RANK,
    F_REACHED,
    F_ROOM,
    F_SCRATCH,
    F_SPEAKER,
    F_TALLIES,
    F_UNCLEAR,
    F_VALUE,
    F_WHY,
    F_WRITERS,
    FRAME,
    FULL,
    GOES_ON,
    HEAD,
    IN_CODE,
    INSIDE,
    KEY,
    KIND,
    KNOWN,
    LONG,
    M_BLOCKS,
    M_OPS,
    M_STAGED,
    M_TEMPLATES,
    M_VALUES,
    MANY,
    MAX_BESIDES,
    MAX_RANK,
    NEAR,
    NESTED,
    NEW_HEAD,
    NEWCOMER,
    NONE,
    OPEN,
    OUT_VALUES_WIDTH,
    OUT_WIDTH,
    P_BAR,
    P_BEGAN,
    P_CHANGED,
    P_CODE,
    P_EPOCH,
    P_EPOCHS,
    P_HEAD,
    P_NEAR,
    P_OPEN,
    P_SEGMENT,
    P_STEP,
    P_TOTAL,
    P_TRACE,
    P_WIDTH,
    PLACED,
    POINT_WIDTH,
    POINTS,
    POINTS_END,
    PROVEN,
    RANK,
    REFUSED,
    SHOWN_NOW,
    SIBLING,
    SOURCE,
    STAGED_WIDTH,
    STARTS,
    STEP,
    STRANGE,
    TALLY_WIDTH,
    TIME,
    TOTAL,
    TOTAL_EPOCHS,
    TRAINING,
    TRAITS,
    UNSEEN,
    UNSETTLED,
    VALUES,
    WIDTH,
)
from runwatch.kernels.matching import fitted, known
from runwatch.kernels.memory import double_at, put_double, put_whole, whole_at

_TRACED = 1  # in a traceback
_ENDING = 2  # behind its last line


@njit(**PART)
def _said(row, column, values):
    """The value that a template takes for a place, nan where it takes none."""
    slot = whole_at(row + 8 * column)
    return double_at(values + 8 * slot) if slot >= 0 else np.nan


@njit(**PART)
def _goes_back(own, epoch, step, mark):
    last_epoch, last_step, total = double_at(mark), double_at(mark + 8), double_at(mark + 16)
    if own:
        return epoch < last_epoch or (epoch == last_epoch and step < last_step)
    if step >= last_step or epoch > last_epoch:
        return False
    return not (total > 0 and last_step >= total - 1)


@njit(**PART)
def _moved(row, values, place, marks, kinds, cutting):
    """`Place.follow` on a row. False, and nothing done, where a counter is no count."""
    step, total = _said(row, STEP, values), _said(row, TOTAL, values)
    epoch, epochs = _said(row, EPOCH, values), _said(row, TOTAL_EPOCHS, values)
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


@njit(**PART)
def _count(tally, value):
    """Add a value to a row of `tally.Tally`."""
    if double_at(tally) == 0:
        put_double(tally + 16, value)
    put_double(tally, double_at(tally) + 1)
    put_double(tally + 24, value)
    if value == value:
        put_double(tally + 32, min(double_at(tally + 32), value))
        put_double(tally + 40, max(double_at(tally + 40), value))
        put_double(tally + 48, double_at(tally + 48) + value)
    else:
        put_double(tally + 8, double_at(tally + 8) + 1)


@njit(**PART)
def _writer(row, values, writers, own, speaker, places, blank):
    """Whose text it is: as its rank says, as the stream is, or whom an indented text goes on. A
    rank that was not heard of has the blank row."""
    slot = whole_at(row + 8 * RANK)
    if slot >= 0:
        rank = double_at(values + 8 * slot)
        if not (0 <= rank < MAX_RANK) or rank != np.trunc(rank):
            return np.int64(-1)
        w = whole_at(writers + 8 * np.int64(rank))
        return w if w >= 0 else blank
    if speaker >= 0 and whole_at(row + 8 * CONTINUES):
        place = places + 8 * P_WIDTH * speaker
        if double_at(place + 8 * P_OPEN) != 0 or double_at(place + 8 * P_TRACE) == _TRACED:
            return speaker
    return own


@njit(**PART)
def _trace(traits, trace):
    """`Quiet.traceback` behind a message."""
    if traits & STARTS:
        return np.int64(_TRACED)
    if trace == _TRACED:
        return np.int64(_TRACED if traits & FRAME else _ENDING)
    if trace == _ENDING and traits & GOES_ON:
        return np.int64(_ENDING)
    return np.int64(0)


@njit(**PART)
def _code(traits, code):
    """`Quiet.code` behind a message outside of a traceback."""
    if traits & SOURCE:
        return min(CODE_LIMIT, code + 2)
    return code if traits & EMPTY else max(0.0, code - 1)


@njit(**PART)
def _suits(row, place, code, head):
    """Whether a template was learned in a context like this."""
    inside, coded = whole_at(row + 8 * INSIDE), whole_at(row + 8 * CODE)
    under = whole_at(row + 8 * HEAD)
    return (
        (inside < 0 or inside == (double_at(place + 8 * P_OPEN) != 0))
        and (coded < 0 or coded == (code >= IN_CODE))
        and (under < 0 or under == head)
    )


@njit(**PART)
def _all_count(row, values, points, constants):
    """Whether every point is the step itself: the line only counts."""
    step = np.trunc(_said(row, STEP, values))
    for p in range(whole_at(row + 8 * POINTS), whole_at(row + 8 * POINTS_END)):
        slot = whole_at(points + 8 * POINT_WIDTH * p)
        value = double_at(values + 8 * slot) if slot >= 0 else double_at(constants + 8 * p)
        if value != step:
            return False
    return step == step


@njit(**PART)
def _beside(row, values, place):
    """`Writer._is_beside` for a template whose evidence is KNOWN or HELD."""
    near = double_at(place + 8 * P_NEAR)
    here = double_at(place + 8 * P_EPOCH)
    if near == 0 or (double_at(place + 8 * P_BEGAN) == 0 and here != here):
        return False
    if whole_at(row + 8 * EVIDENCE) == KNOWN:
        return True
    step, last = np.trunc(_said(row, STEP, values)), double_at(place + 8 * P_STEP)
    onward = step == step and (last != last or step >= last)
    return near == 2 and onward and whole_at(row + 8 * LONG) != 0


@njit(**PART)
def _changed(place, w, given):
    """Note that a writer's row is no longer what its objects say."""
    if double_at(place + 8 * P_CHANGED) == 0:
        put_double(place + 8 * P_CHANGED, 1.0)
        changes = whole_at(given + 8 * F_CHANGES)
        put_whole(whole_at(given + 8 * F_CHANGED) + 8 * changes, w)
        put_whole(given + 8 * F_CHANGES, changes + 1)


@njit(**PART)
def follow(first, last, given, matched):
    """Follow staged texts from one index to another; the index of the first that was not followed.

    `given` is the address of a row of `F_…` cells, `matched` that of the `M_…` cells that `match`
    had. `F_ROOM` is how many points may be written out; 0 writes none and counts them in the
    tallies instead. `F_WHY` says why it stopped, `F_RANK` whose first text that was at.
    """
    templates, ops = whole_at(matched + 8 * M_TEMPLATES), whole_at(matched + 8 * M_OPS)
    blocks, staged = whole_at(matched + 8 * M_BLOCKS), whole_at(matched + 8 * M_STAGED)
    points, constants = whole_at(given + 8 * F_POINTS), whole_at(given + 8 * F_CONSTANTS)
    places, all_marks = whole_at(given + 8 * F_PLACES), whole_at(given + 8 * F_MARKS)
    tallies, scratch = whole_at(given + 8 * F_TALLIES), whole_at(given + 8 * F_SCRATCH)
    out, out_values = whole_at(given + 8 * F_OUT), whole_at(given + 8 * F_OUT_VALUES)
    writers, reached = whole_at(given + 8 * F_WRITERS), whole_at(given + 8 * F_REACHED)
    gates, keys = whole_at(given + 8 * F_GATES), whole_at(given + 8 * F_KEYS)
    room, kinds, own = (
        whole_at(given + 8 * F_ROOM), whole_at(given + 8 * F_KINDS), whole_at(given + 8 * F_OWN)
    )  # fmt: skip
    notes, examples = whole_at(given + 8 * F_NOTES), whole_at(given + 8 * F_EXAMPLES)
    base, speaker = whole_at(given + 8 * F_LINE), whole_at(given + 8 * F_SPEAKER)
    metric_line = whole_at(given + 8 * F_METRIC_LINE)
    all_values = whole_at(matched + 8 * M_VALUES)
    used = whole_at(given + 8 * F_VALUE)
    made, metric_lines, unclear = np.int64(0), np.int64(0), np.int64(0)
    why = np.int64(DONE)
    marked, gated = whole_at(given + 8 * F_MARKED), whole_at(given + 8 * F_GATED)
    blank = whole_at(given + 8 * F_BLANK)
    i = first
    while i < last:
        why = np.int64(STRANGE)
        text = staged + 8 * STAGED_WIDTH * i
        t = whole_at(text)
        at, line = whole_at(text + 8), base + whole_at(text + 24)
        values, used_here = all_values + 8 * used, np.int64(0)
        if t >= 0:
            used_here = whole_at(templates + 8 * (WIDTH * t + VALUES))
        else:  # a template may have been learned since
            values = scratch
            t = known(at, whole_at(text + 16), matched, scratch)
            if t < 0:
                break
        row = templates + 8 * WIDTH * t
        if whole_at(row + 8 * TRAITS) & UNSEEN:
            used += used_here
            i += 1
            why = np.int64(DONE)
            continue
        start = t
        fits = False
        w, sees = np.int64(-1), np.int64(-1)
        trace, code = np.int64(0), 0.0
        while True:
            w = _writer(row, values, writers, own, speaker, places, blank)
            if w >= 0:
                sees = own if whole_at(row + 8 * ASKED) else w
                seen_by = places + 8 * P_WIDTH * sees
                traits = whole_at(row + 8 * TRAITS)
                was, code = (
                    np.int64(double_at(seen_by + 8 * P_TRACE)),
                    double_at(seen_by + 8 * P_CODE),
                )
                trace = was
                if traits & MANY:
                    place = places + 8 * P_WIDTH * w
                    own_place = places + 8 * P_WIDTH * own
                    if (
                        was != 0 or code != 0
                        or double_at(place + 8 * P_TRACE) != 0
                        or double_at(place + 8 * P_CODE) != 0
                        or double_at(own_place + 8 * P_TRACE) != 0
                        or double_at(own_place + 8 * P_CODE) != 0
                    ):  # fmt: skip
                        why = np.int64(UNSETTLED)
                        break
                else:
                    trace = _trace(traits, was)
                    if trace:
                        fits = True
                        break
                    code = _code(traits, code)
                head = np.int64(double_at(seen_by + 8 * P_HEAD))
                if _suits(row, places + 8 * P_WIDTH * w, code, head):
                    fits = True
                    break
            # Another template of the same form may be for this context.
            t = whole_at(row + 8 * SIBLING)
            while t != start and t >= 0:
                row = templates + 8 * WIDTH * t
                if fitted(at, row, ops, blocks, scratch):
                    break
                t = whole_at(row + 8 * SIBLING)
            if t == start or t < 0:
                break
            values = scratch
        if not fits:
            break
        if w == blank:
            why = np.int64(NEWCOMER)
            put_whole(given + 8 * F_RANK, np.int64(_said(row, RANK, values)))
            break
        why = np.int64(UNSETTLED)
        place, seen_by = places + 8 * P_WIDTH * w, places + 8 * P_WIDTH * sees
        if trace:
            if notes:
                break
            put_double(seen_by + 8 * P_TRACE, np.float64(trace))
            _changed(seen_by, sees, given)
        else:
            begin, end = whole_at(row + 8 * POINTS), whole_at(row + 8 * POINTS_END)
            if room and made + end - begin > room:
                why = np.int64(FULL)
                break
            evidence, near = whole_at(row + 8 * EVIDENCE), whole_at(row + 8 * NEAR)
            gate, fate, beside = np.int64(0), np.float64(PROVEN), False
            if evidence != CLEAR and end > begin:
                counts = _all_count(row, values, points, constants)
                if counts != (whole_at(row + 8 * COUNTS) != 0):
                    break
                fate = np.float64(REFUSED)
                if evidence != NONE:
                    if w >= gated:
                        break
                    gate = gates + 24 * (keys * w + whole_at(row + 8 * KEY))
                    fate = double_at(gate)
                    beside = _beside(row, values, place)
                    if not counts:
                        near = 2 if beside else 0
                    if fate != PROVEN:
                        if beside:
                            if whole_at(given + 8 * F_BESIDES) >= MAX_BESIDES:
                                why = np.int64(FULL)
                                break
                        elif fate != REFUSED or examples:
                            break
            if whole_at(row + 8 * PLACED):
                if room and w >= marked:
                    break
                marks = all_marks + 24 * kinds * w
                if not _moved(row, values, place, marks, kinds, room > 0):
                    break
            _changed(place, w, given)
            step, epoch = np.trunc(_said(row, STEP, values)), _said(row, EPOCH, values)
            if step == step and double_at(place + 8 * P_STEP) == step:
                put_whole(reached + 16 * w, np.int64(step))
                put_whole(reached + 16 * w + 8, line)
            if step != step:
                step = double_at(place + 8 * P_STEP)
            if epoch != epoch:
                epoch = double_at(place + 8 * P_EPOCH)
            if beside and fate != PROVEN:
                if fate != SHOWN_NOW:
                    besides = whole_at(given + 8 * F_BESIDES)
                    pair = whole_at(given + 8 * F_BESIDE) + 16 * besides
                    put_whole(pair, w)
                    put_whole(pair + 8, whole_at(row + 8 * KEY))
                    put_whole(given + 8 * F_BESIDES, besides + 1)
                put_double(gate, np.float64(SHOWN_NOW))
                put_double(gate + 8, step)
                put_double(gate + 16, epoch)
            elif fate != PROVEN:
                unclear += evidence != NONE
                end = begin
            for p in range(begin, end):
                point = points + 8 * POINT_WIDTH * p
                slot = whole_at(point)
                value = double_at(values + 8 * slot) if slot >= 0 else double_at(constants + 8 * p)
                if room:
                    o = out + 8 * OUT_WIDTH * made
                    put_whole(o, line)
                    slot = whole_at(row + 8 * TIME)
                    put_whole(o + 8, np.int64(double_at(values + 8 * slot)) if slot >= 0 else -1)
                    put_whole(o + 16, w)
                    put_whole(o + 24, whole_at(point + 16))
                    put_whole(o + 32, whole_at(point + 24))
                    put_whole(o + 40, whole_at(point + 32))
                    v = out_values + 8 * OUT_VALUES_WIDTH * made
                    put_double(v, value)
                    put_double(v + 8, step)
                    put_double(v + 16, epoch)
                    put_double(v + 24, double_at(place + 8 * P_SEGMENT))
                else:
                    _count(tallies + 8 * TALLY_WIDTH * whole_at(point + 8), value)
                made += 1
            if end > begin:
                metric_lines += line != metric_line
                metric_line = line
            if near >= 0:
                put_double(place + 8 * P_NEAR, np.float64(near))
            opens = whole_at(row + 8 * OPEN)
            if opens >= 0:
                put_double(place + 8 * P_OPEN, np.float64(opens))
            head = whole_at(row + 8 * NEW_HEAD)
            if head >= 0:
                put_double(seen_by + 8 * P_HEAD, np.float64(head))
            put_double(seen_by + 8 * P_TRACE, 0.0)
            put_double(seen_by + 8 * P_CODE, code)
            if sees != w:
                _changed(seen_by, sees, given)
        deep = whole_at(row + 8 * DEEP)
        if deep == 1:
            speaker = w
        elif deep and not (w == speaker and whole_at(row + 8 * CONTINUES)):
            speaker = own
        used += used_here
        i += 1
        why = np.int64(DONE)
    put_whole(given + 8 * F_WHY, why)
    put_whole(given + 8 * F_VALUE, used)
    put_whole(given + 8 * F_MADE, made)
    put_whole(given + 8 * F_METRIC_LINES, metric_lines)
    put_whole(given + 8 * F_METRIC_LINE, metric_line)
    put_whole(given + 8 * F_SPEAKER, speaker)
    put_whole(given + 8 * F_UNCLEAR, unclear)
    return i
