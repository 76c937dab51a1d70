"""What the first processes on a fresh install meet: kernels that nobody has compiled yet."""

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm

from runwatch.kernels import building

ONCE = "compiling the fast path for large logs, for some seconds\n"


def parse(log: Path, cache: Path) -> subprocess.Popen[str]:
    """A process that reads a log with the kernels' cache in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "runwatch", "parse", "--summary", "--json", str(log)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "RUNWATCH_CACHE": str(cache)},
    )  # fmt: skip


def test_processes_that_start_at_once_on_a_cold_cache_all_work(tmp_path: Path) -> None:
    """They say on standard error that they compile, and give the same; the next one loads what
    they left, which takes no compiler, and says nothing."""
    log = tmp_path / "train.log"
    log.write_text("".join(f"step={i} loss={9 / (i + 1):.6f}\n" for i in range(60_000)))
    processes = [parse(log, tmp_path / "cache") for _ in range(3)]
    said = [process.communicate() for process in processes]
    assert [0, 0, 0] == [process.returncode for process in processes]
    assert {(said[0][0], ONCE)} <= {*said}
    assert {out for out, _ in said} == {said[0][0]}
    assert '"count": 60000' in said[0][0].replace('":6', '": 6')
    later = parse(log, tmp_path / "cache")
    assert (said[0][0], "") == later.communicate()
    assert "llvmlite\n" == loaded(log, tmp_path / "cache")
    log.write_text(log.read_text()[:300_000])
    assert "llvmlite\n" == loaded(log, tmp_path / "cache")


def test_no_log_of_middling_size_waits_for_a_compiler(tmp_path: Path) -> None:
    """It is read before that would be done."""
    log = tmp_path / "train.log"
    log.write_text("".join(f"step={i} loss={9 / (i + 1):.6f}\n" for i in range(12_000)))
    told, said = (process := parse(log, tmp_path / "cache")).communicate()
    assert (0, "") == (process.returncode, said)
    assert '"lines":12000' in told.replace(" ", "")
    assert [] == list((tmp_path / "cache").glob("parsing*"))


def loaded(log: Path, cache: Path) -> str:
    """What of the compiler a process loads that reads a log."""
    code = (
        "import sys; from runwatch.cli import main; "
        f"main(['parse', '--summary', {str(log)!r}]); "
        "parts = {'llvmlite', 'runwatch.kernels.building'} & set(sys.modules); "
        "print(*sorted(parts), file=sys.stderr)"
    )
    env = {**os.environ, "RUNWATCH_CACHE": str(cache)}
    words = [sys.executable, "-c", code]
    return subprocess.run(words, env=env, check=True, capture_output=True, text=True).stderr


def test_what_cannot_be_compiled_is_read_without(tmp_path: Path) -> None:
    """And judged without, to the same end, with one warning for all that a process reads."""
    log = tmp_path / "train.log"
    log.write_text("".join(f"step={i} loss={9 / (i + 1):.6f}\n" for i in range(50_000)))
    code = (
        "import sys; sys.executable = '/bin/false'; from runwatch.cli import main; "
        f"words = ['parse', '--summary', '--json', {str(log)!r}]; "
        f"sys.exit(main(words) or main(['scan', {str(log)!r}]) or main(words))"
    )
    env = {**os.environ, "RUNWATCH_CACHE": str(tmp_path / "cache")}
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    assert 2 == done.stdout.replace(" ", "").count('"lines":50000,')
    assert ONCE == done.stderr.splitlines(keepends=True)[0]
    assert ["large logs are read without compiled code, slowly"] == [
        line.partition(":")[0] for line in done.stderr.splitlines()[1:]
    ]


def test_code_that_cannot_be_kept_is_said_to_be_compiled_again(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step={i} loss={9 / (i + 1):.6f}\n" for i in range(60_000)))
    (tmp_path / "file").touch()
    _, said = (process := parse(log, tmp_path / "file" / "cache")).communicate()
    again = f"the next process compiles it again: nothing can be kept in {tmp_path}/file/cache\n"
    assert (0, ONCE + again) == (process.returncode, said)


def test_the_kernels_need_nothing_from_elsewhere() -> None:
    """A function or a variable that nobody defines would end the process."""
    module = llvm.parse_assembly("""
        @mine = global i64 0
        @theirs = external global i64
        declare i64 @llvm.ctpop.i64(i64)
        declare i64 @call(i64)
    """)
    assert ["call", "theirs"] == building.foreign(module)


def test_a_small_log_loads_no_compiler(tmp_path: Path) -> None:
    """It would take longer than to read the log."""
    log = tmp_path / "train.log"
    log.write_text("".join(f"step={i} loss={9 / (i + 1):.6f}\n" for i in range(100)))
    assert "\n" == loaded(log, tmp_path / "cache")
