"""What the ranks of a run say of one metric at the same steps: where they agree, who does not."""

import math
from dataclasses import field
from typing import Any

import numpy as np

from runwatch.arrays import Flags, Floats, Ints
from runwatch.detect.series import Groups
from runwatch.detect.steps import Rows, Told, among, firsts, is_kept, spread
from runwatch.kernels.agreement import EXACT, MOST, SAME, compared
from runwatch.slotted import mutable

PROVEN = 30  # steps at which all ranks agreed, before a disagreement means something
LOCAL = 5  # steps of disagreement before that, after which a metric is each rank's own
RANKS = 4096
_GROUPS = 8  # what ranks say differently of one step; more say nothing together
_FEW = 512  # rows that are taken in together where they differ
_COLUMNS: dict[str, Any] = {
    "keys": np.int64, "value": np.float64, "rank": np.int64, "line": np.int64, "time": np.int64,
    "count": np.int64, "loose": np.bool_,
}  # fmt: skip

Place = tuple[str, int, int]  # stream, line and time


@mutable
class Group:
    """Ranks that say alike what the first rank did not, and where one of them says it first."""

    value: float
    ranks: list[int]
    place: Place


@mutable
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
    loose: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    streams: dict[int, str] = field(default_factory=dict)  # of each rank
    last: dict[int, int] = field(default_factory=dict)  # of each rank, the key it told last
    apart: dict[int, list[Group]] = field(default_factory=dict)
    proven: bool = False
    local: bool = False

    def feed(self, stream: str, groups: Groups, chosen: list[int], told: Told) -> None:
        """Take in these series, which are of one metric and tell their rank."""
        latest = max(int(groups.segments[i]) for i in chosen)
        if latest > self.segment:
            self.__init__(latest)  # type: ignore[misc]  # a restart counts anew
        if self.local or latest < self.segment:
            return
        rows = self._once(stream, groups, chosen, told)
        if rows is None or (len(self.last) == 1 and self._alone(rows)):
            return
        while len(rows.keys):
            if (end := self._agreeing(rows) if told.compiled else 0) == 0:
                end = self._end(rows.keys)
                self._take(rows.of(slice(0, end)))
            if self.local:
                return
            if len(self.keys) > MOST:
                self._thin(2 * self.stride)
            rows = rows.of(slice(end, None))
            rows = rows.of(is_kept(spread(rows.keys), self.stride))

    def _once(self, stream: str, groups: Groups, chosen: list[int], told: Told) -> Rows | None:
        """The rows of steps that are kept, each step of a rank once, in line order; None where the
        ranks speak in other streams."""
        ranks, last = np.full(len(groups), -1), np.full(len(groups), -1)
        for i in chosen:
            rank: int = groups.names[i][1] or 0
            known = rank in self.last or len(self.last) < RANKS
            known = known and self.streams.get(rank, stream) == stream
            if known and groups.segments[i] == self.segment:
                ranks[i], last[i] = rank, self.last.get(rank, -1)
                self.streams[rank] = stream
                self.last[rank] = told.ends[i]
        if ranks.max() < 0:
            return None
        if len(self.last) == 1:
            self._ahead(told)
        at, keys, group = told.kept(self.stride)
        kept = (ranks[group] >= 0) & ((at != groups.begins[group]) | (keys != last[group]))
        at, keys, of = at[kept], keys[kept], ranks[group[kept]]
        line, time, value = groups.arrays.line[at], groups.arrays.time[at], groups.arrays.value[at]
        return Rows(keys, of, line, time, value)

    def _ahead(self, told: Told) -> None:
        """Thin before what the only rank so far says comes in, where that would be done anyhow."""
        stride = told.stride(self.stride, MOST)
        if stride > self.stride:
            self._thin(stride)

    def _alone(self, rows: Rows) -> bool:
        """Take in what the only rank so far says, where it goes on from what it said."""
        keys = np.concatenate((self.keys[-1:], rows.keys))
        if not (keys[1:] > keys[:-1]).all():
            return False
        stride, drawn = self.stride, spread(np.concatenate((self.keys, rows.keys)))
        while np.count_nonzero(is_kept(drawn, stride)) > MOST:
            stride *= 2
        if stride > self.stride:
            self._thin(stride)
            rows = rows.of(is_kept(spread(rows.keys), stride))
        before = len(self.keys)
        self._append(rows)
        self.count[before:] = 1
        return True

    def _append(self, rows: Rows) -> None:
        zero = np.zeros(len(rows.keys), np.int64)
        told = (rows.keys, rows.value, rows.rank, rows.line, rows.time, zero, zero > 0)
        for name, column in zip(_COLUMNS, told, strict=True):
            setattr(self, name, np.concatenate((getattr(self, name), column)))

    def _choose(self, which: Any) -> None:
        for name in _COLUMNS:
            setattr(self, name, getattr(self, name)[which])

    def _agreeing(self, rows: Rows) -> int:
        """Take in rows by compiled code, up to one that differs or makes steps too many; how many
        they were."""
        n, at = len(self.keys), np.array([len(self.keys), 0])
        room = min(n + len(rows.keys), max(n, MOST) + 1)
        known = {name: np.zeros(room, kind) for name, kind in _COLUMNS.items()}
        for name, column in known.items():
            column[:n] = getattr(self, name)
        compared(
            rows.keys, rows.rank, rows.line, rows.time, rows.value,
            *(known[name] for name in ("keys", "rank", "line", "time", "value", "count")),
            known["loose"].view(np.int8), at,
        )  # fmt: skip
        if (end := int(at[1])) > 0:
            for name, column in known.items():
                setattr(self, name, column[: at[0]].copy())
        return end

    def _end(self, keys: Ints) -> int:
        """How many rows there are until one step too many is kept, of the next few."""
        first = firsts(keys[:_FEW])
        new = np.sort(first[~among(keys[first], self.keys)])
        room = MOST - len(self.keys)
        return min(len(keys), _FEW) if len(new) <= room else int(new[room]) + 1

    def _take(self, rows: Rows) -> None:
        first = firsts(rows.keys)
        fresh = rows.of(first[~among(rows.keys[first], self.keys)])
        if len(fresh.keys):
            self._append(fresh)
            self._choose(np.argsort(self.keys))
        at = np.searchsorted(self.keys, rows.keys)
        same, exact = (_same(rows.value, self.value[at], share) for share in (SAME, EXACT))
        if not same.all() and self._becomes_local(rows.keys[~same]):
            self.__init__(self.segment, local=True)  # type: ignore[misc]
            return
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

    def _part(self, rows: Rows, i: int) -> None:
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

    def _becomes_local(self, keys: Ints) -> bool:
        """Whether the metric is each rank's own once rows have differed at these steps, in this
        order: it is where steps enough differ and too few before them could prove agreement."""
        if self.proven or len(self.apart.keys() | {*keys.tolist()}) < LOCAL:
            return False
        first = min([int(keys[0]), *self.apart])
        return int(np.searchsorted(self.keys, first)) < PROVEN

    def _is_local(self) -> bool:
        """Whether the metric is each rank's own: it differs before agreement was proven."""
        if not self.proven:
            together = (self.count > 1) & ~self.loose & (self.keys < min(self.apart))
            self.proven = int(np.count_nonzero(together)) >= PROVEN
        return not self.proven and len(self.apart) >= LOCAL

    def _thin(self, stride: int) -> None:
        """Keep the steps of a longer stride."""
        self.stride = stride
        kept = is_kept(spread(self.keys), self.stride)
        self._choose(kept)
        alive = {*self.keys.tolist()}
        self.apart = {key: groups for key, groups in self.apart.items() if key in alive}

    def state(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        columns = {name: getattr(self, name).tolist() for name in _COLUMNS}
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
        columns: dict[str, Any] = {n: np.array(state[n], kind) for n, kind in _COLUMNS.items()}
        apart = {
            key: [Group(float(v), ranks, tuple(place)) for v, ranks, place in groups]
            for key, groups in state["apart"]
        }
        places = {name: dict(state[name]) for name in ("streams", "last")}
        return cls(**{**state, **columns, **places, "apart": apart})


def _is_near(one: float, other: float) -> bool:
    """`_same` of two numbers."""
    return math.isclose(one, other, rel_tol=SAME) or (one != one and other != other)


def _same(one: Any, other: Any, share: float) -> Any:
    """Whether numbers differ by no more than this share, or are no numbers alike; infinity is only
    like itself."""
    with np.errstate(invalid="ignore", over="ignore"):
        apart = abs(one - other)
        near = (apart < np.inf) & (apart <= share * np.maximum(abs(one), abs(other)))
    return near | (one == other) | ((one != one) & (other != other))


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
