"""Which program may have printed a log, by texts that it prints and others do not.

The knowledge is `family.toml`. It is a hint for people; nothing is read differently for it.
"""

from functools import cache

from runwatch.parse.knowledge import shipped
from runwatch.slotted import frozen


@frozen
class Family:
    """A program, and texts of which each says that it printed a line."""

    name: str
    signs: tuple[str, ...]

    def sign(self, text: str) -> str | None:
        """The first of its signs in a text."""
        return next((sign for sign in self.signs if sign in text), None)


@cache
def families() -> tuple[Family, ...]:
    """All that are known."""
    entries = shipped("family.toml")["family"]
    return tuple(Family(entry["name"], tuple(entry["signs"])) for entry in entries)
