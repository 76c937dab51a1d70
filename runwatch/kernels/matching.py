"""Lines matched against templates: literals compared, numbers read. Nothing here knows what came
before, so blocks of lines can be matched by several threads at once; `following` goes on from it.

Tables are given by address and read cell by cell.
"""

import numpy as np

from runwatch.kernels.fitting import fitted, hex_end
from runwatch.kernels.layout import (
    FORM_COUNTED,
    FORM_WEIGHTS,
    KEPT_STENCILS,
    KEPT_WIDTH,
    LONGEST,
    M_BLOCKS,
    M_COUNT,
    M_END,
    M_EXACT,
    M_EXACT_MASK,
    M_FORM_MASK,
    M_FORMS,
    M_HAND,
    M_KEPT,
    M_LAST,
    M_LINES,
    M_NEXT,
    M_OPS,
    M_ROOM,
    M_STAGED,
    M_STENCILS,
    M_TEMPLATES,
    M_VALUES,
    MAX_FILLING,
    NEXTS,
    OPS,
    OPS_END,
    SIBLING,
    STAGED_WIDTH,
    STENCILS,
    VALUES,
    WIDTH,
    Z_SIZE,
    Z_TEMPLATE,
)
from runwatch.kernels.memory import (
    byte_at,
    ends_at,
    put_whole,
    trailing_zeros,
    whole_at,
    word_at,
)
from runwatch.kernels.stencil import cut, stencilled

_ODD = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
# A template begins with a credit, and has so much at most; a stencil costs it. Without any, it has
# none for a while.
_CREDIT, _MOST, _COST, _WHILE = 32, 64, 4, 1024
_FEW = 3  # operations, which are as quick as a stencil


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
    """A number for the form of a text: what it is without its numbers, addresses, blanks and drawn
    bars."""
    sum_, sums, before = np.uint64(0), np.uint64(0), np.int64(0)
    while at < end:
        byte = byte_at(at)
        sum_ += FORM_WEIGHTS[byte]
        sums += sum_ & FORM_COUNTED[byte]
        at += 1
        if byte == 120 and before == 48:
            at = hex_end(at, end)
        before = byte
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


def _fitted_again(at, t, row, given, values):
    """As `fitted`, of a template that is likely: its stencils are tried first, and one is cut where
    none fits."""
    ops, blocks = whole_at(given + 8 * M_OPS), whole_at(given + 8 * M_BLOCKS)
    kept, stencils = whole_at(given + 8 * M_KEPT), whole_at(given + 8 * M_STENCILS)
    kept += 8 * KEPT_WIDTH * t
    credit, tried = whole_at(kept), np.int64(0)
    if credit >= 0:
        while tried < KEPT_STENCILS:
            number = whole_at(kept + 8 + 8 * tried)
            if number < 0:
                break
            stencil = stencils + Z_SIZE * number
            if whole_at(stencil + 8 * Z_TEMPLATE) == t:
                behind = stencilled(at, stencil, ops, values)
                if behind:
                    if tried:
                        _put_first(kept + 8, tried, KEPT_STENCILS, number)
                    if credit < _MOST:
                        put_whole(kept, credit + 1)
                    return behind
            tried += 1
    behind = fitted(at, row, ops, blocks, values)
    if behind == 0:
        return behind
    if credit < 0:
        credit = credit + 1 if credit < -1 else np.int64(_CREDIT)
    else:
        credit -= _COST
        number = whole_at(given + 8 * M_HAND)
        few = whole_at(row + 8 * OPS_END) - whole_at(row + 8 * OPS) < _FEW
        if few or credit < 0:
            credit = np.int64(-_WHILE)
        elif cut(at, behind, t, row, ops, blocks, stencils + Z_SIZE * number):
            _put_first(kept + 8, tried, KEPT_STENCILS, number)
            put_whole(given + 8 * M_HAND, (number + 1) % STENCILS)
        else:
            credit = np.int64(-_WHILE)
    put_whole(kept, credit)
    return behind


def _put_first(row, place, width, t):
    """Put a number in front of a row of them, in place of the one that stood there or at its
    end."""
    place = min(place, width - 1)
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
    templates, nexts = whole_at(given + 8 * M_TEMPLATES), whole_at(given + 8 * M_NEXT)
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
            behind = _fitted_again(at, t, templates + 8 * WIDTH * t, given, value)
            if behind:
                break
            tried += 1
        if behind == 0:
            behind = text_end(at, whole_at(given + 8 * M_END))
            t = known(at, behind, given, value)
        if last >= 0 and t >= 0 and (tried > 0 or whole_at(near) < 0):
            _put_first(near, tried, NEXTS, t)
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
