"""Timers that fire `runwatch check`: shown, agreed to, written, taken away again."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch.errors import UsageError

if TYPE_CHECKING:
    from runwatch.target import Target
    from runwatch.timer import Timer

_NAMED = ("pid", "proc", "slurm", "host", "wandb", "wandb_project", "mlflow", "tracking_uri",
          "vertex_pipeline", "vertex_training", "project", "region", "vertex_endpoint",
          "logging_endpoint")  # fmt: skip
_TAKEN = ("baseline", "reference", "on_stop", "notes", "log", "env_file", "db")
_FLAGS = ("no_reviewer", "redact_paths")


def install(options: argparse.Namespace, target: "Target") -> int:
    """0 once it is written; raises UsageError where nobody agreed to it."""
    from runwatch.cli.report.text import clean

    if str(target) == "-" or options.no_store:
        raise UsageError(
            "a timer needs a target that lasts, and a history",
            hint="name a log, and leave out --no-store",
        )
    timer = _timer(options, target, options.timer)
    print("This will be written:", file=sys.stderr)
    for line in timer.shown().splitlines():
        print(f"  {clean(line)}", file=sys.stderr)
    if not options.yes and not _agreed():
        raise UsageError("nothing was written", hint="add --yes to agree to it")
    print(clean(timer.install()), file=sys.stderr)
    return 0


def remove(options: argparse.Namespace, target: "Target") -> int:
    """0 once there is none, of either kind."""
    import shutil

    kinds = [name for name, program in (("systemd", "systemctl"), ("cron", "crontab"))
             if shutil.which(program)]  # fmt: skip
    gone = [kind for kind in kinds if _timer(options, target, kind).remove()]
    told = f"removed from {' and '.join(gone)}" if gone else "there was no timer of this run"
    print(told, file=sys.stderr)
    return 0


def _timer(options: argparse.Namespace, target: "Target", kind: str) -> "Timer":
    from datetime import UTC, datetime

    from runwatch.run_id import run_id
    from runwatch.timer import timer_of

    run = run_id(target, lambda: datetime.now(UTC))
    return timer_of(kind, run, _command(options), Path.cwd(), _surroundings(), _units())


def _command(options: argparse.Namespace) -> list[str]:
    """The check as the timer runs it, with the options that were given."""
    words = [sys.executable, "-m", "runwatch", "check", "--due"]
    for name in (*_NAMED, *_TAKEN):
        value = getattr(options, name, None)
        if value and value != "none":
            words.append(f"--{name.replace('_', '-')}={value}")
    words += [f"--{name.replace('_', '-')}" for name in _FLAGS if getattr(options, name)]
    words += [f"--tolerance={options.tolerance:g}", f"--intervals={options.intervals}"]
    words += [f"--formats={path}" for path in options.formats]
    return words if options.target is None else [*words, "--", options.target]


def _surroundings() -> dict[str, str]:
    """What the check finds its history by; neither systemd nor cron passes it on. Keys of
    services are left out: they belong into --env-file."""
    home = os.environ.get("RUNWATCH_HOME")
    data = os.environ.get("XDG_DATA_HOME")
    kept = {"RUNWATCH_HOME": os.path.abspath(os.path.expanduser(home))} if home else {}
    return kept | ({"XDG_DATA_HOME": data} if data else {})


def _units() -> Path:
    """The user's folder of systemd units."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(home) if os.path.isabs(home) else Path.home() / ".config"
    return folder / "systemd" / "user"


def _agreed() -> bool:
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    print("Write it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
