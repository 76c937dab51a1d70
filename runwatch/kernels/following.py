"""Matched lines followed in order: whose they are, where the run is, what counts and what does not.

This is what `parse/reader.py` and its `Writer` do, on rows of numbers: the readable path is the
definition. `follow` stops at the first line whose meaning depends on more than its template and the
row of its writer say; that one is read by the readable path.
"""

import numpy as np

from runwatch.kernels.context import (
    code_behind,
    is_plain,
    reader_of,
    suits,
    trace_behind,
    writer_of,
)
from runwatch.kernels.fitting import fitted
from runwatch.kernels.layout import (
    ASKED,
    ASKS,
    CLEAR,
    CODED,
    CONTINUES,
    COUNTS,
    DEEP,
    DONE,
    EPOCH,
    EVIDENCE,
    F_BESIDE,
    F_BESIDES,
    F_BLANK,
    F_CONSTANTS,
    F_EXAMPLES,
    F_FORM,
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
    F_OWN,
    F_PLACES,
    F_POINTS,
    F_RANKS,
    F_REACHED,
    F_ROOM,
    F_ROWS,
    F_SCRATCH,
    F_SPEAKER,
    F_TALLIES,
    F_UNCLEAR,
    F_VALUE,
    F_WHO,
    F_WHY,
    F_WRITERS,
    FULL,
    GATE_WIDTH,
    IN_CODE,
    KEY,
    M_BLOCKS,
    M_OPS,
    M_STAGED,
    M_TEMPLATES,
    M_VALUES,
    MANY,
    MAX_BESIDES,
    NEAR,
    NEW,
    NEW_HEAD,
    NEWCOMER,
    NONE,
    NOTED,
    OPEN,
    P_CODE,
    P_EPOCH,
    P_HEAD,
    P_NEAR,
    P_OPEN,
    P_STEP,
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
    STAGED_WIDTH,
    STEP,
    STRANGE,
    TALLY_WIDTH,
    TEXT,
    TIME,
    TRACED,
    TRAITS,
    UNKNOWN,
    UNSEEN,
    UNSETTLED,
    VALUES,
    WHOLE_LINE,
    WIDTH,
)
from runwatch.kernels.matching import known, known_as_it_is
from runwatch.kernels.memory import double_at, put_double, put_whole, whole_at
from runwatch.kernels.noting import note_line
from runwatch.kernels.place import all_count, is_beside, moved, note_change, said
from runwatch.kernels.points import count, put_point, value_of
from runwatch.kernels.waiting import has_room, note_fate, weighed


def follow(first, last, given, matched):
    """Follow staged texts from one index to another; the index of the first that was not followed.

    `given` is the address of a row of `F_…` cells, `matched` that of the `M_…` cells that `match`
    had. `F_ROOM` is how many points may be written out; 0 writes none and counts them in the
    tallies instead. `F_WHY` says why it stopped, `F_WHO` at whose text, where that matters: the
    rank of a NEWCOMER, the row of one who ASKS what became of a form, `F_FORM`.
    """
    templates, ops = whole_at(matched + 8 * M_TEMPLATES), whole_at(matched + 8 * M_OPS)
    blocks, staged = whole_at(matched + 8 * M_BLOCKS), whole_at(matched + 8 * M_STAGED)
    points, constants = whole_at(given + 8 * F_POINTS), whole_at(given + 8 * F_CONSTANTS)
    places, all_marks = whole_at(given + 8 * F_PLACES), whole_at(given + 8 * F_MARKS)
    tallies, scratch = whole_at(given + 8 * F_TALLIES), whole_at(given + 8 * F_SCRATCH)
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
        start, very = t, False
        fits = False
        w, sees = np.int64(-1), np.int64(-1)
        trace, code = np.int64(0), 0.0
        while True:
            w = writer_of(row, values, writers, own, speaker, places, blank)
            if w >= 0:
                sees = reader_of(row, own, speaker, places) if whole_at(row + 8 * ASKED) else w
                seen_by = places + 8 * P_WIDTH * sees
                traits = whole_at(row + 8 * TRAITS)
                was = np.int64(double_at(seen_by + 8 * P_TRACE))
                trace, code = was, double_at(seen_by + 8 * P_CODE)
                if traits & MANY:
                    place, own_place = places + 8 * P_WIDTH * w, places + 8 * P_WIDTH * own
                    if not (is_plain(seen_by) and is_plain(place) and is_plain(own_place)):
                        why = np.int64(UNSETTLED)
                        break
                else:
                    trace = trace_behind(traits, was)
                    if trace:
                        fits = True
                        break
                    code = code_behind(traits, code)
                head = np.int64(double_at(seen_by + 8 * P_HEAD))
                if suits(row, places + 8 * P_WIDTH * w, code, head):
                    fits = True
                    break
            # Another template of the same form, or of the very line, may be for this context.
            t = whole_at(row + 8 * SIBLING)
            while t != start and t >= 0:
                row = templates + 8 * WIDTH * t
                if fitted(at, row, ops, blocks, scratch):
                    break
                t = whole_at(row + 8 * SIBLING)
            if t == start or t < 0:
                if very:
                    break
                very = True
                t = start = known_as_it_is(at, whole_at(text + 16), matched, scratch)
                if t < 0:
                    break
                row = templates + 8 * WIDTH * t
            values = scratch
        if not fits:
            break
        if w == blank:
            rank = np.int64(said(row, RANK, values))
            if blank + 1 >= whole_at(given + 8 * F_ROWS):
                why = np.int64(NEWCOMER)
                put_whole(given + 8 * F_WHO, rank)
                break
            put_whole(writers + 8 * rank, blank)
            put_whole(whole_at(given + 8 * F_RANKS) + 8 * blank, rank)
            blank += 1
        why = np.int64(UNSETTLED)
        place, seen_by = places + 8 * P_WIDTH * w, places + 8 * P_WIDTH * sees
        if trace:
            if notes and not whole_at(row + 8 * TRAITS) & WHOLE_LINE:
                break
            put_double(seen_by + 8 * P_TRACE, np.float64(trace))
            note_change(seen_by, sees, given)
        else:
            begin, end = whole_at(row + 8 * POINTS), whole_at(row + 8 * POINTS_END)
            if room and made + end - begin > room:
                why = np.int64(FULL)
                break
            evidence, near = whole_at(row + 8 * EVIDENCE), whole_at(row + 8 * NEAR)
            gate, fate, beside = np.int64(0), np.float64(PROVEN), False
            if evidence != CLEAR and end > begin:
                counts = all_count(row, values, points, constants)
                if counts != (whole_at(row + 8 * COUNTS) != 0):
                    break
                fate = np.float64(REFUSED)
                if evidence != NONE:
                    if w >= gated:
                        break
                    gate = gates + 8 * GATE_WIDTH * (keys * w + whole_at(row + 8 * KEY))
                    fate = double_at(gate)
                    beside = is_beside(row, values, place)
                    if not counts:
                        near = 2 if beside else 0
                    if fate != PROVEN:
                        if beside:
                            if whole_at(given + 8 * F_BESIDES) >= MAX_BESIDES:
                                why = np.int64(FULL)
                                break
                        elif examples:
                            break
                        elif fate == UNKNOWN:
                            why = np.int64(ASKS)
                            put_whole(given + 8 * F_WHO, w)
                            put_whole(given + 8 * F_FORM, whole_at(row + 8 * KEY))
                            break
                        elif fate != REFUSED:
                            fate = np.float64(
                                weighed(row, values, place, gate, points, constants, room > 0)
                            )
                            if fate == UNKNOWN:
                                break
                            if fate >= NEW and not has_room(given, row):
                                why = np.int64(FULL)
                                break
            if whole_at(row + 8 * PLACED):
                if room and w >= marked:
                    break
                marks = all_marks + 24 * kinds * w
                if not moved(row, values, place, marks, kinds, room > 0):
                    break
            note_change(place, w, given)
            step, epoch = np.trunc(said(row, STEP, values)), said(row, EPOCH, values)
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
                if fate >= NEW:
                    note_fate(
                        given, fate, t, row, w, line, values, place, gate, points, constants, step,
                        epoch,
                    )  # fmt: skip
                end = begin
            for p in range(begin, end):
                point = points + 8 * POINT_WIDTH * p
                value = value_of(point, values, constants + 8 * p)
                if room:
                    slot = whole_at(row + 8 * TIME)
                    moment = np.int64(double_at(values + 8 * slot)) if slot >= 0 else np.int64(-1)
                    put_point(given, made, point, line, moment, w, place, value, step, epoch)
                else:
                    count(tallies + 8 * TALLY_WIDTH * whole_at(point + 8), value)
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
                note_change(seen_by, sees, given)
        deep = whole_at(row + 8 * DEEP)
        used += used_here
        i += 1
        why = np.int64(DONE)
        if deep == 1 and not trace:
            speaker = w
        elif deep or trace:
            if deep & (NOTED - 1) == 1:
                speaker = w
            elif deep & (NOTED - 1) and not (sees == speaker and whole_at(row + 8 * CONTINUES)):
                speaker = own
            block = np.int64(TRACED if trace else CODED if code >= IN_CODE else TEXT)
            loud = notes and (trace or deep & NOTED)
            if loud and not note_line(given, i - 1, sees, seen_by, block):
                why = np.int64(FULL)
                break
    put_whole(given + 8 * F_WHY, why)
    put_whole(given + 8 * F_VALUE, used)
    put_whole(given + 8 * F_MADE, made)
    put_whole(given + 8 * F_METRIC_LINES, metric_lines)
    put_whole(given + 8 * F_METRIC_LINE, metric_line)
    put_whole(given + 8 * F_SPEAKER, speaker)
    put_whole(given + 8 * F_UNCLEAR, unclear)
    put_whole(given + 8 * F_BLANK, blank)
    return i
