"""How the tables lie in memory that `matching` and `following` read: columns of rows, all 8 bytes.

A *template* is what a line of one form looks like byte for byte (`parse/template.py` learns it).
Its operations say how to match it, its other columns what the readable path makes of it.
"""

import numpy as np

# An operation of a template is a text and what stands behind it. Its row is (operation, first block
# of the text, its length, a, b, c). A WHOLE number is nothing but digits, a GROUPED one has commas
# between its thousands, in front of one that stands APART is no such comma, a SMALL one is no more
# than TIMES. A block says for each of `RUN` bytes the least that it may be, and how far above that.
(NOTHING, STAMP, GIVEN, BLANKS, UNTIL, HEX, GROUPED, SAME, WHOLE, NUMBER, APART, SMALL,
 SMALL_APART, UNIX) = range(14)  # fmt: skip
MAX_GROUPS = 5  # of three digits in a number
MAX_HEX = 64  # digits of an address in memory
OP_WIDTH = 6
# A stamp's text is compared with the text before it, then read: where its fields begin, in bits of
# `a`, six for each place and two or three for a width. A year, or a month, of no width is the one
# that stands there.
(S_HOUR, S_DAY, S_DAY_WIDTH, S_MONTH, S_MONTH_WIDTH, S_FRACTION, S_DIGITS, S_HALF, S_YEAR_WIDTH,
 S_YEAR) = (0, 6, 12, 14, 20, 22, 28, 31, 37, 40)  # fmt: skip
SPARK = 3  # the width of a year of two digits that is above 12
YEARS = 1 << 13
BEYOND = 1 << 53  # microseconds since 1970 of a moment that no double tells from the next
TIMES = 1e9  # above it a number under the name of a time is one, in Unix seconds
RUN = 32  # bytes that are looked at together

# Columns of a template's row. A column that names a slot is -1 where there is none; CODE, INSIDE
# and HEAD are what must hold of its writer, ANY where nothing must.
(OPS, OPS_END, VALUES, SIBLING, POINTS, POINTS_END, STEP, TOTAL, EPOCH, TOTAL_EPOCHS, RANK, TIME,
 TRAINING, KIND, DEEP, NEAR, OPEN, PLACED, BAR, TRAITS, CODE, INSIDE, HEAD, NEW_HEAD, EVIDENCE,
 KEY, COUNTS, LONG, CONTINUES, ASKED, WIDTH) = range(31)  # fmt: skip
ANY, NEVER = -1, 2
TEXT, CODED, TRACED = range(3)  # blocks
NOTED = 4  # in DEEP, besides what that says: a line of note
# What a message is to `silence.Quiet`. UNSEEN messages are nothing to it, of several seen at once
# (MANY) each is plain text.
# One of a WHOLE_LINE is all that its line has behind its prefixes, as it stands there.
STARTS, FRAME, GOES_ON, SOURCE, EMPTY, UNSEEN, MANY, WHOLE_LINE = (1 << n for n in range(8))
# How sure a template's points are: not at all, held back until proven, or surely.
NONE, KNOWN, HELD, CLEAR = range(4)
# What a template is of progress bars: none, one that counts training, one beside it, one that may
# be nested in another.
NO_BAR, COUNTING, ASIDE, NESTED = range(4)

# Columns of a writer's place, as doubles; nan is "not known".
(P_STEP, P_EPOCH, P_TOTAL, P_EPOCHS, P_SEGMENT, P_NEAR, P_OPEN, P_BAR, P_CODE, P_TRACE, P_HEAD,
 P_BEGAN, P_CHANGED, P_WIDTH) = range(14)  # fmt: skip
CODE_LIMIT, IN_CODE = 12.0, 5.0  # as in `silence.Quiet`
# What became of a form that must prove itself; its cells are (fate, step, epoch, digest of values),
# the last for a form that WAITS only: it came there with those values. A NEW one never came, of an
# UNKNOWN one only its writer's gate can tell.
UNKNOWN, PROVEN, REFUSED, SHOWN, SHOWN_NOW, WAITS, NEW, REFUSED_NOW = range(8)
GATE_WIDTH = 4
EVENT_WIDTH = 5  # writer, template, line, time, where its values begin, -1 where it is refused
DIGEST = 0x9E3779B97F4A7C15  # odd; what a digest of values is multiplied by for each

# A stencil, in bytes: cells, then pairs of (operation, where) of what is more than digits, then
# blocks, then numbers. The cells are its template and the bytes before the end of the line, and
# where each part ends. A number is (where, 8 * slot, what to take away, divisor, scale, weights).
Z_TEMPLATE, Z_LENGTH, Z_BLOCKS_END, Z_NUMBERS_END, Z_OTHERS_END = range(5)
Z_OTHERS, Z_BLOCKS, Z_LONGEST, Z_NUMBER_WIDTH = 64, 192, 20 * RUN, 104
Z_NUMBERS = Z_BLOCKS + 2 * Z_LONGEST
Z_SIZE = Z_NUMBERS + 32 * Z_NUMBER_WIDTH
STENCILS = 64  # of all templates; the oldest makes way
# What is kept of each template: its credit, then its last stencils, the last used first. A credit
# below 0 is how many texts are not worth a stencil.
KEPT_STENCILS, KEPT_WIDTH = 4, 5

# What `match` is given: addresses of tables, then numbers, then what it counts.
(M_TEMPLATES, M_OPS, M_BLOCKS, M_FORMS, M_EXACT, M_NEXT, M_STAGED, M_VALUES, M_FORM_MASK,
 M_EXACT_MASK, M_ROOM, M_END, M_LAST, M_COUNT, M_LINES, M_STENCILS, M_KEPT, M_HAND,
 M_WIDTH) = range(19)  # fmt: skip
# What `follow` is given besides.
(F_POINTS, F_CONSTANTS, F_WRITERS, F_PLACES, F_MARKS, F_GATES, F_REACHED, F_CHANGED, F_BESIDE,
 F_TALLIES, F_OUT, F_OUT_VALUES, F_SCRATCH, F_EVENT, F_EVENT_VALUES, F_RANKS, F_NOTE, F_ROOM,
 F_KINDS, F_KEYS, F_OWN, F_NOTES, F_EXAMPLES, F_LINE, F_SPEAKER, F_METRIC_LINE, F_VALUE, F_MADE,
 F_METRIC_LINES, F_UNCLEAR, F_CHANGES, F_BESIDES, F_EVENTS, F_EVENT_VALUE, F_NOTED, F_ROWS,
 F_MARKED, F_GATED, F_WHY, F_BLANK, F_WHO, F_FORM, F_WIDTH) = range(43)  # fmt: skip

# Why `follow` stopped: at the end, at a text that no template fits in its context, at one whose
# meaning is not settled yet, for lack of room, at the first text of a rank that has no row to take,
# at a form of which only a gate can tell.
DONE, STRANGE, UNSETTLED, FULL, NEWCOMER, ASKS = range(6)
OTHER_HEAD = 1 << 40  # a table header that no template knows

STAGED_WIDTH = 4  # template or -1, address, address behind, number of line ends before it
POINT_WIDTH, OUT_WIDTH, OUT_VALUES_WIDTH, TALLY_WIDTH = 5, 6, 4, 7
NEXTS = 4  # templates that followed a template lately, the last one first
MAX_SLOTS = 256  # values of a line
MAX_FILLING = 300  # bytes of a bar
MAX_RANK = 65536
MAX_BESIDES = 1024
MAX_EVENTS, MAX_EVENT_VALUES = 1024, 8192
MAX_NOTED, NOTE_WIDTH = 1024, 5  # lines of note: staged text, writer, block, step, segment
PAD = 64  # bytes behind the last text that may be read
LONGEST = 16384  # bytes of a line that has a template

# Bytes that no form depends on: numbers, however they are written, and blanks.
_LOOSE = b"0123456789.+-eE "


def stamp_code(
    year: int, year_width: int, month: int, month_width: int, day: int, day_width: int, hour: int,
    fraction: int, digits: int, half: int,
) -> int:  # fmt: skip
    """The bits of a stamp's fields."""
    return (
        hour << S_HOUR | day << S_DAY | day_width << S_DAY_WIDTH | month << S_MONTH
        | month_width << S_MONTH_WIDTH | fraction << S_FRACTION | digits << S_DIGITS
        | half << S_HALF | year_width << S_YEAR_WIDTH | year << S_YEAR
    )  # fmt: skip


def _weights() -> tuple[np.ndarray, np.ndarray]:
    """For each byte what it adds to the hash of a form, and whether it counts at all."""
    weights, counted, state = np.zeros(256, np.uint64), np.zeros(256, np.uint64), 0x9E3779B97F4A7C15
    for byte in range(256):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        if byte not in _LOOSE:
            weights[byte], counted[byte] = state, 0xFFFFFFFFFFFFFFFF
    return weights, counted


FORM_WEIGHTS, FORM_COUNTED = _weights()
