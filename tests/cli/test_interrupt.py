"""Ctrl-C while the history is asked, written or waited for, with real processes and signals."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runwatch.cli import INTERRUPTED
from runwatch.store import Store
from tests.conftest import ROOT

HOLDER = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"
ENDLESS = "SELECT count(*) FROM points a, range(1000000) b(i), range(1000000) c(i) WHERE b.i > c.i"


@contextmanager
def python(*words: str | Path) -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen(
        [sys.executable, *map(str, words)],
        cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def until(ready: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    while not ready():
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)


def has_open(process: "subprocess.Popen[str]", path: Path) -> bool:
    folder = Path(f"/proc/{process.pid}/fd")
    if not folder.exists():
        pytest.skip("needs /proc, to see what a process has open")
    try:
        return any(file.readlink() == path for file in folder.iterdir())
    except FileNotFoundError:
        return False  # closed as we looked


@contextmanager
def held(path: Path) -> "Iterator[None]":
    """A stranger has the history open for writing."""
    with python("-c", HOLDER, path) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "\n"
        yield


def interrupted(process: "subprocess.Popen[str]") -> None:
    """It ends with the code of an interruption, and says so in one word."""
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert err.splitlines()[-1:] == ["interrupted"]
    assert process.returncode == INTERRUPTED


@pytest.fixture
def log(tmp_path: Path) -> Path:
    place = tmp_path / "train.log"
    place.write_text("".join(f"step={i} loss={3 - i / 1e4}\n" for i in range(2_000)))
    return place


@pytest.fixture
def db(tmp_path: Path, log: Path) -> Path:
    """A history with a short run."""
    place, short = tmp_path / "h.duckdb", tmp_path / "short.log"
    short.write_text("step=1 loss=2\n")
    with python("-m", "runwatch", "scan", short, "--db", place) as scan:
        scan.communicate()
    return place


def test_a_query_ends(db: Path) -> None:
    """In the middle of the work: 130, not the code of a wrong query."""
    with python("-m", "runwatch", "sql", ENDLESS, "--db", db) as query:
        until(lambda: has_open(query, db), query)
        query.send_signal(signal.SIGINT)
        interrupted(query)


def test_waiting_for_the_history_ends(db: Path, log: Path) -> None:
    """Whoever has it may have it for long."""
    with held(db), python("-m", "runwatch", "scan", log, "--db", db) as scan:
        until(lambda: has_open(scan, db), scan)
        scan.send_signal(signal.SIGINT)
        interrupted(scan)


@pytest.mark.parametrize("times", [1, 3])
def test_what_was_committed_stays(db: Path, log: Path, times: int) -> None:
    """Interrupted as it writes, also more than once, a scan leaves what there was; the next one
    makes it whole."""
    wal = db.with_name(f"{db.name}.wal")
    with python("-m", "runwatch", "scan", log, "--db", db) as scan:
        until(wal.exists, scan)
        for _ in range(times):
            scan.send_signal(signal.SIGINT)
        interrupted(scan)
    points = "SELECT count(*) AS n FROM points"
    assert Store(db).query(points).to_pylist()[0]["n"] in (1, 2_001)
    with python("-m", "runwatch", "scan", log, "--db", db) as scan:
        scan.communicate()
    assert Store(db).query(points).to_pylist()[0]["n"] == 2_001


def test_a_second_one_ends_a_watch_that_waits_for_the_history(
    db: Path, log: Path, tmp_path: Path
) -> None:
    """The first asks for the last word; the second does without."""
    words = ("watch", log, "--db", db, "--interval", "60", "--json", "--out-dir", tmp_path)
    with python("-m", "runwatch", *words) as watch:
        assert watch.stdout is not None
        while '"progress"' not in watch.stdout.readline():
            assert watch.poll() is None, watch.communicate()
        with held(db):
            watch.send_signal(signal.SIGINT)
            until(lambda: has_open(watch, db), watch)
            watch.send_signal(signal.SIGINT)
            interrupted(watch)
    assert Store(db).query("SELECT count(*) AS n FROM points").to_pylist()[0]["n"] == 2_001
