"""What the ranks of a run say of one metric at the same steps: where they agree, who does not."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from runwatch.detect.series import Groups
from runwatch.detect.table import Floats, Ints
from runwatch.kernels.tracks import NOTHING

MOST = 256  # steps that are kept of a metric; of more, every second one
SAME = 1e-3  # share by which values may differ that agree: they are printed rounded
EXACT = 1e-5  # share by which they may differ where agreement is to be proven
PROVEN = 30  # steps at which all ranks agreed, before a disagreement means something
LOCAL = 5  # steps of disagreement before that, after which a metric is each rank's own
RANKS = 4096
_GROUPS = 8  # what ranks say differently of one step; more say nothing together
_FEW = 4096  # rows that are taken in together
_STEP_BITS, _STEPS, _EPOCHS = 40, (1 << 40) - 1, (1 << 22) - 1
_SPREAD = np.int64(
    0x9E3779B97F4A7C15 - (1 << 64)
)  # golden ratio: neighbours fall apart (Knuth 3, 6.4)
_COLUMNS = ("value", "rank", "line", "time", "count", "loose")

Place = tuple[str, int, int]  # stream, line and time


class Told(NamedTuple):
    """The steps of rows as keys, what spreads them, and which are not those of the row before."""

    keys: Ints
    spread: Ints
    fresh: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, groups: Groups) -> "Told":
        """The rows of these series."""
        step, epoch = groups.arrays.step, groups.arrays.epoch
        keys = np.maximum(step, 0)
        if not np.isnan(epoch[0]) or not np.isnan(epoch).all():
            whole = np.clip(np.nan_to_num(epoch), 0, _EPOCHS).astype(np.int64)
            keys = (whole << _STEP_BITS) + np.minimum(keys, _STEPS)
        elif keys.max() > _STEPS:
            keys = np.minimum(keys, _STEPS)
        fresh = step != NOTHING
        again = keys[1:] == keys[:-1]
        if again.any():
            again[groups.begins[1:-1] - 1] = False
            fresh[1:] &= ~again
        return cls(keys, _spread(keys), fresh)


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


@dataclass(slots=True)
class Group:
    """Ranks that say alike what the first rank did not, and where one of them says it first."""

    value: float
    ranks: list[int]
    place: Place


@dataclass(slots=True)
class Compared:
    """One metric in the latest segment of a run; a step is kept or not whoever tells it when.

    `keys` are epoch and step as one number that grows, and beside them what the first rank said,
    who that was and where, how many ranks said the same, and whether not exactly.
    """

    segment: int = -1
    stride: int = 1
    keys: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    value: Floats = field(default_factory=lambda: np.zeros(0))
    rank: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    line: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    time: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    count: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    loose: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    streams: dict[int, str] = field(default_factory=dict)  # of each rank
    last: dict[int, int] = field(default_factory=dict)  # of each rank, the key it told last
    apart: dict[int, list[Group]] = field(default_factory=dict)
    proven: bool = False
    local: bool = False

    def feed(self, stream: str, groups: Groups, chosen: list[int], told: "Told") -> None:
        """Take in these series, which are of one metric and tell their rank."""
        latest = max(int(groups.segments[i]) for i in chosen)
        if latest > self.segment:
            self.__init__(latest)  # type: ignore[misc]  # a restart counts anew
        if self.local or latest < self.segment:
            return
        rows = self._once(stream, groups, chosen, told)
        if len(self.last) == 1 and self._alone(rows):
            return
        while len(rows.keys):
            end = self._end(rows.keys)
            self._take(rows.of(slice(0, end)))
            if self.local:
                return
            if len(self.keys) > MOST:
                self._thin(2 * self.stride)
            rows = rows.of(slice(end, None))
            rows = rows.of(_is_kept(_spread(rows.keys), self.stride))

    def _once(self, stream: str, groups: Groups, chosen: list[int], told: "Told") -> "Rows":
        """The rows of steps that are kept, each step of a rank once, in line order."""
        ranks, again = np.full(len(groups), -1), []
        for i in chosen:
            rank: int = groups.names[i][1] or 0
            begin, end = int(groups.begins[i]), int(groups.begins[i + 1])
            known = rank in self.last or len(self.last) < RANKS
            if known and groups.segments[i] == self.segment:
                ranks[i] = rank
                if told.keys[begin] == self.last.get(rank, -1):
                    again.append(begin)
                self.streams[rank], self.last[rank] = stream, int(told.keys[end - 1])
        at = np.flatnonzero(told.fresh & _is_kept(told.spread, self.stride))
        of = ranks[np.searchsorted(groups.begins, at, side="right") - 1]
        kept = of >= 0
        for row in again:
            kept[np.searchsorted(at, row) : np.searchsorted(at, row, side="right")] = False
        at, of = at[kept], of[kept]
        if len(groups) > 1:  # as if each had come by itself
            order = np.argsort(groups.arrays.line[at], kind="stable")
            at, of = at[order], of[order]
        line, time, value = groups.arrays.line[at], groups.arrays.time[at], groups.arrays.value[at]
        return Rows(told.keys[at], of, line, time, value)

    def _alone(self, rows: "Rows") -> bool:
        """Take in what the only rank so far says, where it goes on from what it said."""
        keys = np.concatenate((self.keys[-1:], rows.keys))
        if not (keys[1:] > keys[:-1]).all():
            return False
        stride, spread = self.stride, _spread(np.concatenate((self.keys, rows.keys)))
        while np.count_nonzero(_is_kept(spread, stride)) > MOST:
            stride *= 2
        if stride > self.stride:
            self._thin(stride)
            rows = rows.of(_is_kept(_spread(rows.keys), stride))
        before = len(self.keys)
        self._append(rows)
        self.count[before:] = 1
        return True

    def _append(self, rows: "Rows") -> None:
        zero = np.zeros(len(rows.keys), np.int64)
        told = (rows.value, rows.rank, rows.line, rows.time, zero, zero > 0)
        self.keys = np.concatenate((self.keys, rows.keys))
        for name, column in zip(_COLUMNS, told, strict=True):
            setattr(self, name, np.concatenate((getattr(self, name), column)))

    def _choose(self, which: Any) -> None:
        for name in ("keys", *_COLUMNS):
            setattr(self, name, getattr(self, name)[which])

    def _end(self, keys: Ints) -> int:
        """How many rows there are until one step too many is kept, of the next few."""
        first = _firsts(keys[:_FEW])
        new = np.sort(first[~_among(keys[first], self.keys)])
        room = MOST - len(self.keys)
        return min(len(keys), _FEW) if len(new) <= room else int(new[room]) + 1

    def _take(self, rows: "Rows") -> None:
        first = _firsts(rows.keys)
        fresh = rows.of(first[~_among(rows.keys[first], self.keys)])
        if len(fresh.keys):
            self._append(fresh)
            self._choose(np.argsort(self.keys))
        at = np.searchsorted(self.keys, rows.keys)
        same, exact = (_same(rows.value, self.value[at], share) for share in (SAME, EXACT))
        begin = 0
        for i in [*np.flatnonzero(~same).tolist(), len(same)]:
            np.add.at(self.count, at[begin:i][same[begin:i]], 1)
            self.loose[at[begin:i][~exact[begin:i]]] = True
            if i < len(same):
                self._part(rows, i)
                if self._is_local():
                    self.__init__(self.segment, local=True)  # type: ignore[misc]
                    return
            begin = i

    def _part(self, rows: "Rows", i: int) -> None:
        """One rank says something else than the first one."""
        rank, value = int(rows.rank[i]), float(rows.value[i])
        groups = self.apart.setdefault(int(rows.keys[i]), [])
        for group in groups:
            if _is_near(value, group.value):
                group.ranks.append(rank)
                return
        if len(groups) == _GROUPS:
            return
        place = (self.streams[rank], int(rows.line[i]), int(rows.time[i]))
        groups.append(Group(value, [rank], place))

    def _is_local(self) -> bool:
        """Whether the metric is each rank's own: it differs before agreement was proven."""
        if not self.proven:
            together = (self.count > 1) & ~self.loose & (self.keys < min(self.apart))
            self.proven = int(np.count_nonzero(together)) >= PROVEN
        return not self.proven and len(self.apart) >= LOCAL

    def _thin(self, stride: int) -> None:
        """Keep the steps of a longer stride."""
        self.stride = stride
        kept = _is_kept(_spread(self.keys), self.stride)
        self._choose(kept)
        alive = {*self.keys.tolist()}
        self.apart = {key: groups for key, groups in self.apart.items() if key in alive}

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        columns = {name: getattr(self, name).tolist() for name in ("keys", *_COLUMNS)}
        columns["value"] = [_plain(value) for value in columns["value"]]
        apart = [
            [key, [[_plain(g.value), g.ranks, list(g.place)] for g in groups]]
            for key, groups in self.apart.items()
        ]
        more = {name: getattr(self, name) for name in ("segment", "stride", "proven", "local")}
        places = {"streams": [*self.streams.items()], "last": [*self.last.items()]}
        return {**columns, **more, **places, "apart": apart}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Compared":
        """What `state` gave, as it was."""
        kinds = {"value": np.float64, "loose": np.bool_}
        columns: dict[str, Any] = {
            n: np.array(state[n], kinds.get(n, np.int64)) for n in ("keys", *_COLUMNS)
        }
        apart = {
            key: [Group(float(v), ranks, tuple(place)) for v, ranks, place in groups]
            for key, groups in state["apart"]
        }
        places = {name: dict(state[name]) for name in ("streams", "last")}
        return cls(**{**state, **columns, **places, "apart": apart})


def _spread(keys: Ints) -> Ints:
    """Numbers whose last bits are as good as drawn at random."""
    spread: Ints = (keys * _SPREAD) >> 40
    return spread


def _firsts(keys: Ints) -> Ints:
    """Where each key stands first."""
    order: Ints = np.argsort(keys, kind="stable")
    first: Ints = order[np.diff(keys[order], prepend=-1) != 0]
    return first


def _among(keys: Ints, known: Ints) -> npt.NDArray[np.bool_]:
    """Which keys are known; those are in order."""
    at = np.searchsorted(known, keys)
    found: npt.NDArray[np.bool_] = np.append(known, -1)[at] == keys
    return found


def step_of(key: int) -> int:
    """The step of a key."""
    return key & _STEPS


def _is_kept(spread: Ints, stride: int) -> npt.NDArray[np.bool_]:
    """Which steps are kept: of every stride those that were of the one before, half of them."""
    kept: npt.NDArray[np.bool_] = (spread & (stride - 1)) == 0
    return kept


def _is_near(one: float, other: float) -> bool:
    """`_same` of two numbers."""
    nearly = abs(one - other) <= SAME * max(abs(one), abs(other))
    return nearly or one == other or (one != one and other != other)


def _same(one: Any, other: Any, share: float) -> Any:
    """Whether numbers differ by no more than this share, or are no numbers alike."""
    with np.errstate(invalid="ignore"):
        near = abs(one - other) <= share * np.maximum(abs(one), abs(other))
    return near | (one == other) | ((one != one) & (other != other))


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
