"""What was found out of texts, remembered within bounds."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Generic, TypeVar

from runwatch.digest import blake2b

_MAX_TEXTS, _MAX_CHARACTERS = 1 << 15, 1 << 23
_MAX_KEY = 1024
V = TypeVar("V")


class Memo(Generic[V]):
    """Answers by their texts; all of them are forgotten where they grow too many."""

    def __init__(self) -> None:
        self.answers: dict[str, V] = {}
        self._characters = 0

    def keep(self, text: str, answer: V) -> V:
        """Remember an answer, which is given back."""
        self._characters += len(text)
        if len(self.answers) >= _MAX_TEXTS or self._characters > _MAX_CHARACTERS:
            self.answers.clear()
            self._characters = len(text)
        self.answers[text] = answer
        return answer


def remembering(answers: int, longest: int) -> Callable[[Callable[[str], V]], Callable[[str], V]]:
    """A function of a text that remembers its last answers, those for texts of so many characters
    at most."""

    def remembers(answer: Callable[[str], V]) -> Callable[[str], V]:
        remembered = lru_cache(answers)(answer)

        @wraps(answer)
        def ask(text: str) -> V:
            return remembered(text) if len(text) <= longest else answer(text)

        return ask

    return remembers


lately = remembering(4, 1 << 13)  # a line from which something is learned is asked about again
often = remembering(1 << 12, 64)  # what stands between the numbers of many a line


def shortened(text: str) -> str:
    """A text by which something may be remembered for long: itself, of a very long one its begin
    and a digest."""
    if len(text) <= _MAX_KEY:
        return text
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return f"{text[:_MAX_KEY]} {digest}"
