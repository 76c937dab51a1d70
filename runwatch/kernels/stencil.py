"""Lines that are laid out as one before was: the same bytes, but for the digits of their numbers.

Where a number ends is known only once it was looked at, and what stands behind it can be looked at
only then. But most lines of a template have their numbers where the one before had them, and as
many digits. Of such a line a *stencil* is cut: what each byte may be, and for each number what its
digits count for. Another line is laid under it as a whole, and costs a third of what `fitted`
takes. What fits a stencil, fits its template and says the same: signs, points and exponents are
bytes of the stencil, so only numbers that one division makes of their digits are in one.
"""

import numpy as np

from runwatch.kernels.decimal import TENS
from runwatch.kernels.layout import (
    BEYOND,
    BLANKS,
    GIVEN,
    NOTHING,
    OP_WIDTH,
    OPS,
    OPS_END,
    RUN,
    SMALL,
    SMALL_APART,
    STAMP,
    WHOLE,
    Z_BLOCKS,
    Z_BLOCKS_END,
    Z_LENGTH,
    Z_LONGEST,
    Z_NUMBER_WIDTH,
    Z_NUMBERS,
    Z_NUMBERS_END,
    Z_OTHERS,
    Z_OTHERS_END,
    Z_SIZE,
    Z_TEMPLATE,
)
from runwatch.kernels.memory import (
    byte_at,
    differs_at,
    double_at,
    put_byte,
    put_double,
    put_half,
    put_whole,
    weighed_at,
    whole_at,
)
from runwatch.kernels.moment import stamp_at

_DIGITS = 15  # of a number: a double tells them apart
_SPAN = 16  # bytes of a number
_SHORT = 9  # digits of a number that is SMALL, whatever they are


def stencilled(at, stencil, ops, values):
    """The address behind a text that fits a stencil, 0 where it does not. Values are filled in."""
    text, block = at, stencil + Z_BLOCKS
    end = stencil + whole_at(stencil + 8 * Z_BLOCKS_END)
    while block < end:
        if differs_at(text, block):
            return np.int64(0)
        text += RUN
        block += 2 * RUN
    number, end = stencil + Z_NUMBERS, stencil + whole_at(stencil + 8 * Z_NUMBERS_END)
    while number < end:
        digits = at + whole_at(number)
        mantissa, scale = weighed_at(digits, number + 40), whole_at(number + 32)
        if scale:
            mantissa = mantissa * scale + weighed_at(digits + 8, number + 72)
        mantissa -= whole_at(number + 16)
        place = values + whole_at(number + 8)
        put_double(place, np.float64(mantissa) / double_at(number + 24))
        number += Z_NUMBER_WIDTH
    other, end = stencil + Z_OTHERS, stencil + whole_at(stencil + 8 * Z_OTHERS_END)
    while other < end:
        op = ops + whole_at(other) * (8 * OP_WIDTH)
        if whole_at(op) == GIVEN:
            put_whole(values + 8 * whole_at(op + 24), whole_at(op + 32))
        else:
            place, stamp = whole_at(op + 40), at + whole_at(other + 8)
            moment = stamp_at(stamp - (place & 255), whole_at(op + 24)) - whole_at(op + 32)
            if moment < 0 or moment >= BEYOND:
                return np.int64(0)
            put_double(values + 8 * (place >> 8), np.float64(moment))
        other += 16
    return at + whole_at(stencil + 8 * Z_LENGTH)


def cut(at, behind, t, row, ops, blocks, stencil):
    """Cut a stencil of the text between two addresses, which fits a template. Whether it has
    one."""
    if behind - at >= Z_LONGEST:
        return False
    put_whole(stencil + 8 * Z_TEMPLATE, np.int64(-1))
    put_whole(stencil + 8 * Z_LENGTH, behind - at)
    _cover(at, behind - at, stencil)
    if not _open_numbers(at, row, ops, blocks, stencil):
        return False
    put_whole(stencil + 8 * Z_TEMPLATE, t)
    return True


def _open_numbers(at, row, ops, blocks, stencil):
    """Go along a text with the operations of its template, which say what may vary. False where
    more does than a stencil can have."""
    number, other, here = stencil + Z_NUMBERS, stencil + Z_OTHERS, at
    for op in range(whole_at(row + 8 * OPS), whole_at(row + 8 * OPS_END)):
        cells = ops + op * (8 * OP_WIDTH)
        text, kind = whole_at(cells + 16), whole_at(cells)
        _open(stencil, here - at, text, blocks + whole_at(cells + 8) * (2 * RUN))
        here += text
        if WHOLE <= kind <= SMALL_APART:
            if number + Z_NUMBER_WIDTH > stencil + Z_SIZE:
                return False
            put_whole(number + 8, 8 * whole_at(cells + 24))
            here = _weigh(here, at, stencil, number, kind)
            if here == 0:
                return False
            number += Z_NUMBER_WIDTH
        elif STAMP <= kind <= GIVEN:
            if other + 16 > stencil + Z_BLOCKS:
                return False
            put_whole(other, op)
            put_whole(other + 8, here - at)
            other += 16
        elif kind == BLANKS:
            while byte_at(here) == 32:
                here += 1
        elif kind != NOTHING:
            return False
    put_whole(stencil + 8 * Z_NUMBERS_END, number - stencil)
    put_whole(stencil + 8 * Z_OTHERS_END, other - stencil)
    return True


def _cover(at, length, stencil):
    """Let every byte of a text, and the one behind it, be what it is, and any stand behind that."""
    place = np.int64(0)
    while place <= length or place % RUN:
        inside = place <= length
        _allow(stencil, place, byte_at(at + place) if inside else 0, 0 if inside else 255)
        place += 1
    put_whole(stencil + 8 * Z_BLOCKS_END, Z_BLOCKS + 2 * place)


def _open(stencil, place, text, block):
    """Let bytes be what a text of a template lets them be."""
    for i in range(text):
        cell = block + i // RUN * (2 * RUN) + i % RUN
        _allow(stencil, place + i, byte_at(cell), byte_at(cell + RUN))


def _allow(stencil, place, least, room):
    cell = stencil + Z_BLOCKS + place // RUN * (2 * RUN) + place % RUN
    put_byte(cell, least)
    put_byte(cell + RUN, room)


def _weigh(first, at, stencil, number, kind):
    """Let the digits of the number at an address be any, and note what each counts for; the address
    behind it. 0 where one division does not make the number of them."""
    negative = kind != WHOLE and byte_at(first) == 45
    begin = first + 1 if negative else first
    end = _digits_end(begin)
    whole, point = end - begin, np.int64(-1)
    if kind != WHOLE and byte_at(end) == 46 and _digits_end(end + 1) > end + 1:
        point, end = whole, _digits_end(end + 1)
    span = end - begin
    fraction = span - whole - 1 if point >= 0 else np.int64(0)
    if span > _SPAN or whole + fraction > _DIGITS or (kind >= SMALL and whole > _SHORT):
        return np.int64(0)
    power = -fraction
    if kind != WHOLE and (byte_at(end) | 32) == 101:
        sign = byte_at(end + 1)
        exponent = end + 2 if sign == 43 or sign == 45 else end + 1
        last = _digits_end(exponent)
        if last > exponent + 3:
            return np.int64(0)
        raised = np.int64(0)
        for place in range(exponent, last):
            raised = raised * 10 + byte_at(place) - 48
        if last > exponent:
            power, end = power + (-raised if sign == 45 else raised), last
    if power > 0 or power <= -len(TENS):
        return np.int64(0)
    divisor = TENS[-power]
    put_whole(number, begin - at)
    put_double(number + 24, -divisor if negative else divisor)
    for cell in range(_SPAN // 2):
        put_whole(number + 40 + 8 * cell, np.int64(0))
    weight, scale, sum_ = np.int64(1), np.int64(0), np.int64(0)
    place = span - 1
    while place >= 0:
        if place == 7 and span > 8:
            scale, weight = weight, np.int64(1)
        if place != point:
            _allow(stencil, begin + place - at, 48, 9)
            put_half(number + 40 + 4 * place, weight)
            sum_ += weight * max(scale, 1)
            weight *= 10
        place -= 1
    put_whole(number + 32, scale)
    put_whole(number + 16, 48 * sum_)
    return end


def _digits_end(at):
    while 48 <= byte_at(at) <= 57:
        at += 1
    return at
