"""What a summary tells of the numbers, kept while batches go by: steps, segments, last values."""

import math
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow.compute as pc

from runwatch.records import Batch
from runwatch.summary import Steps

_SHOWN = (
    "loss", "eval_loss", "perplexity", "accuracy", "eval_accuracy", "reward", "lr", "grad_norm",
    "throughput", "step_time", "mfu",
)  # fmt: skip
_MAX_SERIES = 4096


class Outline:
    """Streaming: fed batch by batch, asked at the end. `state` is plain JSON."""

    def __init__(self) -> None:
        self.first_step: int | None = None
        self.last_step: int | None = None
        self.total_steps: int | None = None
        self.segments = 1
        self.ranks: set[int] = set()
        self._last: dict[str, tuple[str, float]] = {}  # metric -> (quantity, value)

    def feed(self, batch: Batch) -> None:
        """Take the next batch."""
        if batch.total_steps is not None:
            self.total_steps = batch.total_steps
        for rank in (
            *pc.unique(batch.points.column("rank")).to_pylist(),
            *pc.unique(batch.lines.column("rank")).to_pylist(),
        ):
            if rank is not None:
                self.ranks.add(rank)
        for step, _ in sorted(batch.progress.values(), key=itemgetter(1)):  # by line
            self.last_step = step
            self.first_step = step if self.first_step is None else min(step, self.first_step)
        points = batch.points
        if not points.num_rows:
            return
        low = pc.min(points.column("step")).as_py()
        if low is not None:  # what `progress` tells of a batch is its last step
            self.first_step = low if self.first_step is None else min(low, self.first_step)
        segments = pc.max(points.column("segment")).as_py()
        self.segments = max(self.segments, int(segments) + 1)
        self._remember(points)

    def _remember(self, points: Any) -> None:
        """The last value of every metric that a summary may show."""
        metric, quantity = points.column("metric"), points.column("quantity")
        names, kinds = metric.dictionary.to_pylist(), quantity.dictionary.to_pylist()
        codes = metric.indices.to_numpy(zero_copy_only=False)[::-1]
        _, last = np.unique(codes, return_index=True)
        for back in -np.sort(-last):  # those that were reported last stand last
            row = points.num_rows - 1 - int(back)
            name, kind = names[metric.indices[row].as_py()], quantity.indices[row].as_py()
            if kind is None or kinds[kind] not in _SHOWN:
                continue
            if self._last.pop(name, None) is None and len(self._last) >= _MAX_SERIES:
                continue
            self._last[name] = (kinds[kind], points.column("value")[row].as_py())

    @property
    def steps(self) -> Steps:
        """Where the run began, where it is, and where it goes."""
        return Steps(self.first_step, self.last_step, self.total_steps)

    def latest(self, quantity: str) -> tuple[str, float] | None:
        """Name and value of the metric of this quantity that was reported last."""
        found = [(name, value) for name, (kind, value) in self._last.items() if kind == quantity]
        return found[-1] if found else None

    def final_metrics(self) -> dict[str, float]:
        """The last value of the metrics that say how it went, the loss first."""
        ranked = sorted(self._last.items(), key=lambda item: _SHOWN.index(item[1][0]))
        found: dict[str, float] = {}
        each: dict[str, int] = {}
        for name, (kind, value) in ranked:
            each[kind] = each.get(kind, 0) + 1
            if each[kind] <= 2 and (math.isfinite(value) or kind in ("loss", "grad_norm")):
                found[name] = value
        return found

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {
            "first_step": self.first_step, "last_step": self.last_step,
            "total_steps": self.total_steps, "segments": self.segments, "last": self._last,
            "ranks": sorted(self.ranks),
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self.first_step, self.last_step = state["first_step"], state["last_step"]
        self.total_steps, self.segments = state["total_steps"], state["segments"]
        self.ranks = set(state["ranks"])
        self._last = {name: (kind, value) for name, (kind, value) in state["last"].items()}
