"""The checkpoints that a log tells of: the last one, and the best.

What lines say so is data, in `checkpoint.toml`. The best is the one that the log calls so; else the
one saved at the lowest evaluation loss; else the last.
"""

import re
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import numpy as np

from runwatch import shipped
from runwatch.pattern import compiled
from runwatch.records import Batch
from runwatch.slotted import frozen

_KEPT = 64  # checkpoints remembered, the last ones
_LONGEST = 2_000  # characters of a line that may tell of one


@frozen
class Checkpoint:
    """One saved checkpoint. `time` is the line's, in microseconds; `loss` the evaluation loss that
    the run had reported last when it was saved."""

    path: str
    step: int | None
    stream: str
    line: int
    time: int | None = None
    best: bool = False
    loss: float | None = None

    def __str__(self) -> str:
        return self.path if self.step is None else f"step {self.step} ({self.path})"


class Checkpoints:
    """Fed batch by batch, asked at any time; `state` is plain JSON."""

    def __init__(self) -> None:
        self.saved: list[Checkpoint] = []
        self._loss: dict[str, float] = {}  # of each stream, the last evaluation loss

    @property
    def watchwords(self) -> frozenset[str]:
        """Literal fragments (lower case): a line without any tells of no checkpoint."""
        return frozenset(_known().fragments)

    def feed(self, batch: Batch) -> None:
        """Take the next batch of one stream."""
        at, values = _evaluations(batch)
        if len(batch.lines):
            told = ("line", "step", "text", "time")
            columns = [batch.lines.column(name).tolist() for name in told]
            for line, step, text, time in zip(*columns, strict=True):
                found = _known().read(text)
                if found is None:
                    continue
                before = int(at.searchsorted(line, side="right"))
                loss = float(values[before - 1]) if before else self._loss.get(batch.stream.name)
                self._add(
                    replace(
                        found, stream=batch.stream.name, line=line, time=time, loss=loss,
                        step=step if found.step is None else found.step,
                    )
                )  # fmt: skip
        if len(values):
            self._loss[batch.stream.name] = float(values[-1])

    def _add(self, found: Checkpoint) -> None:
        """One place holds one checkpoint; "saving" and "saved" are the same."""
        same = next((c for c in self.saved if c.path == found.path), None)
        if same is not None:
            self.saved.remove(same)
            known = same.best and same.step == found.step
            found = replace(found, best=found.best or known)
        self.saved.append(found)
        if len(self.saved) > _KEPT:
            best = self.best()
            self.saved.remove(next(c for c in self.saved if c is not best))

    def last(self, before: int | None = None) -> Checkpoint | None:
        """The last one, or the last one saved before a step."""
        return next(iter(reversed(self._until(before))), None)

    def best(self, before: int | None = None) -> Checkpoint | None:
        """The best one, of those saved before a step where one is given."""
        saved = self._until(before)
        named = [c for c in saved if c.best]
        if named:
            return named[-1]
        rated = [c for c in saved if c.loss is not None and np.isfinite(c.loss)]
        if rated:
            return min(reversed(rated), key=lambda c: c.loss or 0.0)
        return saved[-1] if saved else None

    def _until(self, before: int | None) -> list[Checkpoint]:
        if before is None:
            return self.saved
        return [c for c in self.saved if c.step is None or c.step < before]

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {"saved": [asdict(c) for c in self.saved], "loss": dict(self._loss)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what `state` gave."""
        self.saved = [Checkpoint(**row) for row in state["saved"]]
        self._loss = dict(state["loss"])


def _evaluations(batch: Batch) -> tuple[Any, Any]:
    """Line and value of every evaluation loss of a batch, in line order."""
    points = batch.points
    if not len(points):
        return np.empty(0), np.empty(0)
    chosen = points.column("quantity").says("eval_loss")
    lines, values = (points.column(name).numbers()[chosen] for name in ("line", "value"))
    order = np.argsort(lines, kind="stable")
    return lines[order], values[order]


class _Known:
    """The patterns of `checkpoint.toml`, compiled when the first line may tell of one."""

    def __init__(self) -> None:
        self.table = shipped.table("detect/checkpoint.toml")
        self.fragments: tuple[str, ...] = tuple(self.table["fragments"])
        self._compiled: list[tuple[re.Pattern[str], bool]] = []

    def read(self, text: str) -> Checkpoint | None:
        """The checkpoint that a line tells of, without its place in the log."""
        lower = text.lower()
        if len(text) > _LONGEST or not any(fragment in lower for fragment in self.fragments):
            return None
        if self._pattern("unless").search(text):
            return None
        for pattern, best in self._patterns():
            if found := pattern.search(text):
                return self._told(text, found, best)
        return None

    def _told(self, text: str, found: re.Match[str], best: bool) -> Checkpoint:
        told = found.groupdict()
        path = told["path"].rstrip(".")
        if told.get("top"):
            best = told["value"] == told["top"]
        else:
            best = best or bool(self._pattern("best").search(text))
        return Checkpoint(path, self._step(text, path), "", 0, best=best)

    def _step(self, text: str, path: str) -> int | None:
        line = self._pattern("step_in_line").search(text.replace(path, ""))
        found = line or self._pattern("step_in_path").search(path)
        number = next(filter(None, found.groups()), None) if found else None
        return int(number) if number is not None and len(number) < 16 else None

    @lru_cache(maxsize=8)  # noqa: B019 there is one object of this class, for good
    def _pattern(self, name: str) -> re.Pattern[str]:
        return compiled(self.table[name], re.IGNORECASE)

    def _patterns(self) -> list[tuple[re.Pattern[str], bool]]:
        if not self._compiled:
            path = self.table["path"]
            self._compiled = [
                (compiled(row["pattern"].replace("{path}", path), re.I), row.get("best", False))
                for row in self.table["saved"]
            ]
        return self._compiled


@lru_cache(maxsize=1)
def _known() -> _Known:
    return _Known()
