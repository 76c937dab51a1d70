"""The curves of a run, gathered while its batches go by: small, whatever the length of the run."""

from typing import Any

import numpy as np

from runwatch.arrays import Array, Flags, Floats, Indices
from runwatch.curve import Curve, Spot, words_of
from runwatch.detect.series import Columns
from runwatch.kernels.field import NOTHING
from runwatch.records import Batch

MOST = 192  # blocks of a curve; then two become one
TAIL = 24  # last values kept as they are
CURVES = 32  # of quantities we know; and as many evaluations of other names
_KNOWN = frozenset(
    ("loss", "eval_loss", "perplexity", "accuracy", "eval_accuracy", "reward", "lr", "grad_norm")
)
_EVALUATION = frozenset(("val", "valid", "validation", "eval", "evaluation", "test", "dev"))
Rows = Indices
Places = tuple[Array, Array, Array]  # epoch, step, line


class Curves:
    """Fed batch by batch; the same batches cut in other places give the same curves.

    Of a metric that several ranks report, every step counts once, from whoever reports it first.
    Where a run goes back to an earlier step, what it had done behind that step is dropped.
    """

    def __init__(self) -> None:
        self._curves: dict[str, dict[str, Any]] = {}
        self._refused: set[str] = set()

    def feed(self, batch: Batch, table: Columns) -> None:
        """Take the next batch of one stream, and its points as arrays."""
        for code in np.flatnonzero(np.bincount(table.metric)).tolist():
            name = table.metrics[code]
            if name in self._refused:
                continue
            rows = np.flatnonzero(table.metric == code)
            track = self._curves.get(name) or self._begin(name, table, rows)
            if track is not None:
                _follow(track, table, rows)

    def told(self) -> tuple[Curve, ...]:
        """The curves, in order of appearance."""
        return tuple(_curve(name, track) for name, track in self._curves.items())

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"curves": self._curves}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._curves = state.get("curves", {})

    def _begin(self, name: str, table: Columns, rows: Rows) -> dict[str, Any] | None:
        code = int(table.quantity[rows[0]])
        quantity = None if code < 0 else table.quantities[code]
        known = quantity in _KNOWN
        taken = sum((t["quantity"] in _KNOWN) == known for t in self._curves.values())
        wanted = known or (quantity is None and _is_evaluation(name))
        if not wanted or name.endswith(".avg") or taken >= CURVES:
            if len(self._refused) < 4096:
                self._refused.add(name)
            return None
        track = self._curves[name] = {
            "quantity": quantity, "stream": "", "rank": NOTHING, "segment": 0, "count": 0,
            "size": 1, "blocks": [], "part": [0, 0.0], "end": None, "seen": None, "tail": [],
        }  # fmt: skip
        return track


def _is_evaluation(name: str) -> bool:
    return bool(_EVALUATION.intersection(words_of(name)))


def _follow(track: dict[str, Any], table: Columns, rows: Rows) -> None:
    """The rows of one metric, rank by rank, segment by segment."""
    stream = table.stream.name
    ranks = table.rank[rows]
    alike = bool((ranks == ranks[0]).all())
    for rank in [int(ranks[0])] if alike else dict.fromkeys(ranks.tolist()):
        own = rows if alike else rows[ranks == rank]
        cuts = np.flatnonzero(np.diff(table.segment[own])) + 1
        for part in np.split(own, cuts) if len(cuts) else [own]:
            bound = (stream, rank) == (track["stream"], track["rank"])
            segment = int(table.segment[part[0]])
            if bound and segment > track["segment"]:
                _back(track, _at(table, part[0]))
            elif not bound and track["seen"] is not None:
                part = part[_further(table, part, track["seen"])]
                if not len(part):
                    continue
            track.update(stream=stream, rank=rank, segment=segment)
            _take(track, table, part)


def _at(table: Columns, row: int) -> list[float]:
    """Epoch and step of a row; -1 for what it does not tell."""
    epoch, step = float(table.epoch[row]), int(table.step[row])
    return [-1.0 if np.isnan(epoch) else epoch, -1 if step == NOTHING else step]


def _where(table: Columns, rows: Rows) -> tuple[Array, Array]:
    """Epochs and steps of rows; -1 for what they do not tell."""
    epoch = np.where(np.isnan(table.epoch[rows]), -1.0, table.epoch[rows])
    step = np.where(table.step[rows] == NOTHING, -1, table.step[rows])
    return epoch, step


def _further(table: Columns, rows: Rows, seen: list[float]) -> Flags:
    """Which rows lie behind what was seen; none where the log tells no place."""
    epoch, step = _where(table, rows)
    later: Flags = (epoch > seen[0]) | ((epoch == seen[0]) & (step > seen[1]))
    return later


def _back(track: dict[str, Any], at: list[float]) -> None:
    """The run goes on from an earlier place: what was behind it is no part of its course."""
    if at == [-1.0, -1]:
        track.update(blocks=[], tail=[])
    track["blocks"] = [b for b in track["blocks"] if b[:2] < at]
    track["tail"] = [b for b in track["tail"] if b[:2] < at]
    track.update(part=[0, 0.0], end=None, seen=None)


def _take(track: dict[str, Any], table: Columns, rows: Rows) -> None:
    """Rows of one rank within one segment; repetitions of a step count once."""
    epoch, step = _where(table, rows)
    line, values = table.line[rows], table.value[rows]
    seen = track["seen"] or [np.nan, -1]
    again = (epoch[1:] == epoch[:-1]) & (step[1:] == step[:-1])
    first = bool(epoch[0] == seen[0] and step[0] == int(seen[1]))
    keep = ~np.concatenate(([first], again)) | ((epoch < 0) & (step < 0))
    track["seen"] = [float(epoch[-1]), int(step[-1])]
    if not keep.all():
        epoch, step, line, values = epoch[keep], step[keep], line[keep], values[keep]
    ends = [column[-TAIL:].tolist() for column in (epoch, step, line, values)]
    track["tail"] = (track["tail"] + [list(row) for row in zip(*ends, strict=True)])[-TAIL:]
    finite = np.isfinite(values)
    if not finite.all():
        epoch, step, line, values = epoch[finite], step[finite], line[finite], values[finite]
    _fill(track, (epoch, step, line), values)


def _fill(track: dict[str, Any], places: Places, values: Floats) -> None:
    """Add to the blocks. Sums run in order of arrival, so that the cut changes no bit of them."""
    track["count"] += len(values)
    i = 0
    while i < len(values):
        count, total = track["part"]
        end = min(len(values), i + track["size"] - count)
        sums = np.add.accumulate(np.concatenate(([total], values[i:end])))
        track["part"] = [count + end - i, float(sums[-1])]
        epoch, step, line = (column[end - 1] for column in places)
        track["end"] = [float(epoch), int(step), int(line)]
        i = end
        if track["part"][0] == track["size"]:
            track["blocks"].append([*track["end"], track["part"][1] / track["size"]])
            track["part"] = [0, 0.0]
            if len(track["blocks"]) >= MOST:
                _halve(track)


def _halve(track: dict[str, Any]) -> None:
    """Two blocks become one."""
    blocks = track["blocks"]
    pairs = zip(blocks[::2], blocks[1::2], strict=True)  # MOST is even
    track["blocks"] = [[*b[:3], 0.5 * a[3] + 0.5 * b[3]] for a, b in pairs]
    track["size"] *= 2


def _curve(name: str, track: dict[str, Any]) -> Curve:
    blocks = [_spot(block) for block in track["blocks"]]
    count, total = track["part"]
    if count and (count * 2 >= track["size"] or not blocks):
        blocks.append(_spot([*track["end"], total / count]))
    tail = tuple(_spot(one) for one in track["tail"])
    return Curve(name, track["quantity"], track["stream"], track["count"], tuple(blocks), tail)


def _spot(row: list[Any]) -> Spot:
    epoch, step, line, value = row
    return Spot(None if epoch < 0 else epoch, None if step < 0 else step, line, float(value))
