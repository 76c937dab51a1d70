"""Steps of a run as numbers that grow, and which of them are kept of a long one."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from runwatch.arrays import Flags, Floats, Ints
from runwatch.detect.series import Groups
from runwatch.kernels.tracks import NOTHING

_STEP_BITS, _STEPS, _EPOCHS = 40, (1 << 40) - 1, (1 << 22) - 1
# The golden ratio, by which neighbours fall apart (Knuth, The Art of Computer Programming 3, 6.4).
_SPREAD = np.int64(0x9E3779B97F4A7C15 - (1 << 64))


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
    out where somebody asks."""

    def __init__(self, groups: Groups) -> None:
        self._step, self._epoch = groups.arrays.step, groups.arrays.epoch
        self._begins = groups.begins
        self._kept: dict[int, tuple[Ints, Ints]] = {}

    @cached_property
    def _epochs(self) -> bool:
        return bool(not np.isnan(self._epoch[0]) or not np.isnan(self._epoch).all())

    @cached_property
    def spread(self) -> Ints:
        """A number of each row by which it is kept or not."""
        return spread(self.keys(slice(None)) if self._epochs else self._step)

    @cached_property
    def rises(self) -> bool:
        """Whether each row is of a later step than the one before."""
        return bool((self._step[1:] > self._step[:-1]).all() and not self._epochs)

    @cached_property
    def ends(self) -> list[int]:
        """The key of each series' last row."""
        ends: list[int] = self.keys(self._begins[1:] - 1).tolist()
        return ends

    def keys(self, at: Any) -> Ints:
        """Epoch and step of these rows as one number."""
        keys: Ints = np.clip(self._step[at], 0, _STEPS)
        if not self._epochs:
            return keys
        whole = np.clip(np.nan_to_num(self._epoch[at]), 0, _EPOCHS).astype(np.int64)
        keys += whole << _STEP_BITS
        return keys

    def kept(self, stride: int) -> tuple[Ints, Ints]:
        """The rows that are kept with this stride, whose step is told and not that of the row
        before, and their keys."""
        if stride not in self._kept:
            at = np.flatnonzero(is_kept(self.spread, stride))
            at = at[self._step[at] != NOTHING]
            keys = self.keys(at)
            fresh = keys != self.keys(np.maximum(at - 1, 0))
            fresh |= self._begins[np.searchsorted(self._begins, at, side="right") - 1] == at
            self._kept[stride] = at[fresh], keys[fresh]
        return self._kept[stride]


def spread(keys: Ints) -> Ints:
    """Numbers whose last bits are as good as drawn at random."""
    drawn: Ints = (keys * _SPREAD) >> 40
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
    return key & _STEPS


def is_kept(spread: Ints, stride: int) -> Flags:
    """Which steps are kept: of every stride those that were of the one before, half of them."""
    kept: Flags = (spread & (stride - 1)) == 0
    return kept
