"""Steps of a run as numbers that grow, and which of them are kept of a long one."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from runwatch.arrays import Flags, Floats, Ints
from runwatch.detect.series import Groups
from runwatch.detect.table import Room
from runwatch.kernels.agreement import SPREAD, STEPS, STRIDES, kept, strides
from runwatch.kernels.field import NOTHING

_STEP_BITS, _EPOCHS = 40, (1 << 22) - 1


class Rows(NamedTuple):
    """What ranks said of one metric, row by row."""

    keys: Ints
    rank: Ints
    line: Ints
    time: Ints
    value: Floats

    def of(self, which: Any) -> "Rows":
        """Some of the rows."""
        return Rows(*(column[which] for column in self))


class Told:
    """The steps of these series, asked for by all metrics that stand in the same records; worked
    out where somebody asks, by `compiled` code or without."""

    def __init__(self, groups: Groups, room: Room, *, compiled: bool) -> None:
        self.compiled = compiled
        self._step, self._epoch, self._line = (
            groups.arrays.step, groups.arrays.epoch, groups.arrays.line
        )  # fmt: skip
        self._begins, self._room = groups.begins, room
        self._kept: dict[int, tuple[Ints, Ints, Ints]] = {}

    @cached_property
    def _epochs(self) -> bool:
        return bool(not np.isnan(self._epoch[0]) or not np.isnan(self._epoch).all())

    @cached_property
    def _compiled(self) -> bool:
        return self.compiled and not self._epochs

    @cached_property
    def _spread(self) -> Ints:
        """A number of each row by which it is kept or not."""
        return spread(self.keys(slice(None)) if self._epochs else self._step)

    @cached_property
    def _strides(self) -> tuple[bool, list[int]]:
        """Whether each row is of a later step than the one before, and if, how many rows each
        stride leaves."""
        if self._compiled:
            counts = np.zeros(STRIDES, np.int64)
            return bool(strides(self._step, counts)), counts.tolist()
        if self._epochs or not (self._step[1:] > self._step[:-1]).all():
            return False, []
        return True, [int(np.count_nonzero(is_kept(self._spread, 1 << n))) for n in range(STRIDES)]

    def stride(self, least: int, most: int) -> int:
        """The stride, `least` or a longer one, that leaves at most so many rows; `least` where not
        each row is of a later step than the one before."""
        rises, counts = self._strides
        left = counts[least.bit_length() - 1 :] if rises else []
        return least << sum(1 for count in left if count > most)

    @cached_property
    def ends(self) -> list[int]:
        """The key of each series' last row."""
        ends: list[int] = self.keys(self._begins[1:] - 1).tolist()
        return ends

    def keys(self, at: Any) -> Ints:
        """Epoch and step of these rows as one number."""
        keys: Ints = np.clip(self._step[at], 0, STEPS)
        if not self._epochs:
            return keys
        whole = np.clip(np.nan_to_num(self._epoch[at]), 0, _EPOCHS).astype(np.int64)
        keys += whole << _STEP_BITS
        return keys

    def kept(self, stride: int) -> tuple[Ints, Ints, Ints]:
        """The rows that are kept with this stride, whose step is told and not that of the row
        before, in line order: where they are, their keys and the series that they are of."""
        if stride not in self._kept:
            found = self._chosen(stride)
            if len(self._begins) > 2:  # as if each had come by itself
                order = np.argsort(self._line[found[0]], kind="stable")
                found = found[0][order], found[1][order], found[2][order]
            self._kept[stride] = found
        return self._kept[stride]

    def _chosen(self, stride: int) -> tuple[Ints, Ints, Ints]:
        """The same, series after series."""
        if self._compiled:
            at, keys, group = (
                self._room.array(f"kept {name}", np.int64, len(self._step))
                for name in ("rows", "keys", "series")
            )
            n = kept(self._step, self._begins, stride, at, keys, group)
            return at[:n].copy(), keys[:n].copy(), group[:n].copy()
        at = np.flatnonzero(is_kept(self._spread, stride))
        at = at[self._step[at] != NOTHING]
        keys = self.keys(at)
        group = np.searchsorted(self._begins, at, side="right") - 1
        fresh = keys != self.keys(np.maximum(at - 1, 0))
        fresh |= self._begins[group] == at
        return at[fresh], keys[fresh], group[fresh]


def spread(keys: Ints) -> Ints:
    """Numbers whose last bits are as good as drawn at random."""
    drawn: Ints = (keys * np.int64(SPREAD)) >> 40
    return drawn


def firsts(keys: Ints) -> Ints:
    """Where each key stands first."""
    order: Ints = np.argsort(keys, kind="stable")
    first: Ints = order[np.diff(keys[order], prepend=-1) != 0]
    return first


def among(keys: Ints, known: Ints) -> Flags:
    """Which keys are known; those are in order."""
    at = np.searchsorted(known, keys)
    found: Flags = np.append(known, -1)[at] == keys
    return found


def step_of(key: int) -> int:
    """The step of a key."""
    return key & STEPS


def is_kept(spread: Ints, stride: int) -> Flags:
    """Which steps are kept: of every stride those that were of the one before, half of them."""
    kept: Flags = (spread & (stride - 1)) == 0
    return kept
