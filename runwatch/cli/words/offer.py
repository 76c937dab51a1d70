"""What there is to watch, where nobody named a target."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from runwatch.errors import RunwatchError, UsageError

if TYPE_CHECKING:
    from runwatch.store import Store

RECENT = 600.0  # seconds within which a log that grows was written
MOST = 4  # offers of one kind
_LOGS = (".log", ".out", ".err", ".txt", ".jsonl")
_TRAINERS = ("torchrun", "deepspeed", "accelerate", "train", "finetune", "pretrain", "trainer")


def offers(store: "Store | None") -> list[tuple[str, str]]:
    """Targets and why each is offered: logs of running trainings, logs that grow, known runs."""
    found = [*_running(), *_growing(Path.cwd()), *_known(store)]
    first: dict[str, tuple[str, str]] = {}
    for target, why in found:
        first.setdefault(os.path.realpath(target), (target, why))
    return list(first.values())


def ask(found: list[tuple[str, str]]) -> str:
    """The target that a person types or chooses by its number."""
    from runwatch.cli.report.text import clean, shorten

    print("What shall be watched?", file=sys.stderr)
    for number, (target, why) in enumerate(found, 1):
        print(f"  {number}  {shorten(clean(target), 60)}  ({clean(why)})", file=sys.stderr)
    print("a number, a path, or nothing to leave: ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip()
    if answer.isdecimal() and 1 <= int(answer) <= len(found):
        return found[int(answer) - 1][0]
    if not answer:
        raise UsageError("no target to watch", hint="name a log file or folder")
    return answer


def _running() -> list[tuple[str, str]]:
    """Logs of processes that look like trainings."""
    from runwatch.owner import trainings

    return [
        (log, f"process {pid}: {' '.join(words)[:60]}") for pid, words, log in trainings(_TRAINERS)
    ][:MOST]


def _growing(folder: Path) -> list[tuple[str, str]]:
    """Logs in a folder, or one below, that were written a moment ago."""
    now = time.time()
    found = []
    for path in [*folder.glob("*"), *folder.glob("*/*")]:
        try:
            if path.suffix in _LOGS and path.is_file():
                age = now - path.stat().st_mtime
                if age < RECENT:
                    found.append((age, str(path.relative_to(folder))))
        except OSError:
            continue
    return [(path, f"written {age:.0f} s ago") for age, path in sorted(found)[:MOST]]


def _known(store: "Store | None") -> list[tuple[str, str]]:
    if store is None:
        return []
    try:
        runs = store.runs(MOST)
    except RunwatchError:
        return []
    return [
        (str(run["target"]), f"in the history: {run['terminal_state'] or 'unfinished'}")
        for run in runs
        if os.path.exists(os.path.expanduser(str(run["target"])))
    ]
