"""An hour of a log in little time, while every line is counted.

    python -m bench.soak [--minutes M] [--seconds S] [--way file|ssh] [--seed N ...]

A writer appends numbered lines at high speed, with the times of a training that takes an hour. Now
and then its log is moved away and begun anew, or copied and truncated. The watcher is killed
without warning at random times and started again; over SSH, the server is, too, with all its
connections. At the end every number must be in the history exactly once. Lines written between a
copy and its truncation are in no file afterwards: nobody can be sure to read them, so they are
counted apart.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from tests.ingest.server import Server
from tests.monitor.live import Watcher, progress, state

KEPT = 90  # rotated logs that are kept; what is deleted before it was read is lost to anyone
_BEGIN = datetime(2026, 3, 1, 10)
PATIENCE = 180.0  # seconds that the watcher has at the end to read what is left


@dataclass(eq=False)
class Writer(threading.Thread):
    """Writes until told to stop; `count` is the last number, `raced` those that were truncated
    away after the copy was made."""

    log: Path
    chance: random.Random
    pace: float = 1.0  # seconds of the log's clock in one of ours
    count: int = 0
    happened: Counter[str] = field(default_factory=Counter)
    raced: set[int] = field(default_factory=set)
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__init__()
        self.began = time.monotonic()
        self.log.write_bytes(self._lines(1))

    @property
    def minutes(self) -> float:
        """How long it has trained by the log's clock."""
        return (time.monotonic() - self.began) * self.pace / 60

    def start(self) -> None:
        """Begin to write, and the log's clock."""
        self.began = time.monotonic()
        super().start()

    def run(self) -> None:
        """Write lines, pause, now and then rotate."""
        out = self.log.open("ab", 0)
        while not self.stopped.is_set():
            out.write(self._lines(self.chance.randrange(1, 200)))
            time.sleep(self.chance.uniform(0, 0.1))
            draw = self.chance.random()
            if draw < 0.01:
                self._shift()
                self.log.rename(self._copy(1))
                out.write(self._lines(self.chance.randrange(3)))  # by who has it open still
                out.close()
                out = self.log.open("ab", 0)
                self.happened["rotations"] += 1
            elif draw < 0.02:
                self._shift()
                shutil.copyfile(self.log, self._copy(1))
                before = self.count
                out.write(self._lines(self.chance.randrange(3)))
                os.truncate(self.log, 0)
                self.raced |= set(range(before + 1, self.count + 1))
                self.happened["truncations"] += 1
        out.write(self._lines(1))
        out.close()

    def _lines(self, count: int) -> bytes:
        first, self.count = self.count + 1, self.count + count
        numbers = range(first, self.count + 1)
        now = _BEGIN + timedelta(minutes=self.minutes)
        stamp = now.isoformat(" ", "milliseconds").encode()
        form = stamp + b" INFO step %d | loss %d | lr 1e-4\n"
        return b"".join(form % (n, 2 + n % 7) for n in numbers)

    def _copy(self, number: int) -> Path:
        return self.log.with_name(f"{self.log.name}.{number}")

    def _shift(self) -> None:
        self._copy(KEPT).unlink(missing_ok=True)
        for number in range(KEPT - 1, 0, -1):
            if self._copy(number).exists():
                self._copy(number).rename(self._copy(number + 1))


def watcher(target: str, folder: Path) -> Watcher:
    """`runwatch watch`, storing often."""
    words = (target, "--no-fix", "--interval", "1", "--no-backoff")
    return Watcher(*words, "--db", str(folder / "history.duckdb"), folder=folder / "out")


def breaks(server: Server, chance: random.Random, writer: Writer) -> None:
    """Kill the server at random times, until nothing is written any more."""
    while not writer.stopped.wait(chance.uniform(3, 10)):
        server.kill()
        writer.happened["breaks"] += 1
        time.sleep(chance.uniform(0.1, 2))
        server.start()


def soak(
    way: str, minutes: float, seconds: float, seed: int, folder: Path
) -> tuple[Writer, Counter[int]]:
    """What was written and happened, and how often each number is in the history."""
    chance = random.Random(seed)
    (folder / "logs").mkdir()
    pace = 60 * minutes / seconds
    writer = Writer(folder / "logs/train.log", random.Random(seed + 1), pace)
    target, broken = str(writer.log), None
    server = Server(folder) if way == "ssh" else None
    if server is not None:
        server.start()
        (folder / ".ssh").mkdir(mode=0o700)
        (folder / ".ssh/config").write_text(server.config.read_text())
        os.environ["HOME"] = str(folder)
        target = f"gpu-box:{target}"
    process = watcher(target, folder)
    process.until(progress(1))  # what was copied before the first look belongs to no watch
    if server is not None:
        broken = threading.Thread(target=breaks, args=(server, random.Random(seed + 2), writer))
        broken.start()
    writer.start()
    while writer.minutes < minutes:
        time.sleep(chance.uniform(0.2, 5))
        process.close()  # kill -9
        writer.happened["kills"] += 1
        process = watcher(target, folder)
        if chance.random() < 0.8:  # else it may be killed as it starts
            process.until(state("watching"))
    writer.stopped.set()
    writer.join()
    if broken is not None:
        broken.join()
    impatient = threading.Timer(PATIENCE, process.process.kill)
    impatient.start()
    process.until(progress(writer.count))
    impatient.cancel()
    process.interrupt()
    process.end()
    process.close()
    for event in process.events:
        if event["event"] == "state" and "no history" in (event.get("why") or ""):
            print(f"  {event['at']}: {event['why']}", flush=True)
    if server is not None:
        server.kill()
    return writer, kept(folder)


def kept(folder: Path) -> Counter[int]:
    """How often each number is in the history."""
    told = subprocess.run(
        [sys.executable, "-m", "runwatch", "sql", "--format", "json", "--db",
         str(folder / "history.duckdb"),
         "SELECT step, count(*) AS n FROM points WHERE metric = 'loss' GROUP BY step"],
        capture_output=True, check=True,
    )  # fmt: skip
    return Counter({row["step"]: row["n"] for row in json.loads(told.stdout)})


def _stretches(numbers: set[int]) -> list[str]:
    """Numbers that follow each other as first-last."""
    ends = sorted(n for n in numbers if n + 1 not in numbers)
    firsts = sorted(n for n in numbers if n - 1 not in numbers)
    return [f"{first}-{last}" for first, last in zip(firsts, ends, strict=True)]


def main() -> int:
    """1 where a line was lost or doubled that anyone could have read."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="of the log's clock (60)")
    parser.add_argument("--seconds", type=float, default=120.0, help="that they take (120)")
    parser.add_argument("--way", action="append", choices=["file", "ssh"], help="both")
    parser.add_argument("--seed", type=int, action="append", help="one watch for each (7, 8)")
    options = parser.parse_args()
    bad = 0
    for seed in options.seed or [7, 8]:
        for way in options.way or ["file", "ssh"]:
            with tempfile.TemporaryDirectory() as folder:
                writer, found = soak(way, options.minutes, options.seconds, seed, Path(folder))
            lost = set(range(1, writer.count + 1)) - writer.raced - set(found)
            doubled = sum(count - 1 for count in found.values())
            happened = ", ".join(f"{n} {what}" for what, n in sorted(writer.happened.items()))
            print(
                f"{way}, seed {seed}: {options.minutes:.0f} minutes of log time, {writer.count:,} "
                f"lines, {happened}: {len(lost)} lost, "
                f"{doubled} doubled; {len(writer.raced)} truncated away uncopied, of which "
                f"{len(writer.raced & set(found))} were read in time", flush=True,
            )  # fmt: skip
            if lost:
                print(f"  lost: {', '.join(_stretches(lost)[:20])}", flush=True)
            bad += len(lost) + doubled
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
