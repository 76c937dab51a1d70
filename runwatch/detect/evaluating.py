"""Whether a run is evaluating: an evaluation was announced, and no training came since."""

from typing import Any

import numpy as np

from runwatch.detect.note import notes
from runwatch.detect.series import Columns
from runwatch.detect.signatures import catalog
from runwatch.records import Batch

_SIGNATURE = "evaluating"
_TRAINING = ("loss", "lr", "grad_norm", "loss_scale")


class Evaluating:
    """By stream, the line that announced the last evaluation; `announced` is what `state` gave."""

    def __init__(self, announced: dict[str, int] | None = None) -> None:
        self._announced = announced or {}

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream."""
        name, known = batch.stream.name, catalog()
        for note in notes(batch.lines):
            if _SIGNATURE not in known.candidates(note.raw):
                continue
            if known.signatures[_SIGNATURE].match(note.raw) is not None:
                self._announced[name] = max(note.line, self._announced.get(name, 0))
        if name in self._announced and self._announced[name] < _trained(columns):
            del self._announced[name]

    def at(self, place: dict[str, Any]) -> bool:
        """Whether a silence that begins at this place is that of an evaluation."""
        return place["stream"] in self._announced

    def state(self) -> dict[str, int]:
        """Plain values to go on from."""
        return self._announced


def _trained(columns: Columns) -> int:
    """The last line at which training was measured."""
    lines = [columns.groups[name].arrays.line for name in _TRAINING if name in columns.groups]
    return max((int(np.max(line)) for line in lines), default=-1)
