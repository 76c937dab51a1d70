"""Failure signatures: the texts that are known, what part each plays, and how to find them.

They are TOML in `signature/`, each with lines that it must fire on and lines it must not; a user's
own file has the same shape. Finding is two-staged, because almost no line holds anything: literal
fragments first, on the lower-cased line with every run of digits written as `0`, and only where
one of them stands is the signature's pattern compiled and tried.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from runwatch import shipped
from runwatch.errors import FormatError
from runwatch.fragments import Fragments
from runwatch.pattern import compiled

_FOLDER = "detect/signature"

# What a signature's line is in the story, and how strongly it claims a line that several match.
WEIGHT = {
    "root": 50,  # begins a failure by itself
    "generic": 10,  # begins one, but says little of why
    "echo": 60,  # usually another's echo; the root where nothing else explains it
    "follow-on": 60,  # always an echo
    "unconfirmed": 40,  # a death whose cause the line itself does not prove
    "launcher": 30,  # a launcher telling of a process that ended
    "wrapper": 25,  # a launcher telling of its own failure
    "handled": 90,  # the fault before it was overcome
    "restarted": 90,  # what failed is started again
    "ending": 70,  # the run was ended from outside
    "finish": 64,  # the trainer says it is done
    "closing": 33,  # something says something is done
    "phase": 5,  # what the run is about to do
    "observed": 63,  # something is told to be amiss that ends no run
    "thread": 66,  # the traceback that follows is not of the main thread
    "noise": 80,  # looks like a failure and is none
}
_DIGITS = compiled(r"\d+")
_CACHED_SHAPES = 4096
_REACH = 4096  # characters at either end of a line that are looked at


def masked(text: str) -> str:
    """The line as fragments see it: lower case, every run of digits as one `0`."""
    return _DIGITS.sub("0", text.lower())


@dataclass(frozen=True)
class Signature:
    """One known text. `kind` "@exit" means that the exit code in the line tells the kind.

    `whose` is "node" or "job" where the fault is not of one rank, whoever prints it, and "late"
    where the line names a rank that the others wait for.
    """

    name: str
    role: str
    fragments: tuple[str, ...]
    kind: str = ""
    weight: int = 0
    pattern: str = ""
    unless: str = ""
    whose: str = ""
    extract: tuple[str, ...] = ()
    source: str = ""
    fires: tuple[str, ...] = field(default=(), repr=False)
    silent: tuple[str, ...] = field(default=(), repr=False)

    @cached_property
    def _must(self) -> re.Pattern[str] | None:
        return compiled(self.pattern, re.I) if self.pattern else None

    @cached_property
    def _must_not(self) -> re.Pattern[str] | None:
        return compiled(self.unless, re.I) if self.unless else None

    @cached_property
    def _details(self) -> list[re.Pattern[str]]:
        return [compiled(text, re.I) for text in self.extract]

    def match(self, text: str, line: str = "") -> dict[str, str] | None:
        """What the line tells besides (rank, device, code, host…), None where it is no such line.

        `text` may be the line without its prefixes; what must not be there is sought in all of it.
        To be asked only where one of the fragments stands in the masked text.
        """
        if self._must_not and self._must_not.search(line or text):
            return None
        found = self._must.search(text) if self._must else None
        if self._must and not found:
            return None
        told = {
            k.rstrip("0123456789"): v for k, v in (found.groupdict() if found else {}).items() if v
        }
        for pattern in self._details:
            more = pattern.search(text)
            for key, value in (more.groupdict() if more else {}).items():
                if value:
                    told.setdefault(key, value)
        return told


class Catalog:
    """All signatures, and the quick way to the one that a line belongs to."""

    def __init__(self, signatures: Iterable[Signature]) -> None:
        ordered = sorted(signatures, key=lambda s: -s.weight)
        self.signatures = {signature.name: signature for signature in ordered}
        self._by_fragment: dict[str, list[str]] = {}
        for signature in ordered:
            for fragment in signature.fragments:
                self._by_fragment.setdefault(fragment, []).append(signature.name)
        self._fragments = Fragments(self._by_fragment)
        self._order = {name: i for i, name in enumerate(self.signatures)}
        self._shapes: dict[str, tuple[str, ...]] = {}
        # Text that a model has written, or read, says nothing of the program.
        self._speech = compiled(context_table()["speech"], re.I)

    def watchwords(self) -> frozenset[str]:
        """Fragments of which every line that tells something holds at least one. What only looks
        like a failure tells nothing by itself: every line of a Megatron log counts its NaNs."""
        return frozenset(
            fragment
            for fragment, names in self._by_fragment.items()
            if any(self.signatures[name].role != "noise" for name in names)
        )

    def match(self, line: str, text: str = "") -> tuple[Signature, dict[str, str]] | None:
        """The signature with the strongest claim on this line, and what the line tells besides.

        `text` is the line without its prefixes, to be tried where the whole line says nothing.
        """
        line, text = _ends(line), _ends(text)
        found = self._match(line, line)
        return found or (self._match(text, line) if text and text != line else None)

    def candidates(self, text: str) -> tuple[str, ...]:
        """The signatures of which a fragment stands in this text, the strongest first."""
        shape = masked(text)
        names = self._shapes.get(shape)
        if names is None:
            if len(self._shapes) >= _CACHED_SHAPES:
                self._shapes.clear()
            found = {n for f in self._fragments.found(shape) for n in self._by_fragment[f]}
            names = tuple(sorted(found, key=self._order.__getitem__))
            self._shapes[shape] = names
        return names

    def _match(self, text: str, line: str) -> tuple[Signature, dict[str, str]] | None:
        for name in self.candidates(text):
            told = self.signatures[name].match(text, line)
            if told is not None:
                return None if self._speech.search(text) else (self.signatures[name], told)
        return None


def _ends(text: str) -> str:
    """A text without the middle of a very long one, so that no pattern has far to search."""
    return text if len(text) <= 2 * _REACH else f"{text[:_REACH]}\n{text[-_REACH:]}"


def parsed(text: str, where: str) -> list[Signature]:
    """The signatures of one TOML file. Raises FormatError, naming `where`, on a bad one."""
    import tomli

    try:
        table = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise FormatError(f"{where}: {error}", hint="signature files are TOML") from error
    return _signatures(table, where)


def _signatures(table: dict[str, Any], where: str) -> list[Signature]:
    return [_signature(row, where) for row in table.get("signature", [])]


def _signature(row: dict[str, Any], where: str) -> Signature:
    name, role = row.get("name", "?"), row.get("role", "?")
    if role not in WEIGHT or not row.get("fragments") or name == "?":
        raise FormatError(
            f"{where}: signature {name} lacks a name, fragments or a known role",
            hint=f"roles are {', '.join(WEIGHT)}",
        )
    try:
        row = {
            key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
        }
        return Signature(**{"weight": WEIGHT[role], "source": where, **row})
    except TypeError as error:
        raise FormatError(
            f"{where}: signature {name}: {error}", hint="see signature/*.toml"
        ) from error


@lru_cache(maxsize=1)
def catalog() -> Catalog:
    """The signatures that come with the package, read once."""
    names = shipped.names(_FOLDER, ".toml")
    return Catalog(
        s for name in names for s in _signatures(shipped.table(f"{_FOLDER}/{name}"), name)
    )


@lru_cache(maxsize=1)
def context_table() -> dict[str, Any]:
    """What frames of tracebacks, types of exceptions and exit codes mean."""
    return shipped.table(f"{_FOLDER}/context.toml")


# Lines that are read for their form: tracebacks, launcher tables, names of exceptions.
STRUCTURE = frozenset(
    [
        "traceback (most recent call last)",
        ".exc.",
        ".exceptions.",
        ".errors.",
        ".errorfactory.",
        'file "',
        ".py:0 in ",
        "during handling of the above exception",
        "direct cause of the following exception",
        "root cause (first observed failure)",
        "failures:",
        "exitcode  :",
        "error_file:",
        "local_rank: 0)",
        "rank      :",
        "host      :",
        "time      :",
        "traceback :",
        "attempted loss scale",
        "world_size",
        "world size",
        "nranks",
        "epochs=0",
        "max_epoch",
        "num_epochs",
    ]
)
EXCEPTIONS = frozenset(
    f"{name}error"
    for name in [
        "runtime",
        "value",
        "type",
        "key",
        "index",
        "assertion",
        "os",
        "io",
        "import",
        "attribute",
        "name",
        "memory",
        "overflow",
        "arithmetic",
        "floatingpoint",
        "zerodivision",
        "notimplemented",
        "recursion",
        "lookup",
        "unicode",
        "system",
        "timeout",
        "permission",
        "filenotfound",
        "connection",
        "blockingio",
        "eof",
        "reference",
        "buffer",
        "syntax",
        "file",
        "backend",
        "xlaruntime",
        "internal",
        "unavailable",
        "invalidargument",
        "accelerator",
        "distbackend",
        "inductor",
        "compiler",
        "http",
    ]
) | {"exception:", "error executing", "error: ", "compilerfailed: "}


def watchwords() -> frozenset[str]:
    """Literal fragments (lower case, digits as `0`): a line without any says nothing here."""
    return catalog().watchwords() | STRUCTURE | EXCEPTIONS
