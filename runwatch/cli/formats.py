"""Tell what is recognised in a log and with what evidence, or try a file of your own formats.

PATH is a file, a folder or quoted glob of files that belong to one run, or - for standard input.
Listed are the programs that it looks like, the prefixes taken off its lines, the forms of its lines
(where their step and rank come from, why their numbers count or do not), and its metrics.

`runwatch formats check FILE.toml [LOG]` tries every entry of a file for --formats on its samples
and tells how far each pattern got; with a LOG also how often each entry applies there. Exit code 2
if an entry does not work.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runwatch.cli.words.formats import add_formats, own_formats
from runwatch.cli.words.lean import load_numpy
from runwatch.errors import FormatError, UsageError
from runwatch.plain import counted

if TYPE_CHECKING:
    from runwatch.parse.own import Entry
    from runwatch.parse.survey import Survey

EXAMPLES = """\
  runwatch formats train.log
  runwatch formats logs/ --json
  runwatch formats check mine.toml               try your own formats on their samples
  runwatch formats check mine.toml train.log     and on a log
"""
_LINES = 200_000
_PIECE = 1 << 16  # bytes between two looks at how many lines were read
_ROWS = 40  # of a table for people; JSON has all


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("words", metavar="PATH", nargs="+", help="a log, or: check FILE.toml [LOG]")
    parser.add_argument(
        "--lines", metavar="N", type=int, default=_LINES,
        help=f"stop after about so many lines of a log ({_LINES:,})",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON document")
    add_formats(parser)


def run(options: argparse.Namespace) -> int:
    """0, or 2 where an entry of a user's file does not work."""
    load_numpy()
    first, *rest = options.words
    if first == "check":
        if not 1 <= len(rest) <= 2:
            raise UsageError(
                "check needs one FILE.toml and at most one LOG",
                hint="a log that is called check is named ./check",
            )
        return _check(options, Path(rest[0]), rest[1] if len(rest) > 1 else None)
    if rest:
        raise UsageError("one log at a time", hint="a folder or a quoted glob is one run")
    survey, whole = _surveyed(options, first, own_formats(options.formats))
    document = {"target": first, "whole": whole, **_document(survey)}
    _write(options, document, lambda: _page(document))
    return 0


def _surveyed(
    options: argparse.Namespace,
    target: str,
    formats: list[Path],
    fragments: list[str] | None = None,
) -> tuple["Survey", bool]:
    """A log read by a survey, and whether it was read to its end."""
    from runwatch.parse.knowledge import Knowledge
    from runwatch.parse.survey import Survey
    from runwatch.scanning import chunks_of

    survey = Survey(knowledge=Knowledge.with_own(formats), fragments=fragments or ())
    for chunk in chunks_of(target):
        for at in range(0, len(chunk.data), _PIECE):
            if survey.account.lines >= options.lines:
                return survey, False
            survey.feed(replace(chunk, data=chunk.data[at : at + _PIECE], offset=chunk.offset + at))
        if chunk.last:
            survey.finish(chunk.stream)
    return survey, True


def _document(survey: "Survey") -> dict[str, Any]:
    """What a survey found, as plain values, the most frequent first."""
    from runwatch.redact import redact

    def plain(found: list[Any]) -> list[dict[str, Any]]:
        rows = [asdict(one) for one in sorted(found, key=lambda one: -one.count)]
        for row in rows:
            if "example" in row:
                row["example"] = redact(row["example"])
        return rows

    account = survey.account
    return {
        "lines": account.lines,
        "bytes": account.bytes,
        "metric_lines": account.metric_lines,
        "points": account.points,
        "not_understood": account.unclear,
        "not_told_apart": survey.more,
        "families": plain(list(survey.families.values())),
        "prefixes": plain(list(survey.prefixes.values())),
        "forms": plain(list(survey.forms.values())),
        "metrics": plain(list(survey.metrics.values())),
    }


def _page(found: dict[str, Any]) -> str:
    some = "" if found["whole"] else "the first "
    parts = [
        f"{found['target']}: {some}{counted(found['lines'], 'line')}, "
        f"{found['metric_lines']:,} of them "
        f"with {found['points']:,} measurements; {found['not_understood']:,} not understood\n"
    ]
    seen = ("name", "count", "line", "example")
    parts += _table("looks like", found["families"], seen)
    parts += _table("prefixes", found["prefixes"], seen)
    parts += _forms(found["forms"])
    parts += _table("metrics", found["metrics"], ("metric", "unit", "quantity", "count", "line"))
    return "".join(parts)


def _forms(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The forms of lines, each with an example under it."""
    from runwatch.cli.report.text import clean, paint, shorten
    from runwatch.cli.words.environment import width

    yield f"\n{paint('forms of lines', 'bold', sys.stdout)}\n"
    rows.sort(key=lambda row: -row["points"])
    for row in rows[:_ROWS]:
        origin = "".join(f"; {key} from {row[key]}" for key in ("step", "rank") if row[key])
        yield (
            f"{row['count']:>9,} {row['kind']}, {row['points']:,} measurements{clean(origin)}\n"
            f"          evidence: {row['evidence']}\n"
            f"          line {row['line']}: {shorten(clean(row['example']), width() - 20)}\n"
        )
    if not rows:
        yield "none\n"
    yield _more(rows)


def _table(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Iterator[str]:
    from runwatch.cli.report.table import aligned
    from runwatch.cli.report.text import paint

    yield f"\n{paint(title, 'bold', sys.stdout)}\n"
    if not rows:
        yield "none\n"
        return
    yield aligned(columns, [[row[name] or None for name in columns] for row in rows[:_ROWS]])
    yield _more(rows)


def _more(rows: list[dict[str, Any]]) -> str:
    hidden = len(rows) - _ROWS
    return f"and {hidden:,} more; --json has them all\n" if hidden > 0 else ""


def _check(options: argparse.Namespace, path: Path, log: str | None) -> int:
    from runwatch.parse.own import applied, entries

    found = entries(path)
    good = all(entry.good for entry in found)
    if log is not None:
        if not good:
            raise FormatError(
                f"{path}: the log was not read, as an entry does not work",
                hint=f"`runwatch formats check {path}` tells which",
            )
        fragments = [entry.name for entry in found if entry.kind == "fragment"]
        survey, _ = _surveyed(options, log, [path], fragments)
        applied(path, found, survey)
    document = {
        "file": str(path),
        "good": good,
        "entries": [{**asdict(entry), "good": entry.good} for entry in found],
    }
    _write(options, document, lambda: _report(path, found, log))
    return 0 if good else FormatError.exit_code


def _report(path: Path, found: list["Entry"], log: str | None) -> str:
    from runwatch.cli.report.text import clean, paint

    lines = []
    for entry in found:
        mark = (
            paint("works", "green", sys.stdout) if entry.good else paint("fails", "red", sys.stdout)
        )
        used = "" if entry.used is None else f", {counted(entry.used, 'time')} in {log}"
        lines.append(f"{mark}  {entry.kind} {clean(entry.name)}{clean(used)}")
        if entry.fault:
            lines.append(f"       {clean(entry.fault)}")
        lines += [
            f"       {'+' if trial.good else '-'} {clean(trial.sample)!r}: {clean(trial.said)}"
            for trial in entry.trials
        ]
    bad = sum(not entry.good for entry in found)
    work = f"{bad} of them without success" if bad else "all right"
    lines.append(f"{path}: {counted(len(found), 'pattern')}, {work}")
    return "\n".join(lines) + "\n"


def _write(options: argparse.Namespace, document: dict[str, Any], page: Any) -> None:
    from runwatch.cli.report.document import document as as_json

    if options.json:
        sys.stdout.buffer.write(as_json(document))
    else:
        sys.stdout.write(page())
