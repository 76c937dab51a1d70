"""Judge the quality of a live training once, as a timer does: go on, wait, or stop.

It reads on from where it was, looks at loss trend, evaluations, NaN, spikes, learning rate and
gradient norm, compares with --baseline or a --reference run, and says STOP, CONTINUE or WAIT: exit
code 1, 0 or 4, or 3 where the source is out of reach, which is no word on the run. While all is
well the next check is due after 10, 20, 30, then 60 minutes; an anomaly brings that back to 10.
With --due it does nothing before its time, so a timer may fire every ten minutes; --install-timer
writes one.

Where the rules are unsure, a reviewer is asked if LLM_BASE_URL and LLM_MODEL (and LLM_API_KEY)
name one: any endpoint that speaks OpenAI's chat completions. What is done about a STOP is
--on-stop: kill ends the training's session, anything else is run as a command, which finds
RUNWATCH_RUN, RUNWATCH_TARGET, RUNWATCH_STEP and RUNWATCH_NOTES in its environment.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runwatch.cli.words.environment import store_at
from runwatch.cli.words.formats import add_formats, own_formats
from runwatch.cli.words.lean import load_numpy
from runwatch.cli.words.processes import add_processes, processes
from runwatch.cli.words.rules import add_rules, named_rules
from runwatch.cli.words.services import add_services, services
from runwatch.errors import StoreError, UnreachableError, UsageError

if TYPE_CHECKING:
    from runwatch.checking import Checking, Wanted
    from runwatch.checkup import Checkup, Last
    from runwatch.review import Reviewer
    from runwatch.target import Target

EXAMPLES = """\
  runwatch check train.log
  runwatch check train.log --baseline loss=2.1,acc=0.7
  runwatch check train.log --reference last-good-run --json
  runwatch check me@gpu-box:runs/7/train.log --due
  runwatch check --wandb team/project/run-id --log me@gpu-box:runs/7/train.log
  runwatch check --vertex-training 9876543210 --project my-proj
  runwatch check train.log --on-stop kill --notes NOTES.md --install-timer
  runwatch check train.log --remove-timer
"""
CODES = {"STOP": 1, "CONTINUE": 0, "WAIT": 4, None: UnreachableError.exit_code}


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    add = parser.add_argument
    add("target", metavar="TARGET", nargs="?", help="a file, folder, glob, user@host:/path or -")
    add_processes(parser)
    add_services(parser)
    add("--log", metavar="TARGET", help="read this where TARGET is out of reach")
    add("--baseline", metavar="M=X,…", default="", help="metrics it should reach: loss=2.1,acc=0.7")
    add("--reference", metavar="RUN", default="", help="a run of the history, at the same step")
    add("--tolerance", metavar="%", type=float, default=10.0,
        help="worse than that by so much is clearly bad (10)")  # fmt: skip
    add("--due", action="store_true", help="do nothing before the next check is due")
    add("--intervals", metavar="MIN,…", default="10,20,30,60", help="minutes between checks")
    add("--json", action="store_true", help="one JSON document")
    add("--on-stop", metavar="WHAT", default="none", help="kill, none (usual), or a command")
    add("--notes", metavar="FILE", help="append the evidence of a STOP there (Markdown)")
    add("--no-reviewer", action="store_true", help="ask no reviewer")
    add("--redact-paths", action="store_true", help="tell a reviewer no paths, hosts and run names")
    add("--env-file", metavar="FILE", help="NAME=VALUE lines with LLM_…, for timers")
    add("--verbose", action="store_true", help="show what is sent to the reviewer, and its answer")
    add("--install-timer", action="store_true", help="check every ten minutes, if it is due")
    add("--timer", choices=("auto", "systemd", "cron"), default="auto",
        help="a timer of systemd for this user, or of cron (whichever is there)")  # fmt: skip
    add("--remove-timer", action="store_true", help="take that timer away")
    add("--yes", action="store_true", help="install it without asking")
    add("--db", metavar="FILE", help="the history, if not the usual one")
    add("--no-store", action="store_true", help="keep no history, remember no interval")
    add_formats(parser)
    add_rules(parser)


def run(options: argparse.Namespace) -> int:
    """The code of the judgement; 0 where nothing is due, 3 where the history cannot be used."""
    target = _target(options)
    if options.due and not options.no_store and _too_early(options, target):
        return 0
    wanted = _wanted(options, target)
    if options.install_timer or options.remove_timer:
        from runwatch.cli.words.timers import install, remove

        return remove(options, target) if options.remove_timer else install(options, target)
    load_numpy()
    from datetime import UTC, datetime

    from runwatch.checking import Checking

    store = None if options.no_store else store_at(options.db)
    checking = Checking(
        target, wanted, store=store, clock=lambda: datetime.now(UTC), tell=_tell
    )  # fmt: skip
    if options.on_stop != "none":
        from runwatch.stopping import announced

        _tell(f"on STOP: {announced(options.on_stop)}")
    return _told(checking, options)


def _told(checking: "Checking", options: argparse.Namespace) -> int:
    """The check made and shown."""
    from runwatch.cli import complain

    checked = checking.check()
    if options.verbose and checked.review:
        _tell(f"sent to {checked.review['model']}:\n{checked.review['asked']}")
        _tell(f"its answer: {checked.review['answer'] or checked.review['why']}")
    _show(checked, options)
    if checking.lost is not None:
        complain(checking.lost)
        return StoreError.exit_code
    return CODES[checked.answer.judgement]


def _target(options: argparse.Namespace) -> "Target":
    from runwatch.target import Target

    named = [
        *([Target.parse(options.target)] if options.target is not None else []),
        *processes(options),
        *services(options),
    ]
    if len(named) != 1:
        what = "no target to check" if not named else "one target at a time"
        raise UsageError(what, hint="name a log file or folder, such as runwatch check train.log")
    return named[0]


def _wanted(options: argparse.Namespace, target: "Target") -> "Wanted":
    from runwatch.baseline import Baseline
    from runwatch.checking import Wanted
    from runwatch.stopping import check_order
    from runwatch.target import Target

    if not options.tolerance >= 0:
        raise UsageError(f"--tolerance {options.tolerance:g}: not a share", hint="0 or more")
    if not options.on_stop.strip():
        raise UsageError("--on-stop has nothing to do", hint="kill, none, or a command")
    check_order(options.on_stop, target)
    return Wanted(
        Baseline.parse_all(options.baseline), options.reference, options.tolerance / 100,
        _rungs(options.intervals), Target.parse(options.log) if options.log else None,
        _reviewer(options), options.redact_paths, options.on_stop,
        Path(options.notes) if options.notes else None, tuple(own_formats(options.formats)),
        named_rules(options.rule), _pages(),
    )  # fmt: skip


def _pages() -> str:
    """Where W&B shows runs: a server of one's own shows them where it answers."""
    import os

    from runwatch.checking import PAGES

    base = os.environ.get("WANDB_BASE_URL", "")
    return PAGES if not base or base.startswith("https://api.wandb.ai") else base


def _rungs(text: str) -> tuple[float, ...]:
    try:
        rungs = tuple(60 * float(part) for part in text.split(","))
    except ValueError:
        rungs = ()
    if not rungs or not all(0 < rung < 1e7 for rung in rungs) or list(rungs) != sorted(rungs):
        raise UsageError(f"--intervals {text}: no rising minutes", hint="such as 10,20,30,60")
    return rungs


def _reviewer(options: argparse.Namespace) -> "Reviewer | None":
    """Whom the environment names, or nobody."""
    from runwatch.cli.words.environment import variables

    if options.no_reviewer:
        return None
    named = variables(options.env_file)
    url, model = named.get("LLM_BASE_URL", "").strip(), named.get("LLM_MODEL", "").strip()
    if not url or not model:
        return None
    from runwatch.review import Reviewer

    return Reviewer(url, model, named.get("LLM_API_KEY", "").strip())


def _too_early(options: argparse.Namespace, target: "Target") -> bool:
    """Whether the next check is not due yet, which is said; nothing else is loaded for it. A
    history that cannot be opened is for the check to tell."""
    from datetime import UTC, datetime

    from runwatch.checkup import Last
    from runwatch.run_id import run_id

    now = datetime.now(UTC)
    run = run_id(target, lambda: now)
    try:
        last = Last.of(store_at(options.db).check(run))
    except StoreError:
        return False
    if last is None or last.is_due(now):
        return False
    _say_when(run, target, last, options)
    return True


def _say_when(run: str, target: "Target", last: "Last", options: argparse.Namespace) -> None:
    if options.json:
        from runwatch.cli.report.document import document

        told: dict[str, Any] = {
            "due": False, "run": run, "target": str(target), "judgement": last.judgement,
            "reason": last.reason, "next_due": last.due.isoformat(),
        }  # fmt: skip
        sys.stdout.buffer.write(document(told))
    elif sys.stderr.isatty():  # a timer would mail it every ten minutes
        from runwatch.cli.report.check import clock

        _tell(f"not due before {clock(last.due)}; the last word was {last.judgement or 'unknown'}")


def _show(checked: "Checkup", options: argparse.Namespace) -> None:
    if options.json:
        from runwatch.cli.report.document import document

        sys.stdout.buffer.write(document({"due": True, **checked.as_dict()}))
        return
    from runwatch.cli.report.check import report

    sys.stdout.write(report(checked, sys.stdout))


def _tell(text: str) -> None:
    """A word beside the answer, as data."""
    from runwatch.cli.report.text import clean

    for line in text.splitlines():
        print(clean(line), file=sys.stderr)
