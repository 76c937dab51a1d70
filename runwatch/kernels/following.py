"""Matched lines followed in order: whose they are, where the run is, what counts and what does not.

This is what `parse/reader.py` and its `Writer` do, on rows of numbers: the readable path is the
definition. `follow` stops at the first line whose meaning depends on more than its template and the
row of its writer say; that one is read by the readable path.
"""

import numpy as np

from runwatch.kernels import layout
from runwatch.kernels.context import (
    code_behind,
    is_plain,
    reader_of,
    suits,
    trace_behind,
    writer_of,
)
from runwatch.kernels.fitting import fitted
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
    templates = whole_at(matched + 8 * layout.M_TEMPLATES)
    ops = whole_at(matched + 8 * layout.M_OPS)
    blocks = whole_at(matched + 8 * layout.M_BLOCKS)
    staged = whole_at(matched + 8 * layout.M_STAGED)
    points = whole_at(given + 8 * layout.F_POINTS)
    constants = whole_at(given + 8 * layout.F_CONSTANTS)
    places = whole_at(given + 8 * layout.F_PLACES)
    all_marks = whole_at(given + 8 * layout.F_MARKS)
    tallies = whole_at(given + 8 * layout.F_TALLIES)
    scratch = whole_at(given + 8 * layout.F_SCRATCH)
    writers = whole_at(given + 8 * layout.F_WRITERS)
    reached = whole_at(given + 8 * layout.F_REACHED)
    gates = whole_at(given + 8 * layout.F_GATES)
    keys = whole_at(given + 8 * layout.F_KEYS)
    room = whole_at(given + 8 * layout.F_ROOM)
    kinds = whole_at(given + 8 * layout.F_KINDS)
    own = whole_at(given + 8 * layout.F_OWN)
    notes = whole_at(given + 8 * layout.F_NOTES)
    examples = whole_at(given + 8 * layout.F_EXAMPLES)
    base = whole_at(given + 8 * layout.F_LINE)
    speaker = whole_at(given + 8 * layout.F_SPEAKER)
    metric_line = whole_at(given + 8 * layout.F_METRIC_LINE)
    all_values = whole_at(matched + 8 * layout.M_VALUES)
    used = whole_at(given + 8 * layout.F_VALUE)
    made, metric_lines, unclear = np.int64(0), np.int64(0), np.int64(0)
    why = np.int64(layout.DONE)
    marked = whole_at(given + 8 * layout.F_MARKED)
    gated = whole_at(given + 8 * layout.F_GATED)
    blank = whole_at(given + 8 * layout.F_BLANK)
    i = first
    while i < last:
        why = np.int64(layout.STRANGE)
        text = staged + 8 * layout.STAGED_WIDTH * i
        t = whole_at(text)
        at, line = whole_at(text + 8), base + whole_at(text + 24)
        values, used_here = all_values + 8 * used, np.int64(0)
        if t >= 0:
            used_here = whole_at(templates + 8 * (layout.WIDTH * t + layout.VALUES))
        else:  # a template may have been learned since
            values = scratch
            t = known(at, whole_at(text + 16), matched, scratch)
            if t < 0:
                break
        row = templates + 8 * layout.WIDTH * t
        if whole_at(row + 8 * layout.TRAITS) & layout.UNSEEN:
            used += used_here
            i += 1
            why = np.int64(layout.DONE)
            continue
        start, very = t, False
        fits = False
        w, sees = np.int64(-1), np.int64(-1)
        trace, code = np.int64(0), 0.0
        while True:
            w = writer_of(row, values, writers, own, speaker, places, blank)
            if w >= 0:
                sees = (
                    reader_of(row, own, speaker, places) if whole_at(row + 8 * layout.ASKED) else w
                )
                seen_by = places + 8 * layout.P_WIDTH * sees
                traits = whole_at(row + 8 * layout.TRAITS)
                was = np.int64(double_at(seen_by + 8 * layout.P_TRACE))
                trace, code = was, double_at(seen_by + 8 * layout.P_CODE)
                if traits & layout.MANY:
                    place, own_place = (
                        places + 8 * layout.P_WIDTH * w,
                        places + 8 * layout.P_WIDTH * own,
                    )
                    if not (is_plain(seen_by) and is_plain(place) and is_plain(own_place)):
                        why = np.int64(layout.UNSETTLED)
                        break
                else:
                    trace = trace_behind(traits, was)
                    if trace:
                        fits = True
                        break
                    code = code_behind(traits, code)
                head = np.int64(double_at(seen_by + 8 * layout.P_HEAD))
                if suits(row, places + 8 * layout.P_WIDTH * w, code, head):
                    fits = True
                    break
            # Another template of the same form, or of the very line, may be for this context.
            t = whole_at(row + 8 * layout.SIBLING)
            while t != start and t >= 0:
                row = templates + 8 * layout.WIDTH * t
                if fitted(at, row, ops, blocks, scratch):
                    break
                t = whole_at(row + 8 * layout.SIBLING)
            if t == start or t < 0:
                if very:
                    break
                very = True
                t = start = known_as_it_is(at, whole_at(text + 16), matched, scratch)
                if t < 0:
                    break
                row = templates + 8 * layout.WIDTH * t
            values = scratch
        if not fits:
            break
        if w == blank:
            rank = np.int64(said(row, layout.RANK, values))
            if blank + 1 >= whole_at(given + 8 * layout.F_ROWS):
                why = np.int64(layout.NEWCOMER)
                put_whole(given + 8 * layout.F_WHO, rank)
                break
            put_whole(writers + 8 * rank, blank)
            put_whole(whole_at(given + 8 * layout.F_RANKS) + 8 * blank, rank)
            blank += 1
        why = np.int64(layout.UNSETTLED)
        place, seen_by = places + 8 * layout.P_WIDTH * w, places + 8 * layout.P_WIDTH * sees
        if trace:
            if notes and not whole_at(row + 8 * layout.TRAITS) & layout.WHOLE_LINE:
                break
            put_double(seen_by + 8 * layout.P_TRACE, np.float64(trace))
            note_change(seen_by, sees, given)
        else:
            begin, end = whole_at(row + 8 * layout.POINTS), whole_at(row + 8 * layout.POINTS_END)
            if room and made + end - begin > room:
                why = np.int64(layout.FULL)
                break
            evidence, near = whole_at(row + 8 * layout.EVIDENCE), whole_at(row + 8 * layout.NEAR)
            gate, fate, beside = np.int64(0), np.float64(layout.PROVEN), False
            if evidence != layout.CLEAR and end > begin:
                counts = all_count(row, values, points, constants)
                if counts != (whole_at(row + 8 * layout.COUNTS) != 0):
                    break
                fate = np.float64(layout.REFUSED)
                if evidence != layout.NONE:
                    if w >= gated:
                        break
                    gate = gates + 8 * layout.GATE_WIDTH * (
                        keys * w + whole_at(row + 8 * layout.KEY)
                    )
                    fate = double_at(gate)
                    beside = is_beside(row, values, place)
                    if not counts:
                        near = 2 if beside else 0
                    if fate != layout.PROVEN:
                        if beside:
                            if whole_at(given + 8 * layout.F_BESIDES) >= layout.MAX_BESIDES:
                                why = np.int64(layout.FULL)
                                break
                        elif examples:
                            break
                        elif fate == layout.UNKNOWN:
                            why = np.int64(layout.ASKS)
                            put_whole(given + 8 * layout.F_WHO, w)
                            put_whole(given + 8 * layout.F_FORM, whole_at(row + 8 * layout.KEY))
                            break
                        elif fate != layout.REFUSED:
                            fate = np.float64(
                                weighed(row, values, place, gate, points, constants, room > 0)
                            )
                            if fate == layout.UNKNOWN:
                                break
                            if fate >= layout.NEW and not has_room(given, row):
                                why = np.int64(layout.FULL)
                                break
            if whole_at(row + 8 * layout.PLACED):
                if room and w >= marked:
                    break
                marks = all_marks + 24 * kinds * w
                if not moved(row, values, place, marks, kinds, room > 0):
                    break
            note_change(place, w, given)
            step, epoch = np.trunc(said(row, layout.STEP, values)), said(row, layout.EPOCH, values)
            if step == step and double_at(place + 8 * layout.P_STEP) == step:
                put_whole(reached + 16 * w, np.int64(step))
                put_whole(reached + 16 * w + 8, line)
            if step != step:
                step = double_at(place + 8 * layout.P_STEP)
            if epoch != epoch:
                epoch = double_at(place + 8 * layout.P_EPOCH)
            if beside and fate != layout.PROVEN:
                if fate != layout.SHOWN_NOW:
                    besides = whole_at(given + 8 * layout.F_BESIDES)
                    pair = whole_at(given + 8 * layout.F_BESIDE) + 16 * besides
                    put_whole(pair, w)
                    put_whole(pair + 8, whole_at(row + 8 * layout.KEY))
                    put_whole(given + 8 * layout.F_BESIDES, besides + 1)
                put_double(gate, np.float64(layout.SHOWN_NOW))
                put_double(gate + 8, step)
                put_double(gate + 16, epoch)
            elif fate != layout.PROVEN:
                unclear += evidence != layout.NONE
                if fate >= layout.NEW:
                    note_fate(
                        given,
                        fate,
                        t,
                        row,
                        w,
                        line,
                        values,
                        place,
                        gate,
                        points,
                        constants,
                        step,
                        epoch,
                    )
                end = begin
            for p in range(begin, end):
                point = points + 8 * layout.POINT_WIDTH * p
                value = value_of(point, values, constants + 8 * p)
                if room:
                    slot = whole_at(row + 8 * layout.TIME)
                    moment = np.int64(double_at(values + 8 * slot)) if slot >= 0 else np.int64(-1)
                    put_point(given, made, point, line, moment, w, place, value, step, epoch)
                else:
                    count(tallies + 8 * layout.TALLY_WIDTH * whole_at(point + 8), value)
                made += 1
            if end > begin:
                metric_lines += line != metric_line
                metric_line = line
            if near >= 0:
                put_double(place + 8 * layout.P_NEAR, np.float64(near))
            opens = whole_at(row + 8 * layout.OPEN)
            if opens >= 0:
                put_double(place + 8 * layout.P_OPEN, np.float64(opens))
            head = whole_at(row + 8 * layout.NEW_HEAD)
            if head >= 0:
                put_double(seen_by + 8 * layout.P_HEAD, np.float64(head))
            put_double(seen_by + 8 * layout.P_TRACE, 0.0)
            put_double(seen_by + 8 * layout.P_CODE, code)
            if sees != w:
                note_change(seen_by, sees, given)
        deep = whole_at(row + 8 * layout.DEEP)
        used += used_here
        i += 1
        why = np.int64(layout.DONE)
        if deep == 1 and not trace:
            speaker = w
        elif deep or trace:
            if deep & (layout.NOTED - 1) == 1:
                speaker = w
            elif deep & (layout.NOTED - 1) and not (
                sees == speaker and whole_at(row + 8 * layout.CONTINUES)
            ):
                speaker = own
            block = np.int64(
                layout.TRACED if trace else layout.CODED if code >= layout.IN_CODE else layout.TEXT
            )
            loud = notes and (trace or deep & layout.NOTED)
            if loud and not note_line(given, i - 1, sees, seen_by, block):
                why = np.int64(layout.FULL)
                break
    put_whole(given + 8 * layout.F_WHY, why)
    put_whole(given + 8 * layout.F_VALUE, used)
    put_whole(given + 8 * layout.F_MADE, made)
    put_whole(given + 8 * layout.F_METRIC_LINES, metric_lines)
    put_whole(given + 8 * layout.F_METRIC_LINE, metric_line)
    put_whole(given + 8 * layout.F_SPEAKER, speaker)
    put_whole(given + 8 * layout.F_UNCLEAR, unclear)
    put_whole(given + 8 * layout.F_BLANK, blank)
    return i
