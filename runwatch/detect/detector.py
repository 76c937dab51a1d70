"""What every detector is: fed batches in order, asked at any time how things stand.

One detector a file, each with a class `Detector` found by its place in this package; its
docstring is its documentation (what it sees, why it matters, what it misses, how to tune it).
"""

from typing import Any, Protocol

from runwatch.detect.series import Columns
from runwatch.finding import Finding
from runwatch.judgement import Check
from runwatch.records import Batch


class Detector(Protocol):
    """Streaming: the same batches cut in other places give the same findings."""

    name: str

    def feed(self, batch: Batch, columns: Columns) -> None:
        """Take the next batch of one stream, and its points as arrays, which all detectors share.

        Batches of a stream come in line order.
        """

    def findings(self) -> list[Finding]:
        """Everything that stands now. A finding disproved later is simply gone, told by its id."""

    def check(self) -> Check:
        """Whether there was anything to look at, and if not, why."""

    def state(self) -> dict[str, Any]:
        """All its past as plain JSON values, to go on from in another process."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the past that `state` gave."""
