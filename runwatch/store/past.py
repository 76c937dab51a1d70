"""What is known of a run from before: where to go on, and what was learned so far."""

from collections.abc import Mapping
from typing import Any

from runwatch.chunk import Cursor
from runwatch.slotted import frozen


@frozen
class Past:
    """The cursors and the state of a run's last flush; they belong together.

    `cursors` has every stream that can be gone on with; `state` is what the flush was given.
    `complete` is False where a scan was cut short: rows are stored up to the cursors, but the
    summary (None where there is none) is older than they are.
    """

    target: str
    cursors: Mapping[str, Cursor]
    state: Mapping[str, Any]
    summary: Mapping[str, Any] | None = None
    complete: bool = False
