"""GPUs as a stream of telemetry; where there is none, nothing."""

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from runwatch.chunk import Cursor
from runwatch.errors import UnreachableError
from runwatch.ingest.gpu import STREAM, Gpus
from runwatch.ingest.gpu_nvml import Local
from runwatch.ingest.gpu_reading import Reading
from runwatch.ingest.gpu_smi import QUERIES, Asked, readings_of
from runwatch.ingest.process_shell import here
from tests.ingest.following import Clock, Reader
from tests.ingest.nvidia_smi import installed

OLD = b"0, 94, 18637, 24564\n1, [N/A], 0, 24564\n2, 3, [Not Supported], [N/A]\n"
NEW = (
    b"0, 94, 18637, 24564, 64, 287.41, 350.00, 1755, 1980, 0, 0x0000000000000004, None\n"
    b"1, [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A]\n"
    b"2, 0, 0, 24564, 30, 20.10, 350.00, 210, 1980, 3, 0x0000000000000001, Drain and Reset\n"
)


def test_a_query_is_read_as_it_is_printed() -> None:
    """Mebibytes become GiB; what a GPU does not tell is left out of its line."""
    first, second, third = readings_of(NEW)
    assert Reading(0, 94, 18.2, 23.99, 64, 287.41, 350, 1755, 1980, 0, 4, 0) == first
    assert Reading(1) == second
    assert (3, 1, 4) == (third.ecc, third.reasons, third.action)
    assert second.line(0) == b'{"time":"1970-01-01T00:00:00.000Z","gpu":1,"gpus":1}\n'
    assert {
        "time": "1970-01-12T13:46:40.250Z", "gpu": 0, "gpus": 8, "gpu_util": 94.0,
        "mem_used_gb": 18.2, "mem_total_gb": 23.99, "temperature_c": 64.0, "power_w": 287.41,
        "power_limit_w": 350.0, "sm_clock_mhz": 1755.0, "sm_clock_max_mhz": 1980.0,
        "ecc_uncorrected": 0.0, "clock_reasons": 4.0, "recovery_action": 0.0,
    } == json.loads(first.line(1_000_000.25, 8))  # fmt: skip
    older = [replace(reading, action=None) for reading in readings_of(NEW)]
    assert older == readings_of(b"\n".join(row.rpartition(b",")[0] for row in NEW.splitlines()))
    assert [Reading(0, 94, 18.2, 23.99), Reading(1, None, 0, 23.99), Reading(2, 3)] \
        == readings_of(OLD)  # fmt: skip


@pytest.mark.parametrize(
    "noise",
    [b"NVIDIA-SMI has failed because it couldn't communicate\n", b"No devices were found\n",
     b'Field "gpu_recovery_action" is not a valid field to query.\n', b"\xff, 1, 2, 3\n",
     b"9" * 5000 + b", 1, 2, 3\n", b""],
)  # fmt: skip
def test_what_is_no_reading_is_none(noise: bytes) -> None:
    """Errors of the program come on its standard output."""
    assert [] == readings_of(noise)
    assert readings_of(NEW) == readings_of(noise + NEW)


def test_a_number_that_is_none_is_not_told() -> None:
    """A program on another host prints what it likes: one that is too large, or infinite."""
    for odd in (b"0x" + b"f" * 400, b"inf", b"-inf", b"nan", b"1e999"):
        answer = NEW.replace(b"18637", odd).replace(b"0x0000000000000004", odd)
        first, *more = readings_of(answer)
        assert replace(readings_of(NEW)[0], used=None, reasons=None) == first
        assert readings_of(NEW)[1:] == more


@pytest.mark.parametrize("knows", range(3))
def test_an_older_driver_is_asked_for_what_it_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows: int
) -> None:
    """In one script, and after the first look for nothing else."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    installed(tmp_path, [{"index": 0, "memory.total": 1024}], knows=knows)
    asked: list[str] = []

    async def run(script: str) -> bytes:
        asked.append(script)
        return await here(script)

    async def twice() -> list[Reading]:
        ask = Asked(run)
        return [*await ask(), *await ask()]

    assert [Reading(0, total=1)] * 2 == asyncio.run(twice())
    assert [" || ".join(QUERIES), QUERIES[knows]] == asked


def test_each_look_is_a_line_for_each_gpu() -> None:
    """A look that fails later is told, and nothing ends; a watch goes on behind its cursor."""
    asked: list[str] = []

    async def run(script: str) -> bytes:
        asked.append(script)
        if len(asked) == 2:
            raise UnreachableError("gone")
        return NEW

    async def follow() -> None:
        source = Gpus(Asked(run), every=0.01, clock=Clock())
        async with Reader(source, {STREAM.name: Cursor("", 700, 9)}, quiet=0.005) as reader:
            await reader.until(lambda: len(asked) >= 3)
        lines = reader.whole(STREAM.name).splitlines()
        assert [0, 1, 2] == [json.loads(line)["gpu"] for line in lines[:3]]
        assert len(lines) % 3 == 0
        assert 700 == reader.chunks[0].offset
        assert {" || ".join(QUERIES), QUERIES[0]} == set(asked)
        assert len(source.last) == 3

    asyncio.run(follow())


def test_nothing_is_told_of_gpus_of_a_machine_without_the_run() -> None:
    """They are seen, for whoever shows them, but a log may be written from elsewhere."""
    looks: list[int] = []

    async def run(script: str) -> bytes:
        looks.append(1)
        return NEW

    async def follow() -> None:
        source = Gpus(Asked(run), every=0.01, concerned=lambda: len(looks) > 2)
        async with Reader(source, quiet=0.005) as reader:
            await reader.until(lambda: len(looks) >= 5)
        assert 3 * (len(looks) - 2) >= len(reader.whole(STREAM.name).splitlines()) > 0
        assert 0 == next(chunk.offset for chunk in reader.chunks if chunk.data)

    asyncio.run(follow())


def test_where_there_is_none_the_stream_ends_without_a_word() -> None:
    """No GPU, no library, no program: no stream, no event, no error."""

    async def nothing(script: str) -> bytes:
        return b""

    async def follow(source: Gpus) -> list[bytes]:
        return [chunk.data async for chunk in source.chunks({}, quiet=0.01)]

    source = Gpus(Asked(nothing))
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
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for knows in range(3):
        installed(tmp_path, [{"index": 0, "utilization.gpu": 94}, {"index": 1}], knows=knows)
        first, second = asyncio.run(Local()())
        assert (94, None) == (first.util, second.util)
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho no devices; exit 9\n")
    assert [] == asyncio.run(Local()())


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
