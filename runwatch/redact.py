"""Take secrets out of texts before they are kept: passwords, tokens, keys of known services.

What a secret looks like is data (`redact.toml`). It finds what is obvious, not everything: a bare
password in a sentence looks like any word.
"""

import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from runwatch import shipped
from runwatch.pattern import compiled

MARK = "[redacted]"
_PLAIN = (float, int)
_LONG = 400  # characters of a text that is not remembered
_DIGITS = compiled(r"\d+")


@dataclass(frozen=True)
class Secret:
    """One kind of secret. Texts without any of the lower-case `hints` cannot hold it.

    The group `before` of the pattern is kept, the rest of the match is the secret.
    """

    name: str
    hints: tuple[str, ...]
    pattern: str
    samples: tuple[tuple[str, str], ...] = ()
    silent: tuple[str, ...] = ()

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Compiled when first hinted at: most texts never need it."""
        return compiled(self.pattern)

    def taken_out(self, text: str) -> str:
        """The text with the mark in place of each secret of this kind."""
        return self.compiled.sub(lambda m: (m.groupdict().get("before") or "") + MARK, text)


@cache
def secrets() -> tuple[Secret, ...]:
    """The kinds we know, in the order in which they are taken out."""
    return tuple(
        Secret(
            name=secret["name"],
            hints=tuple(secret["hints"]),
            pattern=secret["pattern"],
            samples=tuple((before, after) for before, after in secret["samples"]),
            silent=tuple(secret.get("silent", ())),
        )
        for secret in shipped.table("redact.toml")["secret"]
    )


def redact(text: str) -> str:
    """The text without its obvious secrets; twice is the same as once."""
    lower = text.lower()
    likely = secrets() if len(text) > _LONG else _likely(_DIGITS.sub("0", lower))
    for secret in likely:
        if any(hint in lower for hint in secret.hints):
            text = secret.taken_out(text)
    return text


@lru_cache(maxsize=1 << 12)
def _likely(shape: str) -> tuple[Secret, ...]:
    """The kinds that a text may hold, told by the text without its digits: lines of one kind come
    again and again."""
    return tuple(
        secret for secret in secrets()
        if any(_DIGITS.sub("0", hint) in shape for hint in secret.hints)
    )  # fmt: skip


def redacted(value: Any) -> Any:
    """A JSON value with every text in it redacted, keys too."""
    return _redacted(value, {})


def _redacted(value: Any, known: dict[str, str]) -> Any:
    """The same; what is kept of a thousand ranks says the same words again and again."""
    if isinstance(value, str):
        clean = known.get(value)
        if clean is None:
            clean = known[value] = redact(value)
        return clean
    if isinstance(value, dict):
        return {_redacted(key, known): _redacted(inner, known) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [
            inner if type(inner) in _PLAIN else _redacted(inner, known) for inner in value
        ]  # fmt: skip
    return value
