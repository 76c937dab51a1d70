"""Rows of numbers as lines of JSON: what structured sources give to the one parser of logs."""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from runwatch.slotted import mutable

_TAKEN = frozenset(("step", "timestamp"))


def row(step: int | None, time: float | None, values: Mapping[str, Any]) -> bytes:
    """One line: when (seconds since 1970), at which step, what was measured. nan stays nan."""
    told: dict[str, Any] = {}
    if time is not None:
        told["timestamp"] = time
    if step is not None:
        told["step"] = step
    told |= {name: value for name, value in values.items() if name not in _TAKEN}
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace") + b"\n"


def said(message: str, time: float | None = None) -> bytes:
    """One line of text, as a logger would have written it."""
    return row(None, time, {"message": message})


@mutable
class Counter:
    """The one step of a run whose metrics count on different axes.

    Some metrics count updates and others, in the same file, epochs. Such a smaller count is no
    step of the run: its metric is told at the step that the run had reached. A metric that goes
    back behind its own last step is a run that was started again.
    """

    step: int | None = None
    last: dict[str, int] = field(default_factory=dict)

    def at(self, name: str, step: int) -> int:
        """The step of the run for a metric's own count."""
        if self.step is None or step >= self.step or step < self.last.get(name, step):
            if step < self.last.get(name, step):
                self.last.clear()
            self.step = step
        self.last[name] = step
        return self.step
