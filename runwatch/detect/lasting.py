"""What holds at most looks and not just at one: told once it lasts, and once it is over."""

from typing import Any

WINDOW = 12  # looks
_PAST = 3  # times that are remembered


class Lasting:
    """One condition of one thing; the parameters are what `state` gave.

    It begins where it held at `begins` of the last WINDOW looks, and is over where it held at
    `ends` of them or fewer. `now` and each of `past` have the place, `at`, and the `words` for it.
    """

    def __init__(
        self, held: list[bool] | None = None, now: dict[str, Any] | None = None,
        past: list[dict[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        self.held, self.now, self.past = held or [], now, past or []

    def see(
        self, words: str, at: dict[str, Any], *, begins: int = 10, ends: int = 4, weight: int = 0
    ) -> None:
        """The next look, at a place: what holds in words, "" where nothing does; `weight` is how
        much that matters."""
        self.held = [*self.held, bool(words)][-WINDOW:]
        count = sum(self.held)
        if self.now is not None and count <= ends:
            self.past, self.now = [*self.past, self.now][-_PAST:], None
        elif self.now is not None and words:
            self.now = {**self.now, "words": words, "weight": weight}
        elif self.now is None and words and count >= begins:
            self.now = {"at": at, "words": words, "weight": weight}

    def state(self) -> dict[str, Any]:
        """Plain values to go on from."""
        return {"held": self.held, "now": self.now, "past": self.past}
