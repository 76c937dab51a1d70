"""Lines matched against templates: literals compared, numbers read. Nothing here knows what came
before, so blocks of lines can be matched by several threads at once; `following` goes on from it.

Tables are given by address and read cell by cell.
"""

import numpy as np

from runwatch.kernels.decimal import (
    digit_count,
    digit_value,
    ends_thousands,
    number_at,
    thousands_at,
)
from runwatch.kernels.layout import (
    APART,
    BEYOND,
    BLANKS,
    FORM_COUNTED,
    FORM_WEIGHTS,
    GIVEN,
    GROUPED,
    LONGEST,
    M_BLOCKS,
    M_COUNT,
    M_END,
    M_EXACT,
    M_EXACT_MASK,
    M_FORM_MASK,
    M_FORMS,
    M_LAST,
    M_LINES,
    M_NEXT,
    M_OPS,
    M_ROOM,
    M_STAGED,
    M_TEMPLATES,
    M_VALUES,
    MAX_FILLING,
    NEXTS,
    NUMBER,
    OP_WIDTH,
    OPS,
    OPS_END,
    RUN,
    SAME,
    SIBLING,
    SMALL,
    STAGED_WIDTH,
    STAMP,
    TIMES,
    UNIX,
    UNTIL,
    VALUES,
    WHOLE,
    WIDTH,
)
from runwatch.kernels.memory import (
    byte_at,
    differs_at,
    double_at,
    ends_at,
    put_double,
    put_whole,
    trailing_zeros,
    whole_at,
    word_at,
)
from runwatch.kernels.moment import stamp_at, unix_moment

_BLANKS = np.uint64(0x2020202020202020)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)


def text_end(address, limit):
    """The address of the next `\\n` or `\\r` from an address on, `limit` where there is none."""
    at = address
    while at < limit:
        found = ends_at(at)
        if found:
            return min(at + trailing_zeros(found), limit)
        at += 64
    return limit


def form_at(at, end):
    """A number for the form of a text: what it is without its numbers, blanks and drawn bars."""
    sum_, sums = np.uint64(0), np.uint64(0)
    while at < end:
        byte = byte_at(at)
        sum_ += FORM_WEIGHTS[byte]
        sums += sum_ & FORM_COUNTED[byte]
        at += 1
        if byte == 37 and byte_at(at) == 124:
            last = min(end, at + MAX_FILLING)
            behind = at + 1
            while behind < last and byte_at(behind) != 124:
                behind += 1
            if behind < last:
                at = behind
    mixed = (sums ^ (sum_ << np.uint64(17))) * _ODD
    return np.int64((mixed ^ (mixed >> np.uint64(29))) | _ONE)


def exact_at(at, end):
    """A number for the very bytes of a text."""
    found = np.uint64(end - at)
    while at + 8 <= end:
        found = (found ^ word_at(at)) * _ODD
        found ^= found >> np.uint64(31)
        at += 8
    if at < end:
        rest = word_at(at) & ((_ONE << np.uint64(8 * (end - at))) - _ONE)
        found = (found ^ rest) * _ODD
        found ^= found >> np.uint64(31)
    return np.int64(found | _ONE)


def found_in(table, mask, key):
    """The first template of a key in an open hash table of (key, template); -1 where none is."""
    at = (key >> 7) & mask
    while True:
        there = whole_at(table + 16 * at)
        if there == key:
            return whole_at(table + 16 * at + 8)
        if there == 0:
            return np.int64(-1)
        at = (at + 1) & mask


def fitted(at, row, ops, blocks, values):
    """The address behind a text that a template fits, 0 where it does not. Values are filled in
    on the way."""
    start, op = at, ops + whole_at(row + 8 * OPS) * (8 * OP_WIDTH)
    end = ops + whole_at(row + 8 * OPS_END) * (8 * OP_WIDTH)
    while op < end:
        block = blocks + whole_at(op + 8) * (2 * RUN)
        behind = at + whole_at(op + 16)
        while at < behind:
            if differs_at(at, block):
                return np.int64(0)
            at += RUN
            block += 2 * RUN
        at = behind
        kind = whole_at(op)
        if kind >= NUMBER:  # the one call of `number_at`, so that it is laid out in place
            begin = at if kind != UNIX else at - whole_at(op + 40)
            place = values + 8 * whole_at(op + 24)
            behind = number_at(begin, place)
            if behind == 0:
                return np.int64(0)
            if kind == UNIX:
                moment = unix_moment(double_at(place)) - whole_at(op + 32)
                if behind != at or moment < 0 or moment >= BEYOND:
                    return np.int64(0)
                put_double(place, np.float64(moment))
            elif (kind == SMALL and double_at(place) > TIMES) or (
                kind == APART and ends_thousands(begin, start)
            ):
                return np.int64(0)
            at = behind
        elif kind == BLANKS:
            start = at
            count = np.int64(8)
            while count == 8:
                count = trailing_zeros(word_at(at) ^ _BLANKS) >> 3
                at += count
            if at == start:
                return np.int64(0)
        elif kind == UNTIL:
            behind = at + MAX_FILLING
            byte = byte_at(at)
            while byte != 124 and byte != 10 and byte != 13 and at < behind:
                at += 1
                byte = byte_at(at)
            if byte != 124:
                return np.int64(0)
        elif kind == WHOLE:
            word = word_at(at)
            count = digit_count(word)
            if count == 0 or count == 8:
                return np.int64(0)
            put_double(values + 8 * whole_at(op + 24), np.float64(digit_value(word, count)))
            at += count
        elif kind == GROUPED:
            at = thousands_at(at, values + 8 * whole_at(op + 24))
            if at == 0:
                return np.int64(0)
        elif kind == SAME:
            word = word_at(at)
            count = digit_count(word)
            if count == 0 or count == 8:
                return np.int64(0)
            if np.float64(digit_value(word, count)) != double_at(values + 8 * whole_at(op + 24)):
                return np.int64(0)
            at += count
        elif kind == GIVEN:
            put_whole(values + 8 * whole_at(op + 24), whole_at(op + 32))
        elif kind == STAMP:
            place = whole_at(op + 40)
            moment = stamp_at(at - (place & 255), whole_at(op + 24)) - whole_at(op + 32)
            if moment < 0 or moment >= BEYOND:
                return np.int64(0)
            put_double(values + 8 * (place >> 8), np.float64(moment))
        op += 8 * OP_WIDTH
    end = byte_at(at)
    return at if end == 10 or end == 13 else np.int64(0)


def _fitting(first, at, given, values):
    """Which of a ring of siblings fits a text, -1 where none does."""
    templates, ops = whole_at(given + 8 * M_TEMPLATES), whole_at(given + 8 * M_OPS)
    blocks = whole_at(given + 8 * M_BLOCKS)
    t = first
    while t >= 0:
        row = templates + 8 * WIDTH * t
        if fitted(at, row, ops, blocks, values):
            return t
        t = whole_at(row + 8 * SIBLING)
        if t == first:
            break
    return np.int64(-1)


def known(at, end, given, values):
    """The template that fits a text, found by its form or by its very bytes; -1 where none is."""
    if end - at > LONGEST:
        return np.int64(-1)
    first = found_in(
        whole_at(given + 8 * M_FORMS), whole_at(given + 8 * M_FORM_MASK), form_at(at, end)
    )
    t = _fitting(first, at, given, values)
    return t if t >= 0 else known_as_it_is(at, end, given, values)


def known_as_it_is(at, end, given, values):
    """The template of a text found by its very bytes; -1 where none is."""
    first = found_in(
        whole_at(given + 8 * M_EXACT), whole_at(given + 8 * M_EXACT_MASK), exact_at(at, end)
    )
    return _fitting(first, at, given, values)


def _put_first(row, place, t):
    """Put a number in front of a row of them, in place of the one that stood there or at its
    end."""
    place = min(place, NEXTS - 1)
    while place > 0:
        put_whole(row + 8 * place, whole_at(row + 8 * place - 8))
        place -= 1
    put_whole(row, t)


def match(at, limit, given):
    """Stage the texts that begin between two addresses; the address behind the last one staged.

    `given` is the address of a row of `M_…` cells; `M_END` is where the last text of all ends. A
    text that no template fits is staged with template -1. It stops early where the room for rows
    (`M_ROOM`) is used up; values have room for `MAX_SLOTS` more than they need by then.
    """
    templates, ops = whole_at(given + 8 * M_TEMPLATES), whole_at(given + 8 * M_OPS)
    blocks, nexts = whole_at(given + 8 * M_BLOCKS), whole_at(given + 8 * M_NEXT)
    staged, values = whole_at(given + 8 * M_STAGED), whole_at(given + 8 * M_VALUES)
    room, last = whole_at(given + 8 * M_ROOM), whole_at(given + 8 * M_LAST)
    count, line, used = np.int64(0), np.int64(0), np.int64(0)
    most = room * 8  # values
    while at < limit and count < room and used < most:
        byte = byte_at(at)
        if byte == 10 or byte == 13:
            at += 1
            line += byte == 10
            continue
        value = values + 8 * used
        behind, t = np.int64(0), np.int64(-1)
        near, tried = nexts + 8 * NEXTS * last, np.int64(0)
        while last >= 0 and tried < NEXTS:
            t = whole_at(near + 8 * tried)
            if t < 0:
                break
            behind = fitted(at, templates + 8 * WIDTH * t, ops, blocks, value)
            if behind:
                break
            tried += 1
        if behind == 0:
            behind = text_end(at, whole_at(given + 8 * M_END))
            t = known(at, behind, given, value)
        if last >= 0 and t >= 0 and (tried > 0 or whole_at(near) < 0):
            _put_first(near, tried, t)
        row = staged + 8 * STAGED_WIDTH * count
        put_whole(row, t)
        put_whole(row + 8, at)
        put_whole(row + 16, behind)
        put_whole(row + 24, line)
        count += 1
        if t >= 0:
            used += whole_at(templates + 8 * (WIDTH * t + VALUES))
            last = t
        at = behind + 1
        line += byte_at(behind) == 10
    put_whole(given + 8 * M_LAST, last)
    put_whole(given + 8 * M_COUNT, count)
    put_whole(given + 8 * M_LINES, line)
    return at
