"""Lines held against one template: its literals compared, its numbers read."""

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
    GIVEN,
    GROUPED,
    HEX,
    MAX_FILLING,
    MAX_HEX,
    NUMBER,
    OP_WIDTH,
    OPS,
    OPS_END,
    RUN,
    SAME,
    SMALL,
    SMALL_APART,
    STAMP,
    TIMES,
    UNIX,
    UNTIL,
    WHOLE,
)
from runwatch.kernels.memory import (
    byte_at,
    differs_at,
    double_at,
    put_double,
    put_whole,
    trailing_zeros,
    whole_at,
    word_at,
)
from runwatch.kernels.moment import stamp_at, unix_moment

_BLANKS = np.uint64(0x2020202020202020)


def hex_end(at, end):
    """The address behind the hexadecimal digits at another, no further than an end."""
    while at < end:
        byte = byte_at(at)
        letter = byte | 32
        if not (48 <= byte <= 57 or 97 <= letter <= 102):
            return at
        at += 1
    return at


def fitted(at, row, ops, blocks, values):
    """The address behind a text that a template fits, 0 where it does not. Values are filled in
    on the way."""
    begin, op = at, ops + whole_at(row + 8 * OPS) * (8 * OP_WIDTH)
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
            place = values + 8 * whole_at(op + 24)
            behind = number_at(at if kind != UNIX else at - whole_at(op + 40), place)
            if behind == 0:
                return np.int64(0)
            if kind == UNIX:
                moment = unix_moment(double_at(place)) - whole_at(op + 32)
                if behind != at or moment < 0 or moment >= BEYOND:
                    return np.int64(0)
                put_double(place, np.float64(moment))
            elif (kind >= SMALL and double_at(place) > TIMES) or (
                (kind == APART or kind >= SMALL_APART) and ends_thousands(at, begin)
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
        elif kind == HEX:
            behind = hex_end(at, at + MAX_HEX)
            if behind == at:
                return np.int64(0)
            at = behind
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
