"""Lines of known shape read at memory speed: literals compared, numbers parsed, places followed.

A *template* is what a line of one shape looks like byte for byte (`parse/template.py` learns it).
`replay` reads line after line as long as one of the templates fits and stops at the first line that
none does; that one is read by the readable path, which is the definition of all that happens here.

Tables are given by address and read cell by cell: numba counts references to arrays that are
passed on or sliced, which costs more than the work itself.
"""

import numpy as np
from numba import njit

from runwatch.kernels.decimal import number_at
from runwatch.kernels.memory import (
    byte_at,
    double_at,
    ends_at,
    put_double,
    put_whole,
    trailing_zeros,
    whole_at,
    word_at,
)
from runwatch.kernels.moment import stamp_at

# What an operation of a template does. Its row is (operation, a, b, c).
LITERAL, NUMBER, STAMP, BLANKS, MASKED, UNTIL = range(6)
# Columns of a template's row.
(OPS, OPS_END, POINTS, POINTS_END, STEP, TOTAL, EPOCH, TOTAL_EPOCHS, RANK, TIMED, TRAINING, KIND,
 DEEP, NEAR, NEXT, OPEN, CLOSED, PLACED, BAR, WIDTH) = range(20)  # fmt: skip
# Columns of a place, as doubles; nan is "not known".
P_STEP, P_EPOCH, P_TOTAL, P_EPOCHS, P_SEGMENT, P_NEAR, P_OPEN, P_BAR, P_WIDTH = range(9)
# What a template is of progress bars: none, one that counts training, one beside it, one that may
# be nested in another.
NO_BAR, COUNTS, ASIDE, NESTED = range(4)
MAX_FILLING = 300  # bytes of a bar
# What the kernel is given: addresses of tables, then numbers, then what it counts.
(G_TEMPLATES, G_OPS, G_WORDS, G_BUCKETS, G_LINKS, G_POINTS, G_CONSTANTS, G_WRITERS, G_PLACES,
 G_MARKS, G_REACHED, G_TALLIES, G_OUT, G_OUT_VALUES, G_VALUES, G_ROOM, G_KINDS, G_OWN, G_LINE,
 G_MADE, G_METRIC_LINES, G_METRIC_LINE, G_SPEAKER, G_LAST, G_WIDTH) = range(25)  # fmt: skip
POINT_WIDTH, OUT_WIDTH, OUT_VALUES_WIDTH, WORD_WIDTH, OP_WIDTH, TALLY_WIDTH = 5, 6, 4, 3, 4, 7
BUCKETS = 4096
MAX_SLOTS = 256  # values of a line; the last is its moment, the one before it means nothing
NO_SLOT = MAX_SLOTS - 2
MAX_RANK = 65536
_SIX = np.uint64(0x0606060606060606)
_HIGH = np.uint64(0xF0F0F0F0F0F0F0F0)
_BLANKS = np.uint64(0x2020202020202020)
_THREES = np.uint64(0x3030303030303030)
_FAST = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_FAST)
def key_at(address):
    """A bucket for the first eight bytes of a line, all digits being the same."""
    word = word_at(address)
    odd = word ^ _THREES
    letters = ((odd + np.uint64(0x7676767676767676)) | odd) & np.uint64(0x8080808080808080)
    mask = (letters >> np.uint64(7)) * np.uint64(0xFF)
    word = (word & mask) | (_THREES & ~mask)
    return np.int64(
        ((word * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(52)) & np.uint64(BUCKETS - 1)
    )


@njit(**_FAST)
def text_end(address, limit):
    """The address of the next `\\n` or `\\r` from an address on, `limit` where there is none."""
    at = address
    while at < limit:
        found = ends_at(at)
        if found:
            return min(at + trailing_zeros(found), limit)
        at += 64
    return limit


@njit(**_FAST)
def _match(at, first, last, ops, words, values):
    """The address behind a line that the operations fit, 0 where they do not. Values and, in the
    last slot, the moment are filled on the way."""
    op = ops + first * (8 * OP_WIDTH)
    end = ops + last * (8 * OP_WIDTH)
    while op < end:
        kind = whole_at(op)
        if kind == LITERAL:
            word = words + whole_at(op + 8) * (8 * WORD_WIDTH)
            behind = at + whole_at(op + 24)
            while at < behind:
                if (word_at(at) & word_at(word)) != word_at(word + 8):
                    return np.int64(0)
                at += 8
                word += 8 * WORD_WIDTH
            at = behind
        elif kind == NUMBER:
            at = number_at(at, values + 8 * whole_at(op + 8))
            if at == 0:
                return np.int64(0)
        elif kind == MASKED:
            word = words + whole_at(op + 8) * (8 * WORD_WIDTH)
            behind = at + whole_at(op + 24)
            while at < behind:
                x, digits = word_at(at), word_at(word + 16)
                if (x & word_at(word)) != word_at(word + 8):
                    return np.int64(0)
                if ((x + (_SIX & digits)) & (_HIGH & digits)) != (_THREES & digits):
                    return np.int64(0)
                at += 8
                word += 8 * WORD_WIDTH
            at = behind
        elif kind == UNTIL:
            behind = at + MAX_FILLING
            byte = byte_at(at)
            while byte != 124 and byte != 10 and byte != 13 and at < behind:
                at += 1
                byte = byte_at(at)
            if byte != 124:
                return np.int64(0)
        elif kind == BLANKS:
            start = at
            count = np.int64(8)
            while count == 8:
                count = trailing_zeros(word_at(at) ^ _BLANKS) >> 3
                at += count
            if at == start:
                return np.int64(0)
        else:
            moment = stamp_at(at, whole_at(op + 8))
            if moment < 0:
                return np.int64(0)
            put_double(values + 8 * (MAX_SLOTS - 1), np.float64(moment - whole_at(op + 16)))
            at += whole_at(op + 24)
        op += 8 * OP_WIDTH
    end = byte_at(at)
    return at if end == 10 or end == 13 else np.int64(0)


@njit(**_FAST)
def _said(row, column, values):
    """The value that a template takes for a place, nan where it takes none."""
    slot = whole_at(row + 8 * column)
    return double_at(values + 8 * slot) if slot >= 0 else np.nan


@njit(**_FAST)
def _goes_back(own, epoch, step, mark):
    last_epoch, last_step, total = double_at(mark), double_at(mark + 8), double_at(mark + 16)
    if own:
        return epoch < last_epoch or (epoch == last_epoch and step < last_step)
    if step >= last_step or epoch > last_epoch:
        return False
    return not (total > 0 and last_step >= total - 1)


@njit(**_FAST)
def _follow(row, values, place, marks, kinds, cutting):
    """As `parse.place.Place.follow`.

    False, and nothing is done, where a counter does not fit where it goes: the readable path deals
    with that. Segments are left alone unless `cutting`."""
    step, total = np.trunc(_said(row, STEP, values)), np.trunc(_said(row, TOTAL, values))
    epoch, epochs = _said(row, EPOCH, values), np.trunc(_said(row, TOTAL_EPOCHS, values))
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
        if cutting and training and whole_at(row + 8 * POINTS_END) > whole_at(row + 8 * POINTS):
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
        if total == total and training:
            put_double(place + 8 * P_TOTAL, total)
    elif total == total:
        put_double(place + 8 * P_TOTAL, total)
    return True


@njit(**_FAST)
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


@njit(**_FAST)
def replay(at, limit, given):
    """Read lines from an address on; the address of the first line that was not read.

    `given` is the address of a row of `G_…` cells. Its `G_ROOM` is how many points may be written
    out; 0 writes none and counts them in the tallies instead.
    """
    templates, ops = whole_at(given + 8 * G_TEMPLATES), whole_at(given + 8 * G_OPS)
    words = whole_at(given + 8 * G_WORDS)
    buckets, links = whole_at(given + 8 * G_BUCKETS), whole_at(given + 8 * G_LINKS)
    points, constants = whole_at(given + 8 * G_POINTS), whole_at(given + 8 * G_CONSTANTS)
    places, marks = whole_at(given + 8 * G_PLACES), whole_at(given + 8 * G_MARKS)
    tallies, values = whole_at(given + 8 * G_TALLIES), whole_at(given + 8 * G_VALUES)
    out, out_values = whole_at(given + 8 * G_OUT), whole_at(given + 8 * G_OUT_VALUES)
    writers, reached = whole_at(given + 8 * G_WRITERS), whole_at(given + 8 * G_REACHED)
    room, kinds, own = (
        whole_at(given + 8 * G_ROOM), whole_at(given + 8 * G_KINDS), whole_at(given + 8 * G_OWN)
    )  # fmt: skip
    line, last = whole_at(given + 8 * G_LINE), whole_at(given + 8 * G_LAST)
    made, metric_lines = np.int64(0), np.int64(0)
    speaker = whole_at(given + 8 * G_SPEAKER)
    metric_line = whole_at(given + 8 * G_METRIC_LINE)
    row = np.int64(0)
    while at < limit:
        byte = byte_at(at)
        if byte == 10 or byte == 13:
            at += 1
            line += byte == 10
            continue
        behind = np.int64(0)
        t = np.int64(-1)
        if last >= 0:
            t = whole_at(templates + 8 * (last * WIDTH + NEXT))
            if t >= 0:
                row = templates + 8 * WIDTH * t
                behind = _match(at, whole_at(row), whole_at(row + 8), ops, words, values)
        if behind == 0:
            tried = t
            link = whole_at(buckets + 8 * key_at(at))
            while link >= 0:
                t = whole_at(links + 16 * link)
                if t != tried:
                    row = templates + 8 * WIDTH * t
                    behind = _match(at, whole_at(row), whole_at(row + 8), ops, words, values)
                    if behind:
                        break
                link = whole_at(links + 16 * link + 8)
            if behind == 0:
                break
        w = own
        slot = whole_at(row + 8 * RANK)
        if slot >= 0:
            rank = double_at(values + 8 * slot)
            if not (0 <= rank < MAX_RANK) or rank != np.trunc(rank):
                break
            w = whole_at(writers + 8 * np.int64(rank))
        first, end = whole_at(row + 8 * POINTS), whole_at(row + 8 * POINTS_END)
        if w < 0 or (room and made + end - first > room):
            break
        place = places + 8 * P_WIDTH * w
        step, epoch = np.nan, np.nan
        if whole_at(row + 8 * CLOSED) and (
            double_at(place + 8 * P_OPEN) != 0
            or (speaker >= 0 and double_at(places + 8 * (P_WIDTH * speaker + P_OPEN)) != 0)
        ):
            break
        if whole_at(row + 8 * PLACED):
            if not _follow(row, values, place, marks + 24 * kinds * w, kinds, room > 0):
                break
            step, epoch = _said(row, STEP, values), _said(row, EPOCH, values)
            if step == step:
                step = np.trunc(step)
                if double_at(place + 8 * P_STEP) == step:
                    put_whole(reached + 16 * w, np.int64(step))
                    put_whole(reached + 16 * w + 8, line)
        if step != step:
            step = double_at(place + 8 * P_STEP)
        if epoch != epoch:
            epoch = double_at(place + 8 * P_EPOCH)
        for p in range(first, end):
            point = points + 8 * POINT_WIDTH * p
            slot = whole_at(point)
            value = double_at(values + 8 * slot) if slot >= 0 else double_at(constants + 8 * p)
            if room:
                o = out + 8 * OUT_WIDTH * made
                put_whole(o, line)
                moment = double_at(values + 8 * (MAX_SLOTS - 1))
                put_whole(o + 8, np.int64(moment) if whole_at(row + 8 * TIMED) else np.int64(-1))
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
        if end > first:
            metric_lines += line != metric_line
            metric_line = line
        near = whole_at(row + 8 * NEAR)
        if near >= 0:
            put_double(place + 8 * P_NEAR, np.float64(near))
        opens = whole_at(row + 8 * OPEN)
        if opens >= 0:
            put_double(place + 8 * P_OPEN, np.float64(opens))
        deep = whole_at(row + 8 * DEEP)
        if deep:
            speaker = w if deep == 1 else own
        if last >= 0:
            put_whole(templates + 8 * (last * WIDTH + NEXT), t)
        last = t
        at = behind + 1
        line += byte_at(behind) == 10
    put_whole(given + 8 * G_LINE, line)
    put_whole(given + 8 * G_LAST, last)
    put_whole(given + 8 * G_MADE, made)
    put_whole(given + 8 * G_METRIC_LINES, metric_lines)
    put_whole(given + 8 * G_METRIC_LINE, metric_line)
    put_whole(given + 8 * G_SPEAKER, speaker)
    return at
