"""Tell what a kind of finding is: what it sees, why it matters, what it misses, how to tune it.

Without KIND, all kinds with their severity and what they ask for; `rules` lists the named rules
that --rule applies.
"""

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from runwatch.errors import UsageError

if TYPE_CHECKING:
    from runwatch.detect.explanation import Explanation

EXAMPLES = """\
  runwatch explain
  runwatch explain nccl_timeout
  runwatch explain loss_spike_unresolved --json
  runwatch explain rules
"""
LABELS = {"Sees": "Sees", "Matters": "Why it matters", "Misses": "Misses", "Tune": "To tune"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("kind", metavar="KIND", nargs="?", help="as findings name it")
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(options: argparse.Namespace) -> int:
    """0. Raises UsageError where there is no such kind."""
    from runwatch.cli.report.document import document
    from runwatch.detect.explanation import explain, kinds

    if options.kind == "rules":
        return _rules(options)
    if options.kind is None:
        every = [found for kind in kinds() if (found := explain(kind)) is not None]
        if options.json:
            sys.stdout.buffer.write(document({"kinds": [asdict(one) for one in every]}))
        else:
            sys.stdout.write(_list(every))
        return 0
    found = explain(options.kind)
    if found is None:
        raise UsageError(f"{options.kind}: no such kind", hint=_near(options.kind, kinds()))
    if options.json:
        sys.stdout.buffer.write(document(asdict(found)))
    else:
        sys.stdout.write(_page(found))
    return 0


def _rules(options: argparse.Namespace) -> int:
    """The named rules."""
    from runwatch.cli.report.document import document
    from runwatch.cli.report.table import aligned
    from runwatch.detect.named import known

    rules = list(known().values())
    if options.json:
        sys.stdout.buffer.write(document({"rules": [asdict(one) for one in rules]}))
        return 0
    rows = [[one.name, f"{one.value:g} {one.unit}", one.kind, one.means] for one in rules]
    sys.stdout.write(aligned(("rule", "threshold", "finding", "what it says"), rows, cell=100))
    return 0


def _near(kind: str, kinds: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(kind, kinds, 1, 0.5)
    return f"did you mean {close[0]}?" if close else "`runwatch explain` lists them all"


def _list(every: list["Explanation"]) -> str:
    from runwatch.cli.report.table import aligned

    rows = [[one.kind, one.severity, one.judgement, one.title] for one in every]
    return aligned(("kind", "severity", "asks for", "what it is"), rows, cell=60)


def _page(one: "Explanation") -> str:
    from runwatch.cli.report.text import paint, wrap
    from runwatch.cli.words.environment import width

    room, indent = width(), " " * 16
    lines = [
        paint(one.kind, "bold", sys.stdout) + f"  {one.title}",
        f"{one.severity}; a live run: {one.judgement}",
        "",
    ]
    rows = [(LABELS[part], text) for part, text in one.parts.items()]
    if one.look:
        rows.append(("Look at", one.look))
    rows += [("Do" if i == 0 else "", step) for i, step in enumerate(one.steps)]
    rows += [("Lines like" if i == 0 else "", line) for i, line in enumerate(one.samples)]
    rows.append(("Source", one.source))
    for label, text in rows:
        lines.append(f"{label:<16}" + wrap(text, room, indent))
    return "\n".join(lines) + "\n"
