"""A training of ours: prints a given log at a given speed, and fails on cue.

    python trainer.py PLAN

PLAN is a JSON file: {"attempts": [[step, ...], ...]}. Each start takes the next attempt, the last
one again and again. A step is a text to print, {"wait": FILE} until that file is there,
{"exit": CODE}, {"kill": SIGNAL}, {"raise": TEXT}, {"pause": SECONDS}, {"tell": FACTS} of how it was
started, or {"spawn": FILE}, a child that waits for that file.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def facts() -> str:
    """How it was started: what must be the same the next time."""
    told = {
        **os.environ,
        "argv": sys.argv,
        "folder": os.getcwd(),
        "out": os.readlink("/proc/self/fd/1"),
        "ctrl-c": str(signal.getsignal(signal.SIGINT)),
    }
    return json.dumps(told, sort_keys=True)


def main(plan: Path) -> None:
    """Carry out the next attempt."""
    count = plan.with_suffix(".count")
    number = int(count.read_text()) if count.exists() else 0
    count.write_text(str(number + 1))
    attempts = json.loads(plan.read_text())["attempts"]
    for step in attempts[min(number, len(attempts) - 1)]:
        if isinstance(step, str):
            print(step, flush=True)  # noqa: T201 its log is its standard output
            continue
        (word, value), *_ = step.items()
        if word == "wait":
            while not Path(value).exists():
                time.sleep(0.01)
        elif word == "tell":
            print("told", facts(), flush=True)  # noqa: T201
        elif word == "spawn":
            child = subprocess.Popen(["sh", "-c", 'until [ -e "$0" ]; do sleep 1; done', value])
            print("spawned", child.pid, flush=True)  # noqa: T201
        elif word == "pause":
            time.sleep(value)
        elif word == "exit":
            sys.exit(value)
        elif word == "kill":
            os.kill(os.getpid(), value)
        elif word == "raise":
            raise RuntimeError(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
