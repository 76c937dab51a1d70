"""What several kinds of streams tell of one run: each number is judged once."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from runwatch.ingest.kinds import READING
from runwatch.records import Batch

_OFTEN = 20  # times that a quantity is told by a log whose word on it is enough


class Copies:
    """Knows how often each kind of stream has told each quantity.

    A log and the files of records beside it tell the same numbers, and each is judged once: from
    the log, where it tells them often enough to be judged.
    """

    def __init__(self) -> None:
        self._told: dict[str, dict[str, int]] = {}

    def without(self, batch: Batch) -> Batch:
        """The batch without what another kind of stream reports as well."""
        quantity = batch.points.column("quantity")
        words = quantity.words
        kind = batch.stream.kind
        counts = self._told.setdefault(kind, {})
        codes = quantity.numbers(-1)
        for word, count in zip(words, np.bincount(codes + 1)[1:].tolist(), strict=False):
            counts[word] = counts.get(word, 0) + count
        before = [self._told.get(one, {}) for one in READING[: READING.index(kind)]]
        doubled = [
            at for at, word in enumerate(words)
            if any(told.get(word, 0) >= _OFTEN for told in before)
        ]  # fmt: skip
        if not doubled:
            return batch
        again = np.zeros(len(words) + 1, np.bool_)
        again[doubled] = True  # the last place is that of null, -1
        return replace(batch, points=batch.points[~again[codes]])

    def state(self) -> dict[str, dict[str, int]]:
        """Plain values to go on from."""
        return {kind: dict(counts) for kind, counts in self._told.items()}

    def restore(self, state: Mapping[str, Mapping[str, int]]) -> None:
        """Take up what `state` gave."""
        self._told = {kind: dict(counts) for kind, counts in state.items()}
