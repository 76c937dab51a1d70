"""Tell how a training run went: what it measured, what broke first, what to do.

Each PATH is one run: a file, a folder or quoted glob with one file per rank or attempt, or - for
standard input. A run that a service keeps (--wandb, --mlflow, --vertex-...) is read as it is now. A
run that is scanned again updates its history. The exit code is 0 for go or continue, 1 for no-go or
stop, 4 for wait; with several runs the worst counts, and a PATH that cannot be read makes it 2 (or
3, out of reach) after the others were scanned. If the history cannot be opened or written, the
answer is told all the same and the code is 3.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runwatch.cli.words.environment import store_at
from runwatch.cli.words.formats import add_formats, own_formats
from runwatch.cli.words.lean import load_numpy
from runwatch.cli.words.rules import add_rules, named_rules
from runwatch.cli.words.services import add_services, all_of
from runwatch.errors import RunwatchError, StoreError

if TYPE_CHECKING:
    from runwatch.detect.named import Named
    from runwatch.store import Store
    from runwatch.target import Target

EXAMPLES = """\
  runwatch scan train.log
  runwatch scan logs/rank_*/ --json
  runwatch scan 'logs/*.log'          quoted, all files are one run
  ssh gpu-box cat train.log | runwatch scan - --no-store
  runwatch scan train.log --rule monotonic=8 --rule grad-norm
  runwatch scan --wandb team/project/run-id
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a file, folder, glob or -")
    add_services(parser, several=True)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("-o", "--out", metavar="FILE", help="write there, not to standard output")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.add_argument("--db", metavar="FILE", help="the history, if not the usual one")
    parser.add_argument("--no-store", action="store_true", help="keep no history")
    add_formats(parser)
    add_rules(parser)


def run(options: argparse.Namespace) -> int:
    """The worst code of the runs, or of the errors where there were any."""
    from runwatch.cli.report.sink import sink

    store = None if options.no_store else store_at(options.db)
    if store:
        store.prepare()
    load_numpy()
    with sink(options.out, force=options.force) as out:
        runs, errors = _scan(options, store)
        out.write(_document(runs, errors) if options.json else _text(runs, options).encode())
    if errors:
        return errors[0][1].exit_code
    return _worst([exit_code(run) for run in runs])


def exit_code(summary: dict[str, Any]) -> int:
    """0 GO or CONTINUE, 1 NO-GO or STOP, 4 WAIT."""
    decision, judgement = summary["decision"], summary["judgement"]
    if decision == "NO-GO" or (judgement == "STOP" and decision != "GO"):
        return 1
    return 4 if judgement == "WAIT" and decision != "GO" else 0


def _worst(codes: list[int]) -> int:
    return next((code for code in (1, 4) if code in codes), 0)


def _scan(
    options: argparse.Namespace, store: "Store | None"
) -> tuple[list[dict[str, Any]], list[tuple[str, RunwatchError]]]:
    """The runs that could be read, and what went wrong by path; both may hold the same path."""
    from runwatch.cli import complain

    runs: list[dict[str, Any]] = []
    errors: list[tuple[str, RunwatchError]] = []
    rules = named_rules(options.rule)
    for target in all_of(options):
        path = str(target)
        lost: list[StoreError] = []
        wrong: list[RunwatchError] = []
        try:
            runs.append(_summary(target, store, own_formats(options.formats), rules, lost))
        except RunwatchError as error:
            wrong.append(error)
        for told in (*lost, *wrong):
            errors.append((path, told))
            complain(told, path)
        store = None if lost else store
    return runs, errors


def _summary(
    target: "str | Target", store: "Store | None", formats: list[Path],
    rules: "tuple[Named, ...]", lost: list[StoreError],
) -> dict[str, Any]:  # fmt: skip
    """The run; a history that cannot be used goes to `lost` and does not hide the answer."""
    from datetime import UTC, datetime

    from runwatch.cli.report.progress import Bar
    from runwatch.scanning import scan

    with Bar(str(target)) as bar:
        summary = scan(
            target, store=store, progress=bar, clock=lambda: datetime.now(UTC), formats=formats,
            rules=rules, lost=lost.append,
        )  # fmt: skip
        return summary.as_dict()


def _document(runs: list[dict[str, Any]], errors: list[tuple[str, RunwatchError]]) -> bytes:
    from runwatch.cli.report.document import document
    from runwatch.redact import redact

    told = [
        {
            "target": path, "error": redact(str(error)), "hint": redact(error.hint),
            "exit_code": error.exit_code,
        }
        for path, error in errors
    ]  # fmt: skip
    return document({"runs": runs, "errors": told} if told else {"runs": runs})


def _text(runs: list[dict[str, Any]], options: argparse.Namespace) -> str:
    import sys
    from io import StringIO

    from runwatch.cli.report.summary import report

    return "\n\n".join(report(run, StringIO() if options.out else sys.stdout) for run in runs)
