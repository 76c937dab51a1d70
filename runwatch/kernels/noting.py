"""Lines of note, as they are told to who writes them down."""

from runwatch.kernels.layout import (
    F_NOTE,
    F_NOTED,
    MAX_NOTED,
    NOTE_WIDTH,
    P_SEGMENT,
    P_STEP,
)
from runwatch.kernels.memory import double_at, put_double, put_whole, whole_at


def note_line(given, i, w, place, block):
    """Note a staged text, the block it stands in and where its writer is behind it; whether there
    is room for another."""
    noted = whole_at(given + 8 * F_NOTED)
    note = whole_at(given + 8 * F_NOTE) + 8 * NOTE_WIDTH * noted
    put_whole(note, i)
    put_whole(note + 8, w)
    put_whole(note + 16, block)
    put_double(note + 24, double_at(place + 8 * P_STEP))
    put_double(note + 32, double_at(place + 8 * P_SEGMENT))
    put_whole(given + 8 * F_NOTED, noted + 1)
    return noted + 1 < MAX_NOTED
