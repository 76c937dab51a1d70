"""List the runs in the history, the last one first.

`runwatch show RUN` tells one again; its first letters are enough.
"""

import argparse
import sys
from typing import Any

from runwatch.errors import UsageError

EXAMPLES = """\
  runwatch runs
  runwatch runs --limit 5 --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="at most N (20)")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--db", metavar="FILE", help="the history, if not the usual one")


def run(options: argparse.Namespace) -> int:
    """0, also where there is no history yet."""
    from runwatch.cli.report.document import document
    from runwatch.cli.report.table import aligned
    from runwatch.cli.words.environment import store_at

    if options.limit < 1:
        raise UsageError(f"--limit {options.limit}: not a number of runs", hint="1 or more")
    runs = store_at(options.db).runs(options.limit)
    if options.json:
        sys.stdout.buffer.write(document({"runs": runs}))
    elif runs:
        sys.stdout.write(aligned(COLUMNS, [_row(run) for run in runs], cell=50))
    else:
        print("no runs yet; `runwatch scan PATH` adds one", file=sys.stderr)
    return 0


COLUMNS = ("run", "seen (UTC)", "state", "decision", "step", "root cause", "target")


def _row(run: dict[str, Any]) -> list[Any]:
    target = str(run["target"])
    step = "" if run["last_step"] is None else str(run["last_step"])
    if step and run["total_steps"]:
        step += f"/{run['total_steps']}"
    cause = run["root_kind"] or ""
    if cause and run["root_rank"] is not None:
        cause += f" (rank {run['root_rank']})"
    return [
        run["run"],
        run["last_seen"],
        run["terminal_state"] or "unfinished",
        run["decision"],
        step,
        cause,
        target if len(target) <= 32 else f"…{target[-31:]}",
    ]
