"""A long watch in little time: rotations, and kills of the watcher, while every line is counted.

    python bench/soak.py [SECONDS] [SEED]

A writer appends numbered lines at high speed and now and then moves its log away and begins a new
one. The watcher is killed without warning at random times and started again. At the end every
number must be in the history exactly once.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

KEPT = 12  # rotated logs that are kept; what is deleted before it was read is lost to anyone


class Writer(threading.Thread):
    """Writes until told to stop; `count` is the last number."""

    def __init__(self, log: Path, chance: random.Random) -> None:
        super().__init__()
        self.log, self.count, self.rotations = log, 0, 0
        self.stopped = threading.Event()
        self._chance = chance

    def run(self) -> None:
        """Write lines, pause, now and then rotate."""
        out = self.log.open("a", buffering=1 << 12)
        while not self.stopped.is_set():
            for _ in range(self._chance.randrange(1, 200)):
                self.count += 1
                out.write(f"step {self.count} | loss {2 + self.count % 7} | lr 1e-4\n")
            out.flush()
            time.sleep(self._chance.uniform(0, 0.05))
            if self._chance.random() < 0.005:
                self._rotate()
                out.close()
                out = self.log.open("a", buffering=1 << 12)
        out.close()

    def _rotate(self) -> None:
        self.rotations += 1
        for number in range(KEPT, 0, -1):
            old = self.log.with_name(f"{self.log.name}.{number}")
            if old.exists():
                old.rename(self.log.with_name(f"{self.log.name}.{number + 1}"))
        self.log.rename(self.log.with_name(f"{self.log.name}.1"))
        self.log.with_name(f"{self.log.name}.{KEPT + 1}").unlink(missing_ok=True)


def watcher(log: Path, history: Path) -> "subprocess.Popen[bytes]":
    """`runwatch watch`, storing often."""
    return subprocess.Popen(
        [sys.executable, "-m", "runwatch", "watch", str(log), "--json", "--no-fix", "--db",
         str(history), "--interval", "1", "--no-backoff", "--out-dir", str(log.parent)],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def soak(seconds: float, seed: int, folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """What was written and happened, and what is in the history."""
    chance = random.Random(seed)
    log, history = folder / "train.log", folder / "history.duckdb"
    writer = Writer(log, random.Random(seed + 1))
    log.touch()
    writer.start()
    kills, end = 0, time.monotonic() + seconds
    process = watcher(log, history)
    while time.monotonic() < end:
        time.sleep(chance.uniform(2, 6))
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        process = watcher(log, history)
    writer.stopped.set()
    writer.join()
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    process.wait()
    told = subprocess.run(
        [sys.executable, "-m", "runwatch", "sql", "--format", "json", "--db", str(history),
         "SELECT count(*) AS points, count(DISTINCT step) AS steps, max(step) AS last"
         " FROM points WHERE metric = 'loss'"],
        capture_output=True, check=True,
    )  # fmt: skip
    happened = {"lines": writer.count, "rotations": writer.rotations, "kills": kills}
    return happened, json.loads(told.stdout)[0]


def main() -> int:
    """1 where a line was lost or doubled."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as folder:
        happened, kept = soak(seconds, seed, Path(folder))
    print(f"{happened}, in the history: {kept}")
    return int(set(kept.values()) != {happened["lines"]})


if __name__ == "__main__":
    os.environ.setdefault("RUNWATCH_HOME", tempfile.gettempdir())
    sys.exit(main())
