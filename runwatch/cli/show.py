"""Tell a run of the history again, as its last scan told it.

RUN is an id from `runwatch runs`, its first letters, or `last`.
"""

import argparse
import sys

EXAMPLES = """\
  runwatch show last
  runwatch show 3f9a --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("name", metavar="RUN", help="an id, its first letters, or last")
    parser.add_argument("--json", action="store_true", help="as `scan --json` printed it")
    parser.add_argument("--db", metavar="FILE", help="the history, if not the usual one")


def run(options: argparse.Namespace) -> int:
    """Always 0: the answer about the run was the exit code of its scan."""
    from runwatch.cli.words.environment import store_at

    summary = store_at(options.db).run(options.name)
    if options.json:
        from runwatch.cli.report.document import document

        sys.stdout.buffer.write(document({"runs": [summary]}))
    else:
        from runwatch.cli.report.summary import report

        sys.stdout.write(report(summary))
    return 0
