"""How long people wait before anything is read: start-up and short logs, as processes.

Limits that are promised: 0.15 s for --help, 0.3 s for a scan of 100 lines, 0.4 s with the history.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMANDS = {
    "help": (["--help"], 0.15),
    "scan": (["scan", "short.log", "--no-store"], 0.3),
    "scan_and_store": (["scan", "short.log"], 0.4),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_startup(name: str, benchmark: Callable[..., None], tmp_path: Path) -> None:
    """One process from start to end, in the median."""
    words, limit = COMMANDS[name]
    lines = (f"step {i}/1000 | loss {3 - i / 100:.3f} | lr 1.0e-4\n" for i in range(100))
    (tmp_path / "short.log").write_text("".join(lines))

    def start() -> None:
        done = subprocess.run(
            [sys.executable, "-m", "runwatch", *words],
            cwd=tmp_path,
            env={**os.environ, "RUNWATCH_HOME": str(tmp_path)},
            capture_output=True,
        )
        # A traceback ends with 1 as well, and quickly: what failed must not pass as fast.
        assert (done.returncode in (0, 4), done.stderr) == (True, b"")

    benchmark.pedantic(start, rounds=9, warmup_rounds=1)
    assert benchmark.stats.stats.median <= limit
