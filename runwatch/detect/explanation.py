"""What a kind of finding is, told from the detectors' own documentation and the signatures."""

import inspect
import re
from dataclasses import field

from runwatch.detect import Faults, detectors
from runwatch.detect.named import Rules
from runwatch.detect.signatures import Signature, catalog, context_table
from runwatch.judgement import rule, rules
from runwatch.pattern import compiled
from runwatch.slotted import frozen

_PARTS = ("Sees", "Matters", "Misses", "Tune")
_PART = compiled(rf"^({'|'.join(_PARTS)}): ", re.M)
_MAX_SAMPLES = 3


@frozen
class Explanation:
    """`parts` has what the detector sees, why that matters, what it misses and how to tune it.

    `samples` are lines that are such a fault, none for findings in numbers. `source` is where the
    rule stands in the program.
    """

    kind: str
    title: str
    severity: str
    judgement: str
    parts: dict[str, str] = field(default_factory=dict)
    samples: tuple[str, ...] = ()
    look: str = ""
    steps: tuple[str, ...] = ()
    source: str = ""


def kinds() -> list[str]:
    """Every kind that can be explained."""
    return sorted(rules())


def explain(kind: str) -> Explanation | None:
    """All that is known of a kind; None where there is no such kind."""
    if kind not in rules():
        return None
    told = rule(kind)
    owner = next(
        (d for d in (*detectors(), Rules(())) if f"`{kind}`" in (inspect.getdoc(d) or "")), None
    )
    signatures = [s for s in catalog().signatures.values() if s.kind == kind]
    detector = owner or Faults()
    samples = tuple(line for s in signatures for line in s.fires)[:_MAX_SAMPLES]
    parts = _parts(inspect.getdoc(detector) or "")
    words = _words_for(kind, signatures)
    if owner is None and not words:
        parts["Sees"] = "nothing in a log yet: it waits for a source that tells it."
    elif words:
        parts["Sees"] = f"{words}. As for every kind: {parts['Sees']}"
    return Explanation(
        kind, told.title, told.severity, told.judgement, parts,
        samples, told.look, told.steps, _source(detector, signatures),
    )  # fmt: skip


def _words_for(kind: str, signatures: list[Signature]) -> str:
    """What in a log leads to this kind, by name: signatures, exceptions, exit codes; "" if none."""
    table = context_table()
    kinds_of = [*table["exception"], *table["cut"]]
    raised = [
        f"{', '.join(row.get('types', ['a traceback cut off']))}"
        + (f" while {row['context']}" if row.get("context") else "")
        for row in kinds_of
        if row["kind"] == kind
    ]
    codes = [code for code, meant in table["exit"].items() if meant == kind]
    ways = [f"signatures {', '.join(sorted(s.name for s in signatures))}"] if signatures else []
    ways += [f"exceptions {'; '.join(raised)}"] if raised else []
    ways += [f"exit codes and signals {', '.join(codes)}"] if codes else []
    return ". Also ".join(ways)


def _source(detector: object, signatures: list[Signature]) -> str:
    """Where the rule stands: the detector's module, and the files that its words are in."""
    files = sorted({s.source for s in signatures if s.source})
    return "; ".join([type(detector).__module__, *(f"signature/{name}" for name in files)])


def _parts(text: str) -> dict[str, str]:
    """The labelled paragraphs of a detector's docstring, each on one line."""
    found = list(_PART.finditer(text))
    ends = [*(m.start() for m in found[1:]), len(text)]
    return {
        m.group(1): " ".join(text[m.end() : end].split())
        for m, end in zip(found, ends, strict=True)
    }
