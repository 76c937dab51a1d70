"""Read logs into numbers: one row for each measurement.

PATH is a file, a folder or quoted glob of files that belong to one run, or - for standard input. A
run that a service keeps (--wandb, --mlflow, --vertex-...) is read as it is now.
The columns are stream, line, time, rank, step, epoch, metric, value and unit. Values are exact:
CSV writes nan, inf and -inf, JSON lines write "NaN", "Infinity" and "-Infinity".
With several PATHs a stream's name starts with its PATH.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch.cli.words.formats import add_formats, own_formats
from runwatch.cli.words.lean import load_numpy
from runwatch.cli.words.services import add_services, all_of
from runwatch.errors import RunwatchError, UsageError
from runwatch.plain import counted

if TYPE_CHECKING:
    from runwatch.records import Batch
    from runwatch.tally import Tally
    from runwatch.target import Target

EXAMPLES = """\
  runwatch parse train.log                       every number as CSV
  runwatch parse train.log --summary             one row for each metric
  runwatch parse logs/ --to parquet -o run.parquet
  runwatch parse --mlflow 0123abcd --tracking-uri http://mlflow:5000
  kubectl logs trainer-0 | runwatch parse - --to jsonl
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a file, folder, glob or -")
    add_services(parser, several=True)
    parser.add_argument(
        "--to",
        choices=("csv", "jsonl", "parquet", "arrow"),
        help="the format (csv, unless the name after -o says another)",
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="write there, not to standard output")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.add_argument("--summary", action="store_true", help="one row a metric, not the points")
    parser.add_argument("--json", action="store_true", help="the summary as JSON")
    parser.add_argument(
        "--threads",
        metavar="N",
        type=_threads,
        help="threads for large inputs (as many as there are cores, 8 at most)",
    )
    add_formats(parser)


def run(options: argparse.Namespace) -> int:
    """0, or the code of the first PATH that could not be read."""
    if options.json and not options.summary:
        raise UsageError("--json goes with --summary", hint="for points, use `--to jsonl`")
    if options.summary and options.to:
        raise UsageError("--summary has no --to", hint="use `--summary --json`")
    load_numpy()
    reading = _Reading(all_of(options), own_formats(options.formats), options.threads)
    if options.summary:
        _summary(options, reading)
    else:
        _points(options, reading)
    return reading.code


def _threads(word: str) -> int:
    try:
        count = int(word)
    except ValueError:
        count = 0
    if not 1 <= count <= 256:
        raise argparse.ArgumentTypeError(f"{word!r} is no number from 1 to 256")
    return count


class _Reading:
    """Batches of all paths, one after the other; a path that fails does not stop the others."""

    def __init__(
        self, paths: "list[str | Target]", formats: list[Path], threads: int | None
    ) -> None:
        self.threads = threads
        self.paths = paths
        self.formats = formats
        self.code = 0
        self.lines = 0
        self.bytes = 0
        self.tally: Tally | None = None  # where points are counted rather than kept
        self.skipped = 0

    def batches(self) -> Iterator[tuple[str, "Batch"]]:
        """Each with its stream's name among all paths."""
        from runwatch.cli import complain

        for path in self.paths:
            try:
                yield from self._batches(path)
            except RunwatchError as error:
                if len(self.paths) == 1:
                    raise
                complain(error, str(path))
                self.code = self.code or error.exit_code

    def _batches(self, path: "str | Target") -> Iterator[tuple[str, "Batch"]]:
        from runwatch.cli.report.progress import Bar
        from runwatch.scanning import Reading

        name = _namer(str(path) if len(self.paths) > 1 else "")
        with Bar(str(path)) as bar:
            reading = Reading(
                path, bar, formats=self.formats, tally=self.tally, threads=self.threads
            )
            for batch in reading:
                yield name(batch.stream.name), batch
            self.lines += reading.coverage.lines
            self.bytes += reading.coverage.bytes
            self.skipped += reading.coverage.skipped


def _namer(path: str) -> Callable[[str], str]:
    def name(stream: str) -> str:
        if not path or path == stream or path.endswith("/" + stream):
            return path or stream
        return f"{path.rstrip('/')}/{stream}"

    return name


def _points(options: argparse.Namespace, reading: _Reading) -> None:
    from runwatch.cli.report.points import WRITERS, rows
    from runwatch.cli.report.sink import sink

    to = options.to or _by_suffix(options.out)
    with sink(options.out, force=options.force, binary=to in ("parquet", "arrow")) as out:
        writer = WRITERS[to](out)
        for name, batch in reading.batches():
            if len(batch.points):
                writer.write(rows(batch, name))
        writer.close()


def _by_suffix(out: str | None) -> str:
    suffix = (out or "").rpartition(".")[2].lower()
    return {"jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet", "arrow": "arrow"}.get(
        suffix, "csv"
    )


def _summary(options: argparse.Namespace, reading: _Reading) -> None:
    from runwatch.cli.report.document import document
    from runwatch.cli.report.sink import sink
    from runwatch.cli.report.table import aligned
    from runwatch.tally import Tally

    tally = reading.tally = Tally()
    with sink(options.out, force=options.force) as out:
        for _ in reading.batches():
            pass
        metrics = [metric.as_dict() for metric in tally.metrics()]
        if options.json:
            counts = {
                "lines": reading.lines,
                "bytes": reading.bytes,
                "points": sum(metric["count"] for metric in metrics),
                "skipped": reading.skipped,
            }
            out.write(document({**counts, "metrics": metrics}))
        elif metrics:
            table = aligned(list(metrics[0]), [list(row.values()) for row in metrics], cell=40)
            out.write(table.encode())
    if not metrics:
        print(f"no measurements in {counted(reading.lines, 'line')}", file=sys.stderr)
