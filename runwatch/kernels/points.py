"""Points as they are written down, or counted where nobody keeps them."""

from runwatch.kernels.layout import (
    F_OUT,
    F_OUT_VALUES,
    OUT_VALUES_WIDTH,
    OUT_WIDTH,
    P_SEGMENT,
)
from runwatch.kernels.memory import double_at, put_double, put_whole, whole_at


def value_of(point, values, constant):
    """The value of a point: of its slot, or what it always is."""
    slot = whole_at(point)
    return double_at(values + 8 * slot) if slot >= 0 else double_at(constant)


def put_point(given, made, point, line, moment, w, place, value, step, epoch):
    """Write a point into row `made`, with what goes beside it."""
    o = whole_at(given + 8 * F_OUT) + 8 * OUT_WIDTH * made
    put_whole(o, line)
    put_whole(o + 8, moment)
    put_whole(o + 16, w)
    put_whole(o + 24, whole_at(point + 16))
    put_whole(o + 32, whole_at(point + 24))
    put_whole(o + 40, whole_at(point + 32))
    v = whole_at(given + 8 * F_OUT_VALUES) + 8 * OUT_VALUES_WIDTH * made
    put_double(v, value)
    put_double(v + 8, step)
    put_double(v + 16, epoch)
    put_double(v + 24, double_at(place + 8 * P_SEGMENT))


def count(tally, value):
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
