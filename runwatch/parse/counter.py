"""Counters at the head of a line that are glued to what they count: `[E3 B120] loss 2.1`,
`epoch3/it120:`, `@1200 loss=2.1`, `#1200 | loss 2.1`."""

import re

from runwatch.pattern import compiled

_NAMES = {
    "epoch": ("e", "ep", "epoch"),
    "batch": ("b", "batch"),
    "step": ("s", "i", "t", "u", "it", "iter", "iteration", "step", "update", "upd"),
}
_AXES = {name: axis for axis, names in _NAMES.items() for name in names}
_TAG = r"(?:[EeBbSsIiTtUu]|(?i:ep|epoch|batch|it|iter|iteration|step|update|upd)[_-]?)\d{1,9}"
_TAGS = compiled(
    rf"\s*+([\[(<{{]?)\s{{0,4}}({_TAG}(?:[_-]?(?:/|of)[_-]?\d{{1,9}})?"
    rf"(?:(?:[ ,;:|/.-]|\]\s?\[){{1,3}}{_TAG})?)"
    rf"\s{{0,4}}(?:[\])>}}]?\s{{0,4}}[:|,;-]{{0,2}}\s++|[\])>}}]\s*+)(?=\S)"
)
_HEAD = compiled(  # what any of them begins with
    r"\s*+(?:[@#]|[\[(<{]?\s{0,4}(?:[EeBbSsIiTtUu]|(?i:ep|epoch|batch|it|iter|iteration|step|update|upd)"
    r"[_-]?))\d"
)
_ONE = compiled(r"([A-Za-z]+)[_-]?(\d+)(?:[_-]?(?:/|of)[_-]?(\d+)(?![A-Za-z]))?")
_MARKED = compiled(r"\s*+[@#](\d{1,9})\s{0,4}[:|,-]?\s++(?=\S)")
# What reports, and names no other place.
_REPORTS = compiled(r"[A-Za-z_)\]%]\s?[:= ]\s{0,16}[-+]?(?:\d|nan|inf)")
_PLACED = compiled(r"(?i)\b(?:step|iter|iteration|epoch|update)s?\b")


def apart(message: str) -> str:
    """The message with such counters behind their names, and apart from them."""
    if not _HEAD.match(message):
        return message
    if (m := _MARKED.match(message)) and _goes_on(message, m):
        return f"step {m.group(1)} {message[m.end() :]}"
    m = _TAGS.match(message)
    if m is None or not _goes_on(message, m):
        return message
    tags = [_named(tag) for tag in _ONE.finditer(m.group(2))]
    if len(tags) == 1 and len(tags[0][0]) == 1 and not m.group(1):
        return message  # "t5 base: 220"
    counted = " ".join(f"{_AXES[name.lower()]} {count}" for name, count in tags)
    return f"{counted} {message[m.end() :]}"


def _goes_on(message: str, m: re.Match[str]) -> bool:
    return _REPORTS.search(message, m.end()) is not None and not _PLACED.search(message, m.end())


def _named(tag: re.Match[str]) -> tuple[str, str]:
    name, count, total = tag.groups()
    return name, count if total is None else f"{count}/{total}"
