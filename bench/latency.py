"""How long after a line was written its finding is on standard output: here, and over SSH.

    python -m bench.latency [--rounds 300] [--way file|ssh]

Each round writes ten healthy steps, and then, after a pause of random length, a line that says
that memory ran out; the time is taken from that write to the finding with that line's number. Over
SSH the log is reached through a real server of our own on this machine.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from tests.ingest.server import Server

LIMITS = {"file": 0.100, "ssh": 0.250}  # seconds that the 99th percentile may take
ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0\n"


def latencies(rounds: int, folder: Path, host: str = "") -> list[float]:
    """Seconds, one for each round; `host:` is where the log is."""
    log = folder / "train.log"
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    chance, step, line, found = random.Random(7), 0, 0, []
    os.write(out, _steps(step, 50))
    step, line = 50, 50
    watcher = subprocess.Popen(
        [sys.executable, "-m", "runwatch", "watch", f"{host}{log}", "--json", "--no-store",
         "--no-fix", "--interval", "600", "--max-interval", "600", "--out-dir", str(folder)],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert watcher.stdout is not None
    try:
        _wait(watcher.stdout, lambda event: event["event"] == "progress")
        for _ in range(rounds):
            os.write(out, _steps(step, 10))
            step, line = step + 10, line + 11
            time.sleep(chance.uniform(0.05, 0.25))
            written = time.perf_counter()
            os.write(out, ERROR.encode())
            _wait(watcher.stdout, lambda event, line=line: event.get("line") == line)
            found.append(time.perf_counter() - written)
    finally:
        watcher.kill()
        watcher.wait()
        watcher.stdout.close()
        os.close(out)
    return found


def _steps(after: int, count: int) -> bytes:
    numbers = range(after + 1, after + count + 1)
    return "".join(f"step {i} | loss 2.0 | lr 1e-4\n" for i in numbers).encode()


def _wait(lines: IO[bytes], wanted: object) -> None:
    for line in lines:
        if wanted(json.loads(line)):  # type: ignore[operator]
            return
    raise RuntimeError("the watcher has ended")


def main() -> int:
    """1 where a limit is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=300, help="findings of each way (300)")
    parser.add_argument("--way", action="append", choices=[*LIMITS], help="both")
    options = parser.parse_args()
    return max([_measured(way, options.rounds) for way in options.way or LIMITS])


def _measured(way: str, rounds: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder, host = Path(name), ""
        server = Server(folder) if way == "ssh" else None
        if server is not None:
            server.start()
            (folder / ".ssh").mkdir(mode=0o700)
            (folder / ".ssh/config").write_text(server.config.read_text())
            os.environ["HOME"], host = name, "gpu-box:"
        try:
            found = sorted(latencies(rounds, folder, host))
        finally:
            if server is not None:
                server.kill()
    last = found[min(len(found) - 1, int(0.99 * len(found)))]
    times = {"median": statistics.median(found), "p99": last, "worst": found[-1]}
    told = ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in times.items())
    print(f"{way}, {rounds} findings: {told} (limit {1000 * LIMITS[way]:.0f} ms)", flush=True)
    return int(last > LIMITS[way])


if __name__ == "__main__":
    sys.exit(main())
