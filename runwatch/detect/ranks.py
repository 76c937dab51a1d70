"""Ranks that fall silent while the others go on."""

from itertools import pairwise
from typing import Any

import numpy as np

from runwatch.arrays import Ints
from runwatch.detect.fold import finding
from runwatch.detect.series import Columns, Groups
from runwatch.finding import Finding, Role, Severity, State
from runwatch.judgement import Check
from runwatch.kernels.arranging import furthest
from runwatch.kernels.field import NOTHING
from runwatch.kernels.rolling import middle
from runwatch.kernels.run import compiles
from runwatch.records import Batch

FEW_RANKS = 3
SPOKE = 20  # records after which a rank is one that speaks
BEHIND = 20  # records that the others are ahead of one that is silent
MEASURES = ("loss", "step_time", "throughput")  # what tells that a rank goes on, the first of them
_KEPT = 1 << 16


class Detector:
    """Ranks that fall silent (`rank_silent`).

    Sees: where three ranks or more report losses (else times or speeds) with their steps, a rank
    that did so twenty times and then no more, while the median rank went on for as long as twenty
    of its records take (medium, open).

    Matters: the rank that hangs or died is the one that says nothing; the others complain later,
    when a collective times out.

    Misses: ranks that never spoke, logs that only rank 0 writes, and a rank whose output is held
    back in a buffer. A restart counts anew, so that a run that goes on with fewer ranks is well.

    Tune: BEHIND in records of the rank itself.
    """

    name = "ranks"

    def __init__(self) -> None:
        self._ranks: dict[str, dict[str, dict[str, Any]]] = {}  # by measure and rank

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        for measure in MEASURES:
            groups = columns.groups.get(measure)
            if groups is not None and any(rank is not None for _, rank in groups.names):
                _take(self._ranks.setdefault(measure, {}), batch.stream.name, groups)
            if len(self._ranks.get(measure, ())) >= FEW_RANKS:
                return

    def _speaking(self) -> dict[str, dict[str, Any]]:
        """The ranks that speak, by the first measure that enough of them report."""
        for ranks in (self._ranks.get(measure, {}) for measure in MEASURES):
            if len(ranks) < FEW_RANKS:
                continue
            latest = max(of["segment"] for of in ranks.values())
            speak = {
                rank: of for rank, of in ranks.items()
                if of["segment"] == latest and of["records"] >= SPOKE
            }  # fmt: skip
            return speak if len(speak) >= FEW_RANKS else {}
        return {}

    def findings(self) -> list[Finding]:
        """The silent ranks."""
        speak = self._speaking()
        if not speak:
            return []
        typical = middle([float(of["last"]) for of in speak.values()], len(speak))
        return [_told(int(r), of, typical) for r, of in speak.items() if _is_silent(of, typical)]

    def check(self) -> Check:
        """Ran when enough ranks told how far they are."""
        ran = bool(self._speaking())
        return Check(
            self.name, ran, "" if ran else f"fewer than {FEW_RANKS} ranks tell their steps"
        )

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values."""
        return {"ranks": self._ranks}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
        self._ranks = state["ranks"]


def _fresh(segment: int) -> dict[str, Any]:
    return {"segment": segment, "first": None, "last": NOTHING, "records": 0}


def _take(ranks: dict[str, dict[str, Any]], stream: str, groups: Groups) -> None:
    """One more stretch of every rank's records."""
    line, time, step, _, _ = groups.arrays
    tops, at, told, firsts = (np.empty(len(groups), np.int64) for _ in range(4))
    if compiles(len(step)):
        furthest(step, groups.begins, tops, at, told, firsts)
    else:
        _furthest(step, groups.begins, tops, at, told, firsts)
    rows = zip(
        groups.names, groups.segments.tolist(), tops.tolist(), told.tolist(), firsts.tolist(),
        line[at].tolist(), time[at].tolist(), strict=True,
    )  # fmt: skip
    for (_, rank), segment, top, count, first, where, when in rows:
        if rank is None or not count or (str(rank) not in ranks and len(ranks) >= _KEPT):
            continue
        of = ranks.setdefault(str(rank), _fresh(-1))
        if segment != of["segment"]:
            of.update(_fresh(segment))
        if of["first"] is None:
            of["first"] = first
        of["records"] += count
        if top > of["last"]:
            at_time = None if when == NOTHING else when
            of.update(last=top, line=where, stream=stream, time=at_time)


def _furthest(step: Ints, begins: Ints, tops: Ints, at: Ints, told: Ints, firsts: Ints) -> None:
    """`arranging.furthest` without compiled code."""
    for i, (begin, end) in enumerate(pairwise(begins.tolist())):
        own = step[begin:end]
        at[i] = begin + int(np.argmax(own))
        known = own[own != NOTHING]
        tops[i], told[i] = step[at[i]], len(known)
        firsts[i] = known[0] if len(known) else NOTHING


def _is_silent(of: dict[str, Any], typical: float) -> bool:
    """Whether the others have gone on for as long as BEHIND of its own records take."""
    stride = max(1.0, (of["last"] - of["first"]) / max(1, of["records"] - 1))
    return bool(typical - of["last"] > BEHIND * stride)


def _told(rank: int, of: dict[str, Any], typical: float) -> Finding:
    at = {name: of[name] for name in ("stream", "line", "time")}
    return finding(
        "rank_silent",
        Severity.MEDIUM,
        {**at, "step": of["last"], "rank": rank, "metric": ""},
        f"rank {rank} reported nothing after step {of['last']}, the median rank is at "
        f"{typical:.0f}",
        state=State.OPEN,
        role=Role.SYMPTOM,
        confidence="medium",
    )
