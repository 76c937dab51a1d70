"""One writer of a stream (a rank, or the stream itself) and what its next line depends on."""

import re
from dataclasses import dataclass, field
from typing import Any

from runwatch.parse.gate import Gate
from runwatch.parse.place import Place
from runwatch.parse.plan import Evidence
from runwatch.parse.record import Record
from runwatch.parse.silence import Quiet
from runwatch.parse.table import Table

_HEADING = re.compile(r"(?i)\b(?:metrics|results?|summary|statistics|iteration \x01/\x01)\W*$")


@dataclass(slots=True)
class Writer:
    """Place, block, table and gate of one writer. `open` is True inside a record of many lines."""

    place: Place = field(default_factory=Place)
    quiet: Quiet = field(default_factory=Quiet)
    table: Table = field(default_factory=Table)
    gate: Gate = field(default_factory=Gate)
    open: bool = False

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
            if record.evidence is Evidence.HELD and len(record.points) <= 2:
                return record._replace(evidence=Evidence.CLEAR)
        elif not indented:
            self.open = (record.located and not record.points) or bool(_HEADING.search(message))
        return record

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {
            "place": self.place.state(),
            "quiet": self.quiet.state(),
            "table": self.table.state(),
            "gate": self.gate.state(),
            "open": self.open,
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> "Writer":
        """A writer that goes on from what `state` gave."""
        writer = cls(
            Place(**state["place"]), Quiet(**state["quiet"]), Table(**state["table"]),
            open=state["open"],
        )  # fmt: skip
        writer.gate.restore(state["gate"])
        return writer
