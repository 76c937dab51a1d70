"""All that is known of formats: names, prefixes, what is silent. Ours, and a user's own.

A user's file is TOML of the same shape as ours, all in one: `[[quantity]]`, `[axis]`, `[setting]`,
`[[prefix]]` and `fragments`. It is asked first, and must keep its own samples.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from runwatch.errors import FormatError
from runwatch.parse.prefix import Prefixes
from runwatch.parse.quantity import Names
from runwatch.shipped import table
from runwatch.slotted import frozen

_KEYS = frozenset(("quantity", "axis", "setting", "prefix", "fragments", "silent"))


@frozen
class Knowledge:
    """What a parser is given to know."""

    names: Names
    prefixes: Prefixes
    fragments: tuple[str, ...]

    @classmethod
    def with_own(cls, paths: Iterable[Path]) -> "Knowledge":
        """Ours with users' files in front. Raises FormatError where one is unreadable or breaks
        its own samples."""
        own = [document_of(Path(path)) for path in paths]
        if not own:
            return builtin()
        names = Names.parse(*own, shipped("metrics.toml"))
        for document in own:
            _keep_word(document, names)
        return cls(
            names,
            Prefixes.of(
                shipped("prefix.toml")["prefix"],
                [entry for document in own for entry in document.get("prefix", ())],
            ),
            (*(f for d in own for f in d.get("fragments", ())), *builtin().fragments),
        )


@cache
def builtin() -> Knowledge:
    """What ships with runwatch."""
    return Knowledge(
        Names.parse(shipped("metrics.toml")),
        Prefixes.of(shipped("prefix.toml")["prefix"]),
        tuple(shipped("silence.toml")["fragments"]),
    )


@cache
def shipped(name: str) -> dict[str, Any]:
    """One of our own files, read once."""
    return table(f"parse/{name}")


def document_of(path: Path) -> dict[str, Any]:
    """A user's file. Raises FormatError where it is no TOML or has what means nothing."""
    import tomli

    try:
        document = tomli.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomli.TOMLDecodeError) as error:
        raise FormatError(f"{path}: {error}", hint="a formats file is TOML in UTF-8") from error
    if unknown := set(document) - _KEYS:
        raise FormatError(
            f"{path}: unknown {', '.join(sorted(unknown))}",
            hint=f"a formats file may have {', '.join(sorted(_KEYS))}",
        )
    return document


def _keep_word(document: dict[str, Any], names: Names) -> None:
    """Every sample name must be what its entry says."""
    for entry in document.get("quantity", ()):
        for sample in entry.get("fits", ()):
            rule = names.quantity(sample)
            if rule is None or rule.name != entry["name"]:
                was = "nothing" if rule is None else rule.name
                raise FormatError(
                    f"quantity {entry['name']!r}: its sample {sample!r} is taken for {was}",
                    hint="add its words to `exact` or `any`",
                )
