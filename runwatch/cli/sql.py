"""Ask the history in SQL.

The views are runs, streams, points, lines, findings, judgements, checks and actions;
`DESCRIBE points` shows the columns of one. The history is opened for reading only and never held
open, so this works while others write to it.
"""

import argparse

from runwatch.errors import UsageError

EXAMPLES = """\
  runwatch sql "FROM runs"
  runwatch sql "SELECT kind, count(*) FROM findings GROUP BY kind ORDER BY 2 DESC"
  runwatch sql "SELECT step, value FROM points WHERE quantity = 'loss'" --format csv
  runwatch sql "FROM points" --format parquet -o points.parquet
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("query", metavar="QUERY", help="one SQL statement, in DuckDB's dialect")
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json", "parquet"),
        help="of the answer (table, unless the name after -o says another)",
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="write there, not to standard output")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.add_argument("--db", metavar="FILE", help="the history, if not the usual one")


def run(options: argparse.Namespace) -> int:
    """0; a query that cannot be answered raises QueryError, none UsageError."""
    from runwatch.cli.report.sink import sink
    from runwatch.cli.report.table import FORMATS
    from runwatch.cli.words.environment import store_at

    if not options.query.strip(" \t\r\n;"):
        raise UsageError("no query", hint='`runwatch sql "FROM runs"` is one')
    suffix = (options.out or "").rpartition(".")[2].lower()
    kind = options.format or (suffix if suffix in FORMATS else "table")
    with sink(options.out, force=options.force, binary=kind == "parquet") as out:
        FORMATS[kind](store_at(options.db).query(options.query), out)
    return 0
