"""Real GPUs: what the library tells is what nvidia-smi tells. Skips where there is none."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from runwatch.home import default_path
from runwatch.ingest.gpu_nvml import Local
from runwatch.ingest.gpu_reading import Reading
from runwatch.ingest.gpu_smi import QUERIES, Asked, readings_of
from runwatch.ingest.process_shell import here
from runwatch.store import Store
from tests.monitor.live import Watcher, finding, progress

if not Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi") is None:
    pytest.skip(
        "no GPU of NVIDIA here (no /dev/nvidiactl or no nvidia-smi)", allow_module_level=True
    )

SAME = ("gpu", "total", "limit", "fastest", "ecc", "action")  # what does not change by the second
NEAR = {"used": 1.0, "temperature": 5, "power": 60, "clock": 400, "util": 100}
WORK = Path(__file__).with_name("cuda_work.py")


def both() -> tuple[list[Reading], list[Reading]]:
    """What the library tells, and the program, one after the other."""

    async def look() -> tuple[list[Reading], list[Reading]]:
        return await Local()(), await Asked(here)()

    return asyncio.run(look())


def test_the_library_and_the_program_tell_the_same() -> None:
    """Value by value; what the one does not tell the other does not either."""
    pytest.importorskip("pynvml")
    library, program = both()
    assert len(library) == len(program) > 0
    for mine, theirs in zip(library, program, strict=True):
        assert {name: getattr(mine, name) for name in SAME} == pytest.approx(
            {name: getattr(theirs, name) for name in SAME}, abs=0.51
        )
        for name, far in NEAR.items():
            one, other = getattr(mine, name), getattr(theirs, name)
            assert (one is None) == (other is None), name
            assert one is None or abs(one - other) <= far, name
        assert {name for name, value in asdict(mine).items() if value is None} == {
            name for name, value in asdict(theirs).items() if value is None
        }


@pytest.mark.parametrize("query", QUERIES)
def test_what_a_driver_does_not_know_is_no_reading(query: str) -> None:
    """Each query is answered whole or not at all, and the last by any driver."""
    found = readings_of(asyncio.run(here(query)))
    told = subprocess.run(query.split(), capture_output=True, text=True)
    assert bool(found) == (told.returncode == 0)
    assert found or query != QUERIES[-1]


def test_a_look_holds_up_nobody() -> None:
    """Whoever reads a log meanwhile goes on."""
    pytest.importorskip("pynvml")

    async def turns() -> int:
        looking, count = asyncio.ensure_future(Local()()), 0
        while not looking.done():
            await asyncio.sleep(0)
            count += 1
        assert looking.result()
        return count

    assert asyncio.run(turns()) > 1


def test_a_training_that_hangs_is_told_by_its_idle_gpu(tmp_path: Path) -> None:
    """It holds memory and draws power while it works; when it falls silent, its GPU says why."""
    before, _ = both()
    log = tmp_path / "train.log"
    with log.open("wb") as out:
        training = subprocess.Popen([sys.executable, str(WORK), "60"], stdout=out, stderr=out)
    watcher = Watcher(str(log), "--interval", "2", "--max-interval", "2", folder=tmp_path / "out")
    try:
        watcher.until(progress(55))
        (work,) = (one for one in both()[0] if one.gpu == 0)
        assert work.util is not None
        assert work.util > 50
        assert (work.used or 0) - (before[0].used or 0) > 5
        watcher.until(finding("stalled"))
        end = time.monotonic() + 60
        while time.monotonic() < end:
            watcher.until(progress(60))
        watcher.interrupt()
        watcher.end()
    finally:
        watcher.close()
        training.kill()
        training.wait()
    (stall,) = (one for one in watcher.events[-1]["findings"] if one["kind"] == "stalled")
    assert "its GPUs idle meanwhile" in stall["message"]
    assert stall["confidence"] == "high"
    rows = Store(default_path(os.environ)).query(
        "SELECT count(*) AS n FROM points WHERE metric = 'gpu_util' AND value > 50"
    )
    assert rows.to_pylist()[0]["n"] >= 3
