"""GPUs as a stream of telemetry; where there is none, nothing."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runwatch.errors import UnreachableError
from runwatch.ingest.gpu import QUERY, Gpus, Local, Reading, readings_of, remote
from tests.ingest.following import Clock, Reader

SAID = b"0, 94, 18637, 24564\n1, [N/A], 0, 24564\n2, 3, [Not Supported], [N/A]\n"


def test_a_query_is_read_as_it_is_printed() -> None:
    """Mebibytes become GiB; what a GPU does not tell is left out of its line."""
    first, second, third = readings_of(SAID)
    assert Reading(0, 94.0, 18.2, 23.99) == first
    assert Reading(1, None, 0.0, 23.99) == second
    assert third.line(0) == b'{"time":"1970-01-01T00:00:00.000Z","gpu":2,"gpu_util":3.0}\n'
    assert {
        "time": "1970-01-12T13:46:40.250Z", "gpu": 0, "gpu_util": 94.0, "mem_used_gb": 18.2,
        "mem_total_gb": 23.99,
    } == json.loads(first.line(1_000_000.25))  # fmt: skip
    assert [] == readings_of(b"NVIDIA-SMI has failed because it couldn't communicate\n")


def test_each_look_is_a_line_for_each_gpu() -> None:
    """They come from one query; a look that fails later is told, and nothing ends."""
    asked: list[str] = []

    async def run(script: str) -> bytes:
        asked.append(script)
        if len(asked) == 2:
            raise UnreachableError("gone")
        return SAID

    async def follow() -> None:
        source = Gpus(remote(run), every=0.01, clock=Clock())
        async with Reader(source, quiet=0.005) as reader:
            await reader.until(lambda: len(asked) >= 3)
        lines = reader.whole("gpu").splitlines()
        assert [0, 1, 2] == [json.loads(line)["gpu"] for line in lines[:3]]
        assert len(lines) % 3 == 0
        assert {QUERY} == set(asked)
        assert len(source.last) == 3

    asyncio.run(follow())


def test_where_there_is_none_the_stream_ends_without_a_word() -> None:
    """No GPU, no library, no program: no stream, no event, no error."""

    async def nothing(script: str) -> bytes:
        return b""

    async def follow(source: Gpus) -> list[bytes]:
        return [chunk.data async for chunk in source.chunks({}, quiet=0.01)]

    source = Gpus(remote(nothing))
    assert [] == asyncio.run(follow(source))
    assert ([], [], True) == (source.streams(), source.events, source.reach.ok)


def test_what_is_here_is_looked_at() -> None:
    """Whatever this machine has, a look gives readings of it or none."""
    for reading in asyncio.run(Local()()):
        assert reading.total is None or reading.total > 0
        assert reading.util is None or 0 <= reading.util <= 100


def test_without_nvidias_library_its_program_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever `nvidia-smi` stands on the path; nothing is said where it fails."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has GPUs, which the library tells")
    program = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for script, found in ((f"printf '{SAID.decode()}'", 3), ("echo no devices; exit 9", 0)):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        assert found == len(asyncio.run(Local()()))


def test_a_machine_without_gpus_is_watched_without_a_word_of_them(tmp_path: Path) -> None:
    """The library is there, its driver is not."""
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has GPUs")
    pytest.importorskip("pynvml")
    log = tmp_path / "train.log"
    log.write_text("step 1 loss 2\n")
    words = ["watch", str(log), "--once", "--no-store", "--out-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "runwatch", *words], capture_output=True, text=True
    )
    assert ("", False) == (done.stderr, "GPU" in done.stdout)
