"""Where nothing is reported: source listings, tracebacks, dumps of settings and models.

A `Quiet` follows one writer and knows what kind of block its lines stand in.
"""

from dataclasses import asdict
from typing import Any, NamedTuple

from runwatch.parse.memo import lately
from runwatch.pattern import compiled
from runwatch.slotted import mutable

_TRACEBACK = compiled(r"Traceback \(most recent call last\)|^\s*[╭┌].*Traceback")
_FRAME = compiled(r'^\s+\S|^\s*$|^\s*File "|^During handling|^The above exception|^[│╰╭┌└]')
_CODE = compiled(
    r"^\s*+(?:(?:async )?def \w+\(|class \w+[(:]|import \w|from [\w.]+ import |return\b|@\w"
    r"|elif .*:$|if .*:\s*$|else:\s*$|for (?>.*? in ).*:|while .*:$|with .* as |try:$|except\b"
    r"|raise \w|assert |pass$|break$|continue$|\"\"\"|'''|#(?:[\s!]|$)|//|#include|\}\s*$"
    r"|global |lambda |[\w.\[\]]+ [+\-*/]?= .*[\w)\]]\(|.*\bself\.|print0?\("
    r"|[\w.]+\((?!(?:global_)?(?:step|iter(?:ation)?|epoch)=\d).*\)\s*$)"
)
_CODE_LIMIT = 12
_IN_CODE = 5
_AGAIN = ("During handling", "The above exception")


class Traits(NamedTuple):
    """All that a `Quiet` looks at in a message."""

    starts: bool  # a traceback
    frame: bool  # may go on in one
    goes_on: bool  # behind its last line
    source: bool
    empty: bool

    @classmethod
    def of(cls, message: str) -> "Traits":
        """Look at a message."""
        empty = not message.strip()
        return cls(
            "Traceback" in message and _TRACEBACK.search(message) is not None,
            _FRAME.match(message) is not None,
            empty or message.startswith(_AGAIN),
            _CODE.match(message) is not None,
            empty,
        )

    @property
    def plain(self) -> bool:
        """Whether it leaves a `Quiet` that is at rest as it is."""
        return not (self.starts or self.source)


traits_of = lately(Traits.of)


@mutable
class Quiet:
    """The block that one writer's lines stand in. `code` counts how much the last lines looked
    like source; `traceback` is 1 inside one and 2 on its last line."""

    code: int = 0
    traceback: int = 0

    def see(self, message: Traits) -> str:
        """Take the next line; the kind of block it stands in: text, traceback or code."""
        if message.starts:
            self.traceback = 1
            return "traceback"
        if self.traceback == 1:
            if not message.frame:
                self.traceback = 2  # the exception itself
            return "traceback"
        if self.traceback == 2:
            if message.goes_on:
                return "traceback"
            self.traceback = 0
        if message.source:
            self.code = min(_CODE_LIMIT, self.code + 2)
        elif not message.empty:
            self.code = max(0, self.code - 1)
        return "code" if self.code >= _IN_CODE else "text"

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return asdict(self)
