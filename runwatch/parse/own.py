"""A user's own file of formats, entry by entry: what works, and how far the rest got."""

from collections.abc import Iterator
from dataclasses import field
from pathlib import Path
from typing import Any

from runwatch.chunk import Chunk, Stream
from runwatch.errors import FormatError
from runwatch.parse.knowledge import Knowledge, builtin, document_of, shipped
from runwatch.parse.parser import Parser
from runwatch.parse.prefix import Prefixes, own_pattern
from runwatch.parse.quantity import Names
from runwatch.parse.survey import Seen, Survey
from runwatch.slotted import mutable

_PATIENCE = 0.05  # seconds that one attempt to match may take
_KEYS = {
    "prefix": {"name", "pattern", "at", "samples"},
    "quantity": {"name", "clue", "sure", "exact", "any", "also", "never", "fits", "misses"},
}


@mutable
class Trial:
    """A sample tried. `said` is what came out, or how far it got."""

    sample: str
    good: bool
    said: str


@mutable
class Entry:
    """One entry of the file. With a log, `used` counts where it applied, `example` shows one."""

    kind: str  # prefix, quantity, axis, setting, fragment, silent
    name: str
    fault: str = ""
    trials: list[Trial] = field(default_factory=list)
    used: int | None = None
    example: str = ""

    @property
    def good(self) -> bool:
        """Whether it can be used as it stands."""
        return not self.fault and all(trial.good for trial in self.trials)


def entries(path: Path) -> list[Entry]:
    """Every entry of a file with its samples tried. Raises FormatError where it is no TOML."""
    document = document_of(path)
    found = [_prefix(entry) for entry in document.get("prefix", ())]
    names = _names(document, found)
    if names is not None:
        found += [_quantity(entry, names) for entry in document.get("quantity", ())]
    for kind in ("axis", "setting"):
        found += [
            Entry(kind, key, "" if isinstance(words, list) else "must be a list of names")
            for key, words in document.get(kind, {}).items()
        ]
    found += [Entry("fragment", str(text)) for text in document.get("fragments", ())]
    if names is not None and all(entry.good for entry in found):
        found += list(_silent(path, document.get("silent", ())))
    return found


def applied(path: Path, found: list[Entry], survey: Survey) -> None:
    """Tell each entry how often it applied in a log that was surveyed with the file."""
    own = Names.parse(document_of(path)).rules
    quantities: dict[str, Seen] = {}
    for metric in survey.metrics.values():
        rule = survey.knowledge.names.quantity(metric.metric)
        if rule is not None and rule in own:
            seen = quantities.setdefault(rule.name, Seen(rule.name))
            seen.count += metric.count
            seen.example = seen.example or metric.metric
    tables = {"prefix": survey.prefixes, "quantity": quantities, "fragment": survey.fragments}
    for entry in found:
        if entry.kind in tables:
            seen = tables[entry.kind].get(entry.name, Seen(entry.name))
            entry.used, entry.example = seen.count, seen.example


def far(pattern: str, sample: str) -> str:
    """How far a pattern gets on a sample: what it matched, and the part where it stops."""
    import regex

    for end in range(len(pattern), 0, -1):
        try:
            head = regex.compile(pattern[:end], regex.VERBOSE)
            m = head.match(sample, timeout=_PATIENCE)
        except (regex.error, TimeoutError):
            continue
        if m is not None and m.end():
            rest, behind = pattern[end:], sample[m.end() :]
            if not rest:
                return f"matches {m.group()!r}, not {behind!r} behind it"
            return f"matches {m.group()!r}, then `{rest}` does not match {behind!r}"
    return f"matches nothing of it from the start: `{pattern}`"


def _prefix(entry: dict[str, Any]) -> Entry:
    found = Entry("prefix", str(entry.get("name", "?")))
    try:
        own_pattern(entry)
    except FormatError as error:
        found.fault = str(error)
        return found
    found.fault = _unknown("prefix", entry)
    if not entry.get("samples"):
        found.fault = found.fault or "no samples: nothing shows that it works"
    for sample in entry.get("samples", ()):
        try:
            Prefixes.of(shipped("prefix.toml")["prefix"], [{**entry, "samples": [sample]}])
        except FormatError:
            found.trials.append(Trial(sample, False, far(entry["pattern"], sample)))
        else:
            found.trials.append(Trial(sample, True, "peeled whole"))
    return found


def _names(document: dict[str, Any], found: list[Entry]) -> Names | None:
    """The names that the file and ours give together; None where an entry is broken."""
    whole = True
    for entry in document.get("quantity", ()):
        name = entry.get("name")
        if not isinstance(name, str):
            found.append(Entry("quantity", "?", "no name"))
            whole = False
        for key in ("exact", "any", "also", "never", "fits", "misses"):
            if not isinstance(entry.get(key, []), list):
                found.append(Entry("quantity", str(name), f"{key} must be a list"))
                whole = False
    return Names.parse(document, shipped("metrics.toml")) if whole else None


def _quantity(entry: dict[str, Any], names: Names) -> Entry:
    found = Entry("quantity", entry["name"], _unknown("quantity", entry))
    if not entry.get("exact") and not entry.get("any"):
        found.fault = found.fault or "neither `exact` nor `any`: no name can fit"
    for wanted, samples in ((True, entry.get("fits", ())), (False, entry.get("misses", ()))):
        for sample in samples:
            rule = names.quantity(sample)
            fits = rule is not None and rule.name == entry["name"]
            said = "not known" if rule is None else f"is {rule.name}"
            found.trials.append(Trial(sample, fits is wanted, said))
    return found


def _unknown(kind: str, entry: dict[str, Any]) -> str:
    """What is wrong with the keys of an entry."""
    odd = sorted(set(entry) - _KEYS[kind])
    return f"keys that mean nothing: {', '.join(odd)}" if odd else ""


def _silent(path: Path, lines: list[str]) -> Iterator[Entry]:
    """The lines that must give nothing, read with the file."""
    knowledge = Knowledge.with_own([path]) if lines else builtin()
    for line in lines:
        parser, stream = Parser(knowledge=knowledge), Stream("sample")
        batches = (parser.feed(Chunk(stream, f"{line}\n".encode(), 0)), parser.finish(stream))
        said = [
            f"{metric}={value:g}"
            for batch in batches
            for metric, value in zip(
                *(batch.points.column(name).tolist() for name in ("metric", "value")),
                strict=True,
            )
        ]
        entry = Entry("silent", line)
        entry.trials.append(Trial(line, not said, ", ".join(said) or "gives nothing"))
        yield entry
