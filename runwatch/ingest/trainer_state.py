"""Hugging Face's `trainer_state.json`: a line of JSON for each entry of its `log_history`.

The trainer writes the whole file anew with every checkpoint, longer each time. The lines of a
longer file go on those of a shorter one, so a run can be followed through its checkpoints.
"""

import json
from typing import Any

from runwatch.ingest.rows import row, said
from runwatch.pattern import compiled

_LONGEST = 1 << 28  # bytes; a state of a million entries has fewer
_BEGIN = compiled(rb"\s*\{")
_KEYS = (b'"log_history"', b'"global_step"')
_TOTAL = "max_steps"


def begins(head: bytes) -> bool:
    """Whether a file is one: an object with a history and a step near its beginning."""
    return _BEGIN.match(head) is not None and all(key in head for key in _KEYS)


class Translation:
    """The document in, lines out once it is whole; see `records.Translation`."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._given = 0
        self._why = ""

    def feed(self, data: bytes) -> bytes:
        """All lines, as soon as the document is complete."""
        if self._why:
            return b""
        self._held += data
        if len(self._held) > _LONGEST:
            self._why = f"longer than {_LONGEST >> 20} MiB"
            self._held.clear()
            return b""
        if not self._held.rstrip().endswith(b"}"):
            return b""
        try:
            state = json.loads(self._held)
        except (ValueError, RecursionError):
            return b""
        text = b"".join(_lines(state)) if isinstance(state, dict) else b""
        fresh, self._given = text[self._given :], max(self._given, len(text))
        return fresh

    @property
    def damage(self) -> str:
        """Why it is not read at all."""
        return self._why

    def ended(self) -> str:
        """Whether the document is cut off."""
        return "" if self._given or self._why else "it is no complete document"


def _lines(state: dict[str, Any]) -> list[bytes]:
    """The history, each entry with the steps that the run is to have."""
    history = state.get("log_history")
    total = state.get(_TOTAL)
    beside = {_TOTAL: total} if isinstance(total, int) and total > 0 else {}
    lines = [
        row(_whole(entry.get("step")), None, {**entry, **beside})
        for entry in (history if isinstance(history, list) else [])
        if isinstance(entry, dict)
    ]
    return [*lines, *_end(state, total)] or [b"\n"]


def _end(state: dict[str, Any], total: Any) -> list[bytes]:
    """Once all steps are done: that they are, and which checkpoint was the best."""
    step, best = state.get("global_step"), state.get("best_model_checkpoint")
    if not (isinstance(step, int) and isinstance(total, int) and step >= total > 0):
        return []
    lines = [said(f"Training finished: all {total} steps are done")]
    if isinstance(best, str) and best:
        lines.append(said(f"Loading best model from {best} (score: {state.get('best_metric')})."))
    return lines


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and value == value else None
