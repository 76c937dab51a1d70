"""Small logs with bytes changed at random: nothing raises, hangs or reads outside its memory.

A run that fails is made again from its number: `fuzz.log(number, fuzz.seeds())`. `make fuzz` runs
as many more as one likes.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runwatch.kernels import native
from tests.conftest import ROOT
from tests.parse import fuzz

RUNS = 100_000
PARTS = 20
SHARE = RUNS // PARTS
BOTH = 5  # of so many parts of a share one goes through both paths


@pytest.fixture(scope="module")
def pool() -> list[bytes]:
    return fuzz.seeds()


@pytest.mark.parametrize("part", range(PARTS))
def test_any_bytes_are_read(part: int, pool: list[bytes]) -> None:
    """Line by line, whatever stands there; and the compiled path says the same of a part of them,
    wherever the bytes were cut."""
    first = part * SHARE
    both = range(first, first + SHARE // BOTH)
    assert [] == list(fuzz.differences(both, pool))
    fuzz.read(range(first + SHARE // BOTH, first + SHARE), pool)


def test_real_logs_with_changed_bytes_are_read(shared: Path) -> None:
    """The same from lines of real logs."""
    pool = fuzz.seeds(shared)
    assert [] == list(fuzz.differences(range(1 << 32, (1 << 32) + 1000), pool))


def test_the_compiled_path_stays_inside_its_memory() -> None:
    """At both edges of memory that is fenced in, a read outside would end the process."""
    assert native.parsing.works()
    code = "from tests.parse import fuzz; fuzz.inside_fences(range(3000), fuzz.seeds())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (0, "") == (done.returncode, done.stderr)


@pytest.mark.parametrize("beyond", [4096, -1])
def test_the_fence_holds(beyond: int) -> None:
    """Reading one byte beyond it does end the process, so that the test above can fail."""
    code = (
        "import ctypes; from tests.parse.fuzz import Fenced; m = Fenced(4096)\n"
        "edge = m.at_the_end(b'7' * 4096)\n"
        f"ctypes.string_at(int(edge.ctypes.data) + ({beyond}), 1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode < 0
