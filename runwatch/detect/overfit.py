"""Evaluations that get worse, with or without the training loss."""

import math
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from runwatch.detect.fold import finding, fold
from runwatch.detect.series import Columns, place
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.field import NOTHING, repeats
from runwatch.records import Batch

FEW = 3  # evaluations in a row that must be worse than the best
NOISE = 3.0  # times the noise of the evaluations, told by how their curve bends: trends do not
WORSE = 0.02  # share of the best value by which it must be worse
EVEN = 0.001  # share of the best value within which another is as good
MUCH = 0.10  # share from which it matters more than a note
RECENT = 50  # training losses whose median stands for the training loss


class Detector:
    """Overfitting and worsening evaluation (`overfit`, `eval_worse`).

    Sees: three evaluations in a row worse than the best one so far by 2 % and by three times
    their noise; low, from 10 % and five evaluations on medium.
    If the training loss fell meanwhile it is `overfit`, else `eval_worse`.

    Matters: the best checkpoint lies behind, and the rest of the run only moves away from it.

    Misses: runs with fewer than five evaluations, and accuracies that rise while the loss does
    too, which is told as it is: each metric by itself.

    Tune: WORSE is the share above the best that counts as worse, FEW how many evaluations must
    agree.
    """

    name = "overfit"

    def __init__(self) -> None:
        self._tracks: dict[str, dict[str, Any]] = {}
        self._train: dict[str, dict[str, Any]] = {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        told = _Training(columns, self._train.get(batch.stream.name))
        for quantity in ("eval_loss", "eval_accuracy"):
            groups = columns.groups.get(quantity)
            for i in range(0 if groups is None else len(groups)):
                self._evaluations(quantity, groups, i, told)
        if told.past is not None:
            self._train[batch.stream.name] = told.until(None)

    def _evaluations(self, quantity: str, groups: Any, i: int, training: "_Training") -> None:
        """Take the evaluations of one series."""
        key, segment = groups.keys[i], int(groups.segments[i])
        track = self._tracks.get(key)
        if track is None or segment != track["segment"]:
            self._tracks[key] = track = _track(segment)
        last = SimpleNamespace(**track["last"])
        if last.last_epoch is None:
            last.last_epoch = math.nan
        own = slice(groups.begins[i], groups.begins[i + 1])
        rows = (column[own].tolist() for column in groups.arrays)
        for line, time, step, epoch, value in zip(*rows, strict=True):
            finite = value - value == 0.0
            if not repeats(last, step, epoch, finite) and finite:
                at = place(key, line, step, time)
                _evaluation(track, [value, training.level(line), at], quantity)
        known = None if last.last_epoch != last.last_epoch else last.last_epoch
        track["last"] = vars(last) | {"last_epoch": known}

    def findings(self) -> list[Finding]:
        """What is worse than it was, now."""
        found = []
        for track in self._tracks.values():
            told = _judge(track)
            if told is not None:
                found.append(told)
        return fold(found)

    def check(self) -> Check:
        """Ran when there were evaluations enough."""
        most = max((track["count"] for track in self._tracks.values()), default=0)
        if most >= FEW + 2:
            return Check(self.name, True)
        if most == 0:
            return Check(self.name, False, "no evaluation loss in the log")
        return Check(self.name, False, f"only {most} evaluations; {FEW + 2} are needed")

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"tracks": self._tracks, "train": self._train}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._tracks, self._train = state["tracks"], state["train"]


class _Training:
    """The recent training losses of one stream, of the metric that was seen first."""

    def __init__(self, columns: Columns, past: dict[str, Any] | None) -> None:
        groups = columns.groups.get("loss")
        if past is None and groups is not None:
            past = {"key": groups.keys[0], "recent": []}
        self.past = past
        self._lines, self._values = np.zeros(0, np.int64), np.zeros(0)
        if groups is not None and past is not None:
            spans = zip(groups.keys, pairwise(groups.begins.tolist()), strict=True)
            own = [slice(*span) for key, span in spans if key == past["key"]]
            line, value = groups.arrays.line, groups.arrays.value
            if len(own) == 1:
                self._lines, self._values = line[own[0]], value[own[0]]
            elif own:
                self._lines = np.concatenate([line[part] for part in own])
                self._values = np.concatenate([value[part] for part in own])

    def until(self, line: int | None) -> dict[str, Any]:
        """What is known up to and with this line."""
        assert self.past is not None
        end = len(self._lines)
        if line is not None:
            end = int(np.searchsorted(self._lines, line, side="right"))
        values = self._values[max(0, end - RECENT) : end].tolist()
        fresh = [value for value in values if value - value == 0.0]
        return {**self.past, "recent": (self.past["recent"] + fresh)[-RECENT:]}

    def level(self, line: int) -> float | None:
        """The median of the training losses just before this line."""
        recent = sorted(self.until(line)["recent"]) if self.past is not None else []
        return float(recent[len(recent) // 2]) if recent else None


def _track(segment: int) -> dict[str, Any]:
    return {
        "segment": segment,
        "last": {"last_step": NOTHING, "last_epoch": None, "last_finite": 1},
        "count": 0,
        "best": None,
        "best_at": None,
        "train_then": None,
        "train_now": None,
        "after": [],
        "after_at": None,
        "bends": [],
        "before": [],
        "sign": None,
        "waiting": [],
        "line": 0,
    }


def _evaluation(track: dict[str, Any], seen: list[Any], quantity: str) -> None:
    """Take one evaluation; what is named accuracy waits until its first values tell which way is
    better, since MLPerf and others print word error rates and losses under that name."""
    if quantity == "eval_loss":
        _take(track, seen, 1.0)
        return
    if track["sign"] is None:
        track["waiting"] = [*track["waiting"], seen]
        if len(track["waiting"]) < FEW + 2:
            return
        first, *others = (value for value, _, _ in track["waiting"])
        sign = -1.0 if sorted(others)[len(others) // 2] >= first else 1.0
        track["sign"] = sign
        for earlier in track["waiting"]:
            _take(track, earlier, sign)
        track["waiting"] = []
        return
    _take(track, seen, track["sign"])


def _take(track: dict[str, Any], seen: list[Any], sign: float) -> None:
    value, train, place = seen
    worse = sign * value
    before, track["before"] = track["before"], [*track["before"], worse][-2:]
    track["count"] += 1
    track["train_now"] = train
    track["line"] = place["line"]
    if len(before) == 2:
        bend = abs(worse - 2 * before[1] + before[0])
        track["bends"] = [*track["bends"], bend / 1.65][-20:]
    if track["best"] is None or worse < track["best"]:
        track.update(best=worse, best_at=place, train_then=train, after=[], after_at=None)
        return
    if worse <= track["best"] + EVEN * abs(track["best"]):
        track.update(after=[], after_at=None)  # as good as the best
        return
    if not track["after"]:
        track["after_at"] = place
    track["after"] = [*track["after"], worse][-50:]


def _judge(track: dict[str, Any]) -> Finding | None:
    if track["count"] < FEW + 2 or len(track["after"]) < FEW:
        return None
    bends, best = sorted(track["bends"]), track["best"]
    margin = max(NOISE * bends[len(bends) // 2], WORSE * abs(best))
    last = track["after"][-FEW:]
    if min(last) - best <= margin:
        return None
    then, now = track["train_then"], track["train_now"]
    better = then is not None and now is not None and now < then
    much = min(last) - best > MUCH * abs(best) and len(track["after"]) >= 5
    at, step = track["after_at"], track["best_at"]["step"]
    message = (
        f"{at['metric']} is {abs(last[-1]):.4g}, worse than its best {abs(best):.4g} "
        f"(step {step}) on {len(track['after'])} evaluations since"
    )
    if better:
        message += f", while the training loss fell from {then:.4g} to {now:.4g}"
    return finding(
        "overfit" if better else "eval_worse",
        Severity.MEDIUM if much else Severity.LOW,
        at,
        message,
        state=State.OPEN,
        last_line=track["line"],
        role=Role.SYMPTOM,
        confidence="medium",
    )
