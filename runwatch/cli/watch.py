"""Watch a live run until it ends: reports, anomalies at once, safe fixes, a final word.

TARGET is a log file, a folder or quoted glob with one file per rank, user@host:/path for a log on
another host, or - for a pipe; several are watched at once. Without one, on a terminal, it asks.
Reports begin at --interval and get rarer up to --max-interval while nothing happens. A crashed
process is started again at most three times without progress; whatever needs a person is only
proposed, with its command. The exit code is 0 for go or continue, 1 for no-go or stop, 3 where a
source is out of reach, 4 for wait, 130 after Ctrl-C. A target that cannot be read makes it 2 (or
3) after the others were watched to their end.
"""

import argparse
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch.cli.words.environment import store_at
from runwatch.cli.words.formats import add_formats, own_formats
from runwatch.cli.words.lean import load_numpy
from runwatch.cli.words.processes import add_processes, processes
from runwatch.cli.words.rules import add_rules, named_rules
from runwatch.cli.words.services import add_services, services
from runwatch.errors import StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runwatch.cli.report.notify import Notifier
    from runwatch.cli.report.screen import Screen
    from runwatch.event import Ended
    from runwatch.monitor import Watched, Wishes
    from runwatch.target import Target

EXAMPLES = """\
  runwatch watch train.log
  runwatch watch logs/ --interval 10 --json
  runwatch watch train.log --once              one look: is it healthy?
  runwatch watch train.log --restart-cmd './start.sh --resume'
  runwatch watch me@gpu-box:runs/7/train.log me@gpu-box:runs/8/train.log
  runwatch watch --proc train.py
  runwatch watch --wandb team/project/run-id --log me@gpu-box:runs/7/train.log
  runwatch watch --mlflow 0123abcd --tracking-uri http://mlflow:5000
  runwatch watch --vertex-training 9876543210 --project my-proj --region us-central1
  runwatch watch --vertex-pipeline my-llm-pipeline --interval 120
  torchrun train.py 2>&1 | runwatch watch - --tee
"""
_KINDS = ("restart", "kill-restart", "cancel")


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    add = parser.add_argument
    add("targets", metavar="TARGET", nargs="*", help="a file, folder, glob, user@host:/path or -")
    add_processes(parser, several=True)
    add_services(parser, several=True)
    add("--log", metavar="TARGET", help="read this while that service does not answer")
    add("--once", action="store_true", help="one look, then the answer")
    add("--json", action="store_true", help="events as they happen, one JSON object a line")
    add("--interval", metavar="S", type=float, help="seconds between reports (30; Vertex AI: 60)")
    add("--max-interval", metavar="S", type=float, default=300.0, help="at most so many (300)")
    add("--no-backoff", action="store_true", help="always --interval")
    add("--no-fix", action="store_true", help="only watch, touch nothing")
    add("--fix-remote", action="store_true", help="restart and end processes of other hosts, too")
    add("--restart-cmd", metavar="CMD", default="", help="starts the training again")
    add("--clear-cache-cmd", metavar="CMD", default="", help="frees GPU memory when it ran out")
    add("--yes", metavar="KIND", action="append", default=[], choices=_KINDS,
        help=f"allow in advance what else needs a person: {', '.join(_KINDS)}")  # fmt: skip
    add("--out-dir", metavar="DIR", default=".", help="where babysit-training.json goes (.)")
    add("--notify", metavar="URL", action="append", default=[], help="tell findings and the end")
    add("--tee", action="store_true", help="with -, pass the text through; reports go to stderr")
    add("--plain", action="store_true", help="lines, also on a terminal")
    add("--db", metavar="FILE", help="the history, if not the usual one")
    add("--no-store", action="store_true", help="keep no history")
    add_formats(parser)
    add_rules(parser)


def run(options: argparse.Namespace) -> int:
    """The code of the first target that failed, else the worst of all; 130 after Ctrl-C."""
    import asyncio

    from runwatch.cli.report.screen import Screen

    load_numpy()
    targets = _targets(options)
    _check(options, targets)
    notify = _notifier(options.notify)
    watched = _opened(options, targets)  # not in the loop, so that Ctrl-C ends it at once
    with Screen(
        json=options.json, tee=options.tee, plain=options.plain or options.once,
        several=len(targets) > 1, accounts={str(one): one.account for one in targets},
    ) as screen:  # fmt: skip
        return asyncio.run(_watch(options, watched, screen, notify))


def _targets(options: argparse.Namespace) -> "list[Target]":
    """Everything that was named, or what a person chooses."""
    from runwatch.target import Target

    named = [
        *map(Target.parse, options.targets),
        *processes(options),
        *services(options, options.log),
    ]
    if options.log and not any(target.beside for target in named):
        raise UsageError("--log goes with a run at a service", hint="name a log as TARGET itself")
    return named or [Target.parse(_asked(options))]


def _check(options: argparse.Namespace, targets: "list[Target]") -> None:
    if options.interval is not None and not options.interval > 0:
        raise UsageError(f"--interval {options.interval:g}: not a time", hint="seconds above 0")
    if len(set(targets)) < len(targets):
        raise UsageError("a target is named twice", hint="name each once")
    if options.tee and list(map(str, targets)) != ["-"]:
        raise UsageError("--tee goes with -", hint="`torchrun … | runwatch watch - --tee`")
    if options.tee and options.json:
        raise UsageError("--tee and --json both want standard output", hint="choose one")


def _asked(options: argparse.Namespace) -> str:
    """Without a target: what a person on a terminal chooses."""
    import sys

    from runwatch.cli.words.offer import ask, offers

    if not sys.stdin.isatty() or not sys.stderr.isatty() or options.json:
        raise UsageError(
            "no target to watch", hint="name a log file or folder, or - for standard input"
        )
    return ask(offers(None if options.no_store else store_at(options.db)))


async def _watch(
    options: argparse.Namespace, watched: "list[Watched]", screen: "Screen",
    notify: "Notifier | None",
) -> int:  # fmt: skip
    import asyncio

    from runwatch.cli import INTERRUPTED
    from runwatch.event import Ended, Failed
    from runwatch.together import Stop, watch_all

    stop, codes, errors = Stop(), [], []
    loop = asyncio.get_running_loop()
    try:
        with _signals(lambda: loop.call_soon_threadsafe(stop.ask, "interrupted")) as interrupted:
            screen.run(loop, stop, watched)
            async for event in watch_all(watched, stop):
                if isinstance(event, Failed):
                    errors.append(event.error.exit_code)
                if isinstance(event, Ended):
                    codes.append(_code(event))
                    _keep(options, event, alone=len(watched) == 1)
                if not screen.show(event):
                    stop.ask("nobody reads what it tells")
                if notify is not None:
                    notify.tell(event)
                    screen.warn(notify.troubles())
    except KeyboardInterrupt:
        notify = None  # asked to end twice: nothing is waited for
        raise
    finally:  # what was told is delivered, whatever else breaks
        if notify is not None:
            notify.close()
            screen.warn(notify.troubles())
    if interrupted:
        return INTERRUPTED
    if any(one.unstored or one.watch.unstored for one in watched):
        codes.append(StoreError.exit_code)
    return errors[0] if errors else next((code for code in (1, 3, 4) if code in codes), 0)


@contextmanager
def _signals(stop: "Callable[[], object]") -> "Iterator[list[int]]":
    """Meanwhile a signal to end us is kept in the list, and `stop` called; a second one is a
    KeyboardInterrupt, whatever is being done: the history may have to be waited for."""
    import signal

    told: list[int] = []

    def hear(number: int, _: object) -> None:
        told.append(number)
        if len(told) > 1:
            raise KeyboardInterrupt
        stop()

    numbers = {signal.SIGINT, signal.SIGTERM}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup has it
        numbers.add(signal.SIGHUP)
    before = {number: signal.signal(number, hear) for number in numbers}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _opened(options: argparse.Namespace, targets: "list[Target]") -> "list[Watched]":
    """All targets opened, before any is watched."""
    from datetime import UTC, datetime

    from runwatch.monitor import Watched

    store = None if options.no_store else store_at(options.db)
    return [
        Watched(
            target, _wishes(options, target), store=store, clock=lambda: datetime.now(UTC),
            tee=1 if options.tee else None,
        )
        for target in targets
    ]  # fmt: skip


def _wishes(options: argparse.Namespace, target: "Target") -> "Wishes":
    from runwatch.monitor import Wishes
    from runwatch.remedy import Allowed
    from runwatch.target import VERTEX

    allowed = Allowed(
        not options.no_fix, frozenset(options.yes), options.restart_cmd,
        options.clear_cache_cmd, options.fix_remote,
    )  # fmt: skip
    usual = 60.0 if target.kind in VERTEX else 30.0
    return Wishes(
        options.interval or usual, options.max_interval, not options.no_backoff, options.once,
        allowed, tuple(own_formats(options.formats)), named_rules(options.rule),
    )  # fmt: skip


def _code(event: "Ended") -> int:
    from runwatch.cli.scan import exit_code

    return 3 if event.unreachable else exit_code(dict(event.summary))


def _keep(options: argparse.Namespace, event: "Ended", *, alone: bool) -> None:
    """Write babysit-training.json, or one for each of several runs."""
    from runwatch.artifact import NAME, write
    from runwatch.cli.report.document import document

    name = NAME if alone else f"{NAME}-{event.summary['run']}"
    write(document(dict(event.artifact)), Path(options.out_dir), name)


def _notifier(urls: list[str]) -> "Notifier | None":
    if not urls:
        return None
    from runwatch.cli.report.notify import Notifier

    return Notifier(urls)
