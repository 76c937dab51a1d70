"""Whose a text is and what stands around it: what `parse/silence.py` and the parser do, on rows."""

import numpy as np

from runwatch.kernels.layout import (
    CODE,
    CODE_LIMIT,
    CONTINUES,
    EMPTY,
    FRAME,
    GOES_ON,
    HEAD,
    IN_CODE,
    INSIDE,
    MAX_RANK,
    P_CODE,
    P_OPEN,
    P_TRACE,
    P_WIDTH,
    RANK,
    SOURCE,
    STARTS,
)
from runwatch.kernels.memory import double_at, whole_at

TRACED = 1  # in a traceback
ENDING = 2  # behind its last line


def writer_of(row, values, writers, own, speaker, places, blank):
    """Whose text it is: as its rank says, as the stream is, or whom an indented text goes on. A
    rank that was not heard of has the blank row."""
    slot = whole_at(row + 8 * RANK)
    if slot >= 0:
        rank = double_at(values + 8 * slot)
        if not (0 <= rank < MAX_RANK) or rank != np.trunc(rank):
            return np.int64(-1)
        w = whole_at(writers + 8 * np.int64(rank))
        return w if w >= 0 else blank
    return reader_of(row, own, speaker, places)


def reader_of(row, own, speaker, places):
    """Whose text it is as far as its prefixes tell, where they name no rank."""
    if speaker >= 0 and whole_at(row + 8 * CONTINUES):
        place = places + 8 * P_WIDTH * speaker
        if double_at(place + 8 * P_OPEN) != 0 or double_at(place + 8 * P_TRACE) == TRACED:
            return speaker
    return own


def is_plain(place):
    """Whether a writer is in no traceback and no source."""
    return double_at(place + 8 * P_TRACE) == 0 and double_at(place + 8 * P_CODE) == 0


def trace_behind(traits, trace):
    """`Quiet.traceback` behind a message."""
    if traits & STARTS:
        return np.int64(TRACED)
    if trace == TRACED:
        return np.int64(TRACED if traits & FRAME else ENDING)
    if trace == ENDING and traits & GOES_ON:
        return np.int64(ENDING)
    return np.int64(0)


def code_behind(traits, code):
    """`Quiet.code` behind a message outside of a traceback."""
    if traits & SOURCE:
        return min(CODE_LIMIT, code + 2)
    return code if traits & EMPTY else max(0.0, code - 1)


def suits(row, place, code, head):
    """Whether a template was learned in a context like this."""
    inside, coded = whole_at(row + 8 * INSIDE), whole_at(row + 8 * CODE)
    under = whole_at(row + 8 * HEAD)
    return (
        (inside < 0 or inside == (double_at(place + 8 * P_OPEN) != 0))
        and (coded < 0 or coded == (code >= IN_CODE))
        and (under < 0 or under == head)
    )
