"""Names in other languages, in our words: `训练损失` is `train loss`, `Verlust` is `loss`.

The knowledge is `language.toml`. A name keeps standing as it was printed; what it means is looked
up in ours.
"""

import re
import unicodedata
from functools import cache

from runwatch.pattern import compiled
from runwatch.shipped import table

_WORD = compiled(r"[^\W\d_]+")
# Scripts without blanks between their words, or with endings glued to them.
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_CUT_ANYWHERE = compiled(f"[{_UNSPACED}]")
_FOREIGN = compiled(r"[\u2016\u2551\u3000-\uffef]")
_FULL_WIDTH = str.maketrans(
    {"\uff0c": ", ", "\u3001": ", ", "\uff1b": "; ", "\uff1a": ": ", "\u3002": ". ", "\uff08": " (",
     "\uff09": ") ", "\u3010": "[", "\u3011": "] ", "\uff0f": "/", "\uff1d": "=", "\uff05": "%",
     "\uff5c": "|", "\u2016": "|", "\u2551": "\u2502", "\u3000": " "}
)  # fmt: skip
_NUMBERED = compiled(rf"\u7b2c\s*(\d+(?:\s*/\s*\d+)?)\s*\u4e2a?([{_UNSPACED}]{{1,8}})")  # "第3轮"
_GLUED = compiled(rf"(?<=[{_UNSPACED}])(?=[-+]?\d)|(?<=\d)(?=[{_UNSPACED}])")


def ours(name: str) -> str:
    """A lower-case name with the words that are known of other languages put into ours."""
    if name.isascii():
        words = _ascii()
        if not any(word in words for word in _WORD.findall(name)):
            return name
        return _WORD.sub(lambda m: words.get(m.group(), m.group()), name)
    text = unicodedata.normalize("NFC", name)
    return _foreign().sub(lambda m: f" {_words()[m.group()]} ", text)


def spelled(message: str) -> str:
    """A message with the punctuation of other scripts as ours, numbers apart from their letters,
    and counters of the form `第3轮` behind their names."""
    if not _FOREIGN.search(message):
        return message
    message = message.translate(_FULL_WIDTH)
    if _CUT_ANYWHERE.search(message):
        message = _NUMBERED.sub(r"\2 \1 ", message)
        message = _GLUED.sub(" ", message)
    return message


@cache
def _words() -> dict[str, str]:
    """All words of all languages with ours; the first language that has one is asked."""
    found: dict[str, str] = {}
    for words in table("parse/language.toml").values():
        for foreign, known in words.items():
            found.setdefault(unicodedata.normalize("NFC", foreign), known)
    return found


@cache
def _ascii() -> dict[str, str]:
    return {foreign: known for foreign, known in _words().items() if foreign.isascii()}


@cache
def _foreign() -> re.Pattern[str]:
    """The words of other languages, the longest first."""
    parts = [
        re.escape(word) if _CUT_ANYWHERE.search(word) else rf"(?<!\w){re.escape(word)}(?!\w)"
        for word in sorted(_words(), key=len, reverse=True)
    ]
    return compiled("|".join(parts))
