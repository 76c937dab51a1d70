"""Many literal texts of which a line may hold any, sought all at once."""

from collections.abc import Iterable

_HEAD = 3  # characters by which texts are found


class Fragments:
    """Literal texts. Each is looked up by its first characters, so that what a line costs hangs on
    its length and hardly on how many there are."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._short: list[str] = []
        self._by_head: dict[str, list[str]] = {}
        for text in dict.fromkeys(texts):
            if len(text) < _HEAD:
                self._short.append(text)
            else:
                self._by_head.setdefault(text[:_HEAD], []).append(text)

    def within(self, line: str) -> bool:
        """Whether the line holds any of the texts."""
        return any(text in line for text in self._candidates(line))

    def found(self, line: str) -> set[str]:
        """The texts that the line holds."""
        return {text for text in self._candidates(line) if text in line}

    def _candidates(self, line: str) -> Iterable[str]:
        yield from self._short
        heads = {line[i : i + _HEAD] for i in range(len(line) - _HEAD + 1)}
        for head in heads & self._by_head.keys():
            yield from self._by_head[head]
