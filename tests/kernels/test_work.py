"""The process that compiles: one for all who wait, gone with who wanted it, and nobody's burden."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

WANTED = "from runwatch.kernels import native; print(native.parsing.works(), flush=True)"
ASIDE = """\
import asyncio
from runwatch.kernels import native

async def watch():
    turns = 0
    while not native.parsing.works():
        turns += 1
        await asyncio.sleep(0.01)
    return turns

print(asyncio.run(watch()) > 3, native.parsing.is_loaded)
"""


def started(code: str, cache: Path) -> subprocess.Popen[str]:
    """A process that runs this with compiled code kept in a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "RUNWATCH_CACHE": str(cache)},
    )  # fmt: skip


def said(process: subprocess.Popen[str]) -> str:
    """What a process printed, which must have ended well."""
    out, error = process.communicate(timeout=120)
    assert 0 == process.returncode, error
    return out


def compilers(parent: int) -> list[int]:
    """The processes that compile for another."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line, state = (path / "cmdline").read_bytes(), (path / "stat").read_text()
        except OSError:  # gone
            continue
        if int(state.rpartition(")")[2].split()[1]) == parent and b"building" in line:
            found.append(int(path.name))
    return found


def is_running(pid: int) -> bool:
    """Whether there is such a process that still does something."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(what: str, seconds: float = 60.0) -> Iterator[None]:
    """Look again and again for what must become true; fails where it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.01)
    raise AssertionError(f"{what} never came")


@pytest.fixture(name="building")
def _building(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that waits for another one to compile, and that one."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc here, which tells who started whom")
    process = started(WANTED, tmp_path / "cache")
    for _ in until("a process that compiles"):
        if found := compilers(process.pid):
            break
    yield process, found[0]
    process.kill()
    process.wait()
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()


def kept(cache: Path) -> list[str]:
    """What is kept of compiled code, and what is left of putting it there."""
    return sorted(path.name[:8] for path in cache.glob("parsing-*"))


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_who_wanted_it(
    how: signal.Signals, building: tuple[subprocess.Popen[str], int], tmp_path: Path
) -> None:
    """Whatever ended that one; nothing is kept by then, and the next process does it all."""
    process, compiler = building
    process.send_signal(how)
    process.wait(timeout=60)
    for _ in until("the end of the process that compiles"):
        if not is_running(compiler):
            break
    assert [] == kept(tmp_path / "cache")
    assert "True\n" == said(started(WANTED, tmp_path / "cache"))
    assert ["parsing-"] == kept(tmp_path / "cache")


def test_who_comes_meanwhile_waits_for_what_it_leaves(
    building: tuple[subprocess.Popen[str], int], tmp_path: Path
) -> None:
    """And compiles nothing: there is one process that does, though three want it."""
    process, _ = building
    others = [started(WANTED, tmp_path / "cache") for _ in range(2)]
    seen = set()
    while any(other.poll() is None for other in others):
        seen |= {compiler for other in others for compiler in compilers(other.pid)}
        time.sleep(0.01)
    assert ["True\n"] * 2 == [said(other) for other in others]
    assert "True\n" == process.communicate(timeout=60)[0]
    assert set() == seen


def test_who_waits_for_one_that_was_killed_compiles_itself(
    building: tuple[subprocess.Popen[str], int], tmp_path: Path
) -> None:
    """The turn of a process ends with it."""
    process, _ = building
    other = started(WANTED, tmp_path / "cache")
    process.kill()
    assert "True\n" == said(other)


def test_an_event_loop_goes_on_meanwhile(tmp_path: Path) -> None:
    """It is told at once that nothing can be called yet, and later that it can; the process that
    compiles is less urgent than it."""
    process = started(ASIDE, tmp_path / "cache")
    urgencies = set()
    while process.poll() is None:
        for compiler in compilers(process.pid):
            try:
                urgencies.add(os.getpriority(os.PRIO_PROCESS, compiler))
            except ProcessLookupError:
                continue
        time.sleep(0.01)
    assert "True True\n" == said(process)
    assert os.getpriority(os.PRIO_PROCESS, 0) + 10 in urgencies


def test_what_it_says_of_its_failure_is_told(tmp_path: Path) -> None:
    """In one line, with the reason; the plain way goes on."""
    process = started(f"import sys; sys.executable = '/bin/false'; {WANTED}", tmp_path / "cache")
    out, error = process.communicate(timeout=60)
    assert "False\n" == out
    reason = "RuntimeError: the compiler ended with 1"
    assert f"large logs are read without compiled code, slowly: {reason}" in error.splitlines()
