"""Watching on a fresh install, where nobody has compiled anything yet."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

LINES = [f"step={i} loss={2 + i % 7 / 100:.6f}\n" for i in range(60_100)]


def test_it_reports_while_the_fast_path_is_not_there_and_takes_it_once_it_is(
    tmp_path: Path,
) -> None:
    """A process of others holds the turn to compile: a log that is worth it is read and judged all
    the same, as it grows. When that one is gone, it is compiled beside the watching."""
    cache, log = tmp_path / "cache", tmp_path / "train.log"
    cache.mkdir()
    log.write_text("".join(LINES[:60_000]))
    with (cache / "parsing.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        watching = subprocess.Popen(
            [sys.executable, "-m", "runwatch", "watch", str(log), "--json", "--interval", "1",
             "--out-dir", str(tmp_path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "RUNWATCH_CACHE": str(cache)},
        )  # fmt: skip
        assert watching.stdout is not None
        told = [json.loads(watching.stdout.readline())]
        with log.open("a") as more:
            more.write("".join(LINES[60_000:]))
        while told[-1].get("step") != 60_099:
            told.append(json.loads(watching.stdout.readline()))
        assert [] == list(cache.glob("parsing-*"))
    end = time.monotonic() + 60
    while not list(cache.glob("parsing-*.o")) and time.monotonic() < end:
        time.sleep(0.05)
    assert 1 == len(list(cache.glob("parsing-*.o")))
    assert watching.poll() is None
    watching.send_signal(signal.SIGINT)
    rest, said = watching.communicate(timeout=60)
    assert "summary" == json.loads(rest.splitlines()[-1])["event"]
    assert ["compiling the fast path for large logs, for some seconds"] == said.splitlines()[:1]
