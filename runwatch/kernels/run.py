"""Runs a kernel over the series of a batch, plain for few rows and compiled for many.

A kernel stops where something happened that is told in objects, and is called again from there.
All kernels are one loop, `over`, around what each does with a row. Compiled, most rows go another
way: a kernel's `stretch` takes a stretch of rows in which nothing happens, with what changes from
row to row in registers, and does to the record what the same rows would have done one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from runwatch.kernels import native
from runwatch.kernels.field import Field
from runwatch.kernels.tracks import Tracks

DONE = 0
SEGMENT = 1  # a series goes on in another segment than its record
SOME = 20_000  # rows from which loading compiled kernels pays
MANY = 200_000  # rows from which compiling them pays

Kernel = Callable[..., int]


compiled: dict[Kernel, native.Native] = {}  # by what they are row by row


def over(
    take: Callable[..., int], stretch: Callable[..., int] | None, fields: Sequence[Field],
    more: str = "whole",
) -> Kernel:  # fmt: skip
    """The kernel that gives `take` row after row of series after series, each with its record.

    The rows of a series lie side by side, from `begins` on. It goes on from series `at[0]` and row
    `at[1]` until a series goes on in another segment than its record (SEGMENT) or `take` says
    something else than DONE, in the row before `at[1]`. A series whose slot is negative is passed
    by. `more` is what `take` wants beside the row: a whole number, a real one, or bytes, one for
    each row. `stretch`, which compiled code asks first, says how far it came in the rows from `k`
    to `end`. It is compiled for records of these `fields`.
    """
    follow = _loop(take, None)
    name, takes = f"{take.__module__.rpartition('.')[2]}.{take.__name__}", f"{_ROWS}{_MORE[more]}"
    compiled[follow] = native.judging.kernel(name, takes, _loop(take, stretch), fields)
    return follow


_ROWS = "iiiffiiiri"  # line, time, step, epoch, value; begins, segments, slots, records, at
_MORE = {"whole": "n", "real": "x", "bytes": "b"}


def _loop(take: Callable[..., int], stretch: Callable[..., int] | None) -> Kernel:
    def follow(
        line: Any, time: Any, step: Any, epoch: Any, value: Any, begins: Any, segments: Any,
        slots: Any, states: Any, at: Any, more: Any,
    ) -> int:  # fmt: skip
        g, k = at[0], at[1]
        while g < len(slots):
            if slots[g] < 0:
                g += 1
                continue
            s = states[slots[g]]
            if s.segment != segments[g]:
                at[0], at[1] = g, k
                return SEGMENT
            k, end = max(k, begins[g]), begins[g + 1]
            while k < end:
                if stretch is not None:
                    k = stretch(s, line, step, epoch, value, time, k, end, more)
                    if k == end:
                        break
                happened = take(s, k, value[k], line[k], step[k], time[k], epoch[k], more)
                k += 1
                if happened != DONE:
                    at[0], at[1] = g, k
                    return happened
            g += 1
        return DONE

    return follow


def compiles(rows: int) -> bool:
    """Whether compiled code is at hand, or so many rows are worth the time that loading it takes,
    or compiling it where nobody did."""
    judging = native.judging
    if judging.is_loaded or rows < SOME:
        return judging.is_loaded
    return (rows >= MANY or judging.is_kept) and judging.works()


def expect(tracks: Tracks, rows: int) -> None:
    """So many rows are coming: where compiled code will take them, records are laid out for it, and
    best before new ones join."""
    tracks.seen += rows
    if not tracks.compiled and compiles(tracks.seen):
        tracks.rows(compiled=True)


def numbers_of(rows: Sequence[Any], begins: Any, segments: Any) -> tuple[int, ...]:
    """What tells compiled kernels of the rows of series, the same for all of them: where each array
    is, and its length. The arrays are of the types of `_ROWS`, each in one piece."""
    found: list[int] = []
    for array in (*rows, begins, segments):
        found += native.address(array), len(array)
    return tuple(found)


def passed(
    kernel: Kernel, tracks: Tracks, groups: Any, slots: Any, more: Any
) -> Iterator[tuple[int, int, int]]:
    """One pass of a kernel over the series of a quantity; gives what happened.

    `groups` has the rows of the series as `numbers` and as `lists`. Each event is the kernel's
    code, the index of the series and the row where it happened (not of SEGMENT); the record may be
    changed before the next one is asked for. How many rows come must have been told (`expect`).
    """
    if tracks.compiled:
        at: Any = tracks.at
        at[0] = at[1] = 0
        last = (native.address(more), len(more)) if isinstance(more, np.ndarray) else (more,)
        given = (native.address(slots), len(slots), *tracks.addresses, len(at), *last)
        follow = partial(compiled[kernel].code, *groups.numbers, *given)
    else:
        at, states = [0, 0], tracks.rows(compiled=False)
        rows = [a.tolist() for a in (groups.begins, groups.segments, slots)]
        listed = more.tolist() if isinstance(more, np.ndarray) else more
        follow = partial(kernel, *groups.lists, *rows, states, at, listed)
    while (code := int(follow())) != DONE:
        yield code, int(at[0]), int(at[1]) - 1
