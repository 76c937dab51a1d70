"""What it costs to follow many rank files: quiet ones, and ones that are written at speed.

    python -m bench.ranks [--quiet 1000] [--ranks 64] [--rate 1000] [--seconds 30]

First so many quiet files: share of one core and memory of the watcher, once it has read them. Then
so many ranks, each written at so many lines a second by a process beside the watcher: whether it
falls behind, by the report that tells all lines.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

SHARE, MEMORY = 0.01, 300.0  # of one core, MB: limits while all is quiet
BEHIND = 3.0  # seconds after the last line until a report tells all; one is due each second
_WRITER = """
import sys, time
folder, ranks, rate, seconds = sys.argv[1], *map(int, sys.argv[2:])
files = [open(f"{folder}/rank_{r}.log", "ab", 0) for r in range(ranks)]
begin, done = time.monotonic(), 0
while done < rate * seconds:
    due = min(rate * seconds, int((time.monotonic() - begin) * rate))
    lines = range(done + 1, due + 1)
    data = "".join(f"step {i} | loss {2 + i % 7 / 100} | lr 1e-4 | grad_norm 0.8\\n" for i in lines)
    for one in files:
        one.write(data.encode())
    done = due
    time.sleep(0.05)
print(time.monotonic() - begin)
"""


class Watcher:
    """`runwatch watch --json` of a folder; `step` and `lines` are those of its last report."""

    def __init__(self, folder: Path, *words: str) -> None:
        (folder / "out").mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "runwatch", "watch", str(folder / "logs"), "--json",
             "--no-fix", "--out-dir", str(folder / "out"), "--db", str(folder / "history.duckdb"),
             *words], stdout=subprocess.PIPE,
        )  # fmt: skip
        self.report: dict[str, Any] = {"lines": 0}
        self._come = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == "progress":
                with self._come:
                    self.report = event
                    self._come.notify_all()

    def until(self, lines: int, patience: float) -> float:
        """Seconds until so many lines are reported, infinite where that takes too long."""
        begin = time.monotonic()
        with self._come:
            come = self._come.wait_for(lambda: self.report["lines"] >= lines, patience)
        return time.monotonic() - begin if come else float("inf")

    def spent(self) -> tuple[float, float]:
        """CPU seconds so far, and MB of memory held now, of it and all below it."""
        mine = psutil.Process(self.process.pid)
        every = [mine, *mine.children(recursive=True)]
        times = [one.cpu_times() for one in every]
        return sum(t.user + t.system for t in times), sum(
            one.memory_info().rss for one in every
        ) / 1e6

    def close(self) -> None:
        """Leave nothing behind."""
        self.process.kill()
        self.process.wait()


def quiet(count: int, seconds: float) -> bool:
    """Whether so many quiet files are followed cheaply."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        for rank in range(count):
            lines = "".join(f"step {i} | loss 2.0 | lr 1e-4\n" for i in range(100))
            (folder / f"logs/rank_{rank}.log").write_text(lines)
        watcher = Watcher(folder, "--interval", "30")
        try:
            watcher.until(100 * count, 300)
            time.sleep(10)  # what follows the first report is over
            before, _ = watcher.spent()
            begin = time.monotonic()
            time.sleep(seconds)
            after, memory = watcher.spent()
            share = (after - before) / (time.monotonic() - begin)
        finally:
            watcher.close()
    print(
        f"{count:,} quiet rank files: {100 * share:.2f} % of one core over {seconds:.0f} s (limit "
        f"{100 * SHARE:.0f} %), {memory:.0f} MB (limit {MEMORY:.0f} MB)", flush=True
    )  # fmt: skip
    return share <= SHARE and memory <= MEMORY


def busy(ranks: int, rate: int, seconds: int) -> bool:
    """Whether ranks that write at speed are kept up with."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        for rank in range(ranks):
            (folder / f"logs/rank_{rank}.log").touch()
        words = ("--interval", "1", "--no-backoff")
        watcher = Watcher(folder, *words)
        try:
            writer = subprocess.run(
                [sys.executable, "-c", _WRITER, str(folder / "logs"), str(ranks), str(rate),
                 str(seconds)], capture_output=True, check=True, text=True,
            )  # fmt: skip
            behind = watcher.until(ranks * rate * seconds, 60)
            cpu, memory = watcher.spent()
        finally:
            watcher.close()
    took = float(writer.stdout)
    print(
        f"{ranks} ranks, {rate:,} lines a second each for {took:.0f} s: all read and reported "
        f"{behind:.1f} s after the last (limit {BEHIND:.0f} s), {100 * cpu / (took + behind):.0f} "
        f"% of one core, {memory:.0f} MB", flush=True
    )  # fmt: skip
    return behind <= BEHIND


def main() -> int:
    """1 where a limit is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quiet", type=int, default=1000, help="quiet files (1000)")
    parser.add_argument("--ranks", type=int, default=64, help="ranks that write (64)")
    parser.add_argument("--rate", type=int, default=1000, help="lines a second of each (1000)")
    parser.add_argument("--seconds", type=int, default=30, help="of each measurement (30)")
    options = parser.parse_args()
    os.environ["RUNWATCH_HOME"] = tempfile.gettempdir()
    cheap = quiet(options.quiet, options.seconds)
    return int(not (busy(options.ranks, options.rate, options.seconds) and cheap))


if __name__ == "__main__":
    sys.exit(main())
