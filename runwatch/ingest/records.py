"""Files of records, told by how they begin: translated into lines of JSON, then read as any log.

Each format is a module with `begins(head)` and a class `Translation`. A translation of the same
bytes is the same however they are cut, and that of a longer file begins with that of a shorter
one, so a position in the text says where to go on.
"""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Protocol

from runwatch.digest import blake2b
from runwatch.errors import InputError
from runwatch.pattern import compiled

# Formats, each the name of a module beside this one, and what most other files do not begin with.
FORMATS = {
    "tensorboard": compiled(rb".{3}\0{5}", re.DOTALL),
    "trainer_state": compiled(rb"\s*\{\s*\"(?:best_|epoch\"|global_|log_history\")"),
    "wandb_file": compiled(rb":W&B"),
}
STATE = "trainer_state"
"""The format that is written anew as a whole, where others grow."""

HEAD = 4096
"""Bytes of a file's beginning that tell its format."""


class Translation(Protocol):
    """Stored bytes in, in order and cut anywhere; the text of what is whole out."""

    def feed(self, data: bytes) -> bytes:
        """The text that these bytes complete: whole lines, maybe none."""

    @property
    def damage(self) -> str:
        """What could not be read so far, in words; "" where all is well."""

    def ended(self) -> str:
        """What is unfinished where the bytes end, in words; more may be written."""


def format_of(head: bytes) -> str:
    """The format of a file that begins with these bytes, "" where it is none of them."""
    name = next((name for name, mark in FORMATS.items() if mark.match(head)), "")
    return name if name and _module(name).begins(head[:HEAD]) else ""


def translation(name: str) -> Translation:
    """A translation from the first byte on."""
    made: Translation = _module(name).Translation()
    return made


def translated(read: Callable[[int], bytes], name: str, size: int) -> Iterator[bytes]:
    """The text of a file at rest; InputError after it where something was wrong with the file."""
    made = translation(name)
    while data := read(size):
        if text := made.feed(data):
            yield text
    if why := "; ".join(word for word in (made.damage, made.ended()) if word):
        raise InputError(why)


def identity_of_text(text: bytes, head: int = HEAD) -> str:
    """Recognises a document that is written anew and longer: by how its text begins."""
    begin = text[:head]
    return f"text.{len(begin)}.{blake2b(begin, digest_size=8).hexdigest()}"


def is_same_text(identity: str, text: bytes) -> bool:
    """Whether a text is the one of this identity, or one that goes on it."""
    _, _, rest = identity.partition("text.")
    length = rest.partition(".")[0]
    return length.isdecimal() and identity == identity_of_text(text, min(int(length), HEAD))


def _module(name: str) -> Any:
    return import_module(f"runwatch.ingest.{name}")
