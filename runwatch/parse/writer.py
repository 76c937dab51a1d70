"""One writer of a stream (a rank, or the stream itself) and what its next line depends on."""

from dataclasses import field
from typing import Any

from runwatch.parse.gate import Gate
from runwatch.parse.place import Place
from runwatch.parse.plan import Evidence
from runwatch.parse.record import Record
from runwatch.parse.silence import Quiet
from runwatch.parse.table import Table
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_HEADING = compiled(
    r"(?i)^result for .*:$|\b(?:metrics|results?|summary|statistics|timing"
    r"|time across ranks \(ms\)|iteration \x01/\x01)\W*$"
)
# A word of each alternative: most lines have none, which is seen sooner than by the pattern.
_HEADED = ("result", "metrics", "summary", "statistics", "timing", "ranks (ms)", "iteration")

_VARIABLE = 2  # letters: "Step 2: x = 4" is arithmetic


@mutable
class Writer:
    """Place, block, table and gate of one writer. `open` is True inside a record of many lines."""

    place: Place = field(default_factory=Place)
    quiet: Quiet = field(default_factory=Quiet)
    table: Table = field(default_factory=Table)
    gate: Gate = field(default_factory=Gate)
    open: bool = False
    near: int = 0  # the line before: 1 said where the run is, 2 reported

    @property
    def calm(self) -> bool:
        """Whether no box is open."""
        return not (self.table.boxed or self.table.section)

    @property
    def continues(self) -> bool:
        """Whether an indented line without prefixes may belong to this writer's last line."""
        return self.open or self.quiet.traceback == 1

    def weigh(self, record: Record, message: str, block: str) -> Record:
        """The record as it stands in this writer's context: firmer inside a record of many lines,
        nothing inside a source listing."""
        indented = message[:1] in (" ", "\t")
        if block == "code" and (indented or not record.located or record.evidence < Evidence.CLEAR):
            return record._replace(evidence=Evidence.NONE, points=())
        if record.points and indented and self.open:
            if _is_total(record):
                record = record._replace(step=None)
            if Evidence.NONE < record.evidence < Evidence.CLEAR and len(record.points) <= 2:
                record = record._replace(evidence=Evidence.CLEAR)
        elif not indented or (record.total_steps is not None and _is_place(record)):
            self.open = _is_place(record) or _is_heading(message)
        if self._is_beside(record):
            record = record._replace(evidence=Evidence.BESIDE)
        self.near = 2 if record.points and record.evidence >= Evidence.BESIDE else 0
        if _is_place(record):
            self.near = 1
        return record

    def _is_beside(self, record: Record) -> bool:
        """Whether the line before makes a record that may be one a record."""
        began = self.place.began or self.place.epoch is not None
        if not record.points or not self.near or not began:
            return False
        if record.evidence is Evidence.KNOWN:
            return True
        if record.evidence is not Evidence.HELD or self.near != 2 or record.step is None:
            return False
        onward = self.place.step is None or record.step >= self.place.step
        return onward and all(len(point.metric) > _VARIABLE for point in record.points)

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {
            "place": self.place.state(),
            "quiet": self.quiet.state(),
            "table": self.table.state(),
            "gate": self.gate.state(),
            "open": self.open,
            "near": self.near,
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Writer":
        """A writer that goes on from what `state` gave."""
        writer = cls(
            Place(**state["place"]), Quiet(**state["quiet"]), Table.restored(state["table"]),
            open=state["open"], near=state["near"],
        )  # fmt: skip
        writer.gate.restore(state["gate"])
        return writer


def _is_heading(message: str) -> bool:
    lower = message.lower()
    for word in _HEADED:
        if word in lower:
            return _HEADING.search(message) is not None
    return False


def _is_place(record: Record) -> bool:
    """Whether a record says where the run is and nothing else."""
    points = record.points
    return record.located and (not points or (record.evidence < Evidence.CLEAR and _counts(record)))


def _is_total(record: Record) -> bool:
    """Whether a record inside another counts what there was so far, and is no place of its own:
    `Total timesteps: 1277952` under `Learning iteration 12/1500`."""
    return _counts(record) and record.points[0].metric.lower().startswith("total")


def _counts(record: Record) -> bool:
    return all(point.value == record.step for point in record.points)
