"""Files that are held, broken, foreign, newer, full or not to be written."""

import errno
import fcntl
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import duckdb
import pytest

from runwatch.errors import StoreError
from runwatch.store import Store
from runwatch.store.trouble import translated
from runwatch.store.turn import GATE
from tests.conftest import ROOT
from tests.store.stored_batches import batch, cursor

NAME = "train.log"
WRITER = "tests.store.history_writer"

HOLDER = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"

# A flush that may not make any file larger than so many bytes, as if the disk ended there.
ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from runwatch.errors import StoreError
from runwatch.store import Store
from tests.store.stored_batches import batch, cursor
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    pieces = [batch(1, 20_000, noted=[(n, "x" * 5000 + str(n)) for n in range(1, 200)])]
    Store(Path(sys.argv[1])).flush("r", "a", pieces, {"train.log": cursor(20_000)}, {}, fresh=True)
except StoreError as error:
    sys.exit(f"{error}\\n{error.hint}")
"""

# Root may write everywhere, so it becomes nobody first.
AS_NOBODY = """
import os, sys
from pathlib import Path
import concurrent.futures.thread, duckdb, numpy, pyarrow.compute, zoneinfo
from runwatch.errors import StoreError
from runwatch.redact import redact
from runwatch.store import Store
from tests.store.stored_batches import batch, cursor
redact("password=hunter2")
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.mkdir("shut", 0o700)
    os.setuid(65534)
else:
    os.chmod(".", 0o700)
    os.mkdir("shut", 0)
    os.chmod(".", 0o555)
for name in ("old.duckdb", "new.duckdb", "shut/h.duckdb"):
    store = Store(Path(name))
    try:
        print(name, "has", store.query("SELECT count(*) AS n FROM points").to_pylist()[0]["n"])
        store.flush("r", "a", [batch(1, 2)], {"train.log": cursor(2)}, {}, fresh=True)
    except StoreError as error:
        print(error)
        assert "--db" in error.hint
"""


def fill(store: Store, last: int = 4) -> None:
    store.flush("r", NAME, [batch(1, last)], {NAME: cursor(last)}, {"lines": last}, fresh=True)


def count(store: Store, what: str = "points") -> int:
    number: int = store.query(f"SELECT count(*) AS n FROM {what}").to_pylist()[0]["n"]
    return number


def lock(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def python(*words: str | Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@contextmanager
def held(path: Path) -> "Iterator[subprocess.Popen[str]]":
    """Another process has the file open for writing."""
    with python("-c", HOLDER, path) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "\n"
        try:
            yield holder
        finally:
            holder.kill()


class Clock:
    """Time that passes by sleeping only."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        """The time now."""
        return self.now

    def pause(self, seconds: float) -> None:
        """The time some seconds later."""
        self.pauses.append(seconds)
        self.now += seconds


def impatient(path: Path, clock: Clock) -> Store:
    """Waits for two seconds of the clock; the date stands still meanwhile."""
    return Store(
        path, lambda: 0.0, lambda: 0.5, patience=2.0, steady=clock, sleep=clock.pause
    )  # fmt: skip


def test_patience_ends_with_an_error_that_names_the_holder(tmp_path: Path) -> None:
    """A held file is tried again with growing, jittered pauses, for so long and no longer."""
    clock = Clock()
    store = impatient(tmp_path / "h.duckdb", clock)
    fill(store)
    with held(store.path) as holder:
        for attempt in (lambda: fill(store, 9), lambda: store.runs(), lambda: store.past("r")):
            began, clock.pauses = clock.now, []
            with pytest.raises(StoreError, match=rf"in use .*PID {holder.pid}.* 2 s") as caught:
                attempt()
            assert caught.value.exit_code == 3
            assert clock.now - began == pytest.approx(2.0)
            assert clock.pauses[:-1] == sorted(clock.pauses[:-1])
            assert max(clock.pauses) == pytest.approx(0.05)
    assert count(store) == 8


def test_a_flush_waits_for_the_holder_to_end(tmp_path: Path) -> None:
    """What was held a moment ago is written when it is free."""
    fill(Store(tmp_path / "h.duckdb"))
    with held(tmp_path / "h.duckdb") as holder:

        def end(_: float) -> None:
            holder.kill()
            holder.wait()

        fill(Store(tmp_path / "h.duckdb", sleep=end), 6)
    assert count(Store(tmp_path / "h.duckdb")) == 12


def test_readers_do_not_shut_each_other_out(tmp_path: Path) -> None:
    """A query works while another process reads."""
    store = Store(tmp_path / "h.duckdb", patience=0)
    fill(store)
    reader = HOLDER.replace("sys.argv[1])", "sys.argv[1], read_only=True)")
    with python("-c", reader, store.path) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert count(store) == 8
        other.kill()


# One flush or query, and what it saw.
ONE_FLUSH = """
import sys
from pathlib import Path
from runwatch.store import Store
from tests.store.stored_batches import batch, cursor
Store(Path(sys.argv[1])).flush("s", "a", [batch(1, 2)], {"train.log": cursor(2)}, {}, fresh=True)
"""
ONE_QUERY = """
import sys
from pathlib import Path
from runwatch.store import Store
print(Store(Path(sys.argv[1])).query("SELECT count(*) AS n FROM checks").to_pylist()[0]["n"])
"""


@contextmanager
def stopped_before_its_lock(path: Path, code: str) -> "Iterator[subprocess.Popen[str]]":
    """A process that was told the headers of the file, but has no lock on it yet: it is stopped
    then, and goes on afterwards. A flush has looked at them itself, as its first read; for a query
    DuckDB has closed the file for the second time."""
    trace = path.with_name("trace")
    call, when = ("pread64", 1) if code is ONE_FLUSH else ("close", 2)
    watching = [
        "strace", "-f", "-o", trace, "-P", path, "-e", f"trace={call}",
        "-e", f"inject={call}:signal=SIGSTOP:when={when}", sys.executable, "-c", code, path,
    ]  # fmt: skip
    with subprocess.Popen(
        watching, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as one:
        found = None
        while found is None:
            assert one.poll() is None, one.communicate()
            time.sleep(0.01)
            told = trace.read_text() if trace.exists() else ""
            found = re.search(r"^(\d+) +--- stopped by SIGSTOP", told, re.MULTILINE)
        try:
            yield one
        finally:
            while one.poll() is None:  # each thread of its own is stopped so
                with suppress(ProcessLookupError):
                    os.kill(int(found[1]), signal.SIGCONT)
                time.sleep(0.01)
        out, err = one.communicate()
        assert (err, one.returncode) == ("", 0)
        one.told = out  # type: ignore[attr-defined]


@pytest.fixture
def traced() -> None:
    """Skips where processes cannot be traced."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("needs strace, to stop a process between two system calls")
    tried = subprocess.run([strace, "-f", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("may not trace processes here")


@pytest.mark.parametrize("code", [ONE_FLUSH, ONE_QUERY], ids=["flush", "query"])
def test_what_another_committed_just_before_the_lock_is_not_lost(
    traced: None, tmp_path: Path, code: str
) -> None:
    """What a stranger writes between our look at the headers, or DuckDB's, and its lock is seen,
    and stays."""
    path = tmp_path / "h.duckdb"
    fill(Store(path))
    with stopped_before_its_lock(path, code) as one, duckdb.connect(str(path)) as stranger:
        stranger.execute("INSERT INTO stored_rows.checks (run) SELECT 'x' FROM range(5000)")
    assert one.told == ("5000\n" if code is ONE_QUERY else "")  # type: ignore[attr-defined]
    assert count(Store(path), "checks") == 5000
    assert count(Store(path)) == (8 if code is ONE_QUERY else 12)


def test_nobody_comes_between_two_steps_of_a_flush(traced: None, tmp_path: Path) -> None:
    """Who writes has the history from before DuckDB looks at it; others wait for their turn."""
    path = tmp_path / "h.duckdb"
    fill(Store(path))
    clock = Clock()
    hasty = impatient(path, clock)
    with stopped_before_its_lock(path, ONE_FLUSH):
        before = path.read_bytes()
        assert hasty.past("r") is not None
        assert clock.pauses
        assert path.read_bytes() == before
    assert count(Store(path)) == 12


IN_THE_ROOM = """
import fcntl, sys
from runwatch.store.turn import ROOM
with open(sys.argv[1], "rb") as file:
    fcntl.lockf(file, fcntl.LOCK_SH, 1, ROOM)
    print(flush=True)
    sys.stdin.read()
"""


def test_readers_wait_behind_a_waiting_writer(tmp_path: Path) -> None:
    """However many ask all the time, a writer gets its turn: who comes after it lets it pass."""
    path = tmp_path / "h.duckdb"
    fill(Store(path))
    clock = Clock()
    hasty = impatient(path, clock)
    with python("-c", IN_THE_ROOM, lock(path)) as reader, lock(path).open("rb") as gate:
        assert reader.stdout is not None
        reader.stdout.readline()
        assert hasty.past("r") is not None
        assert clock.pauses == []
        with python("-c", ONE_FLUSH, path) as writer:
            while free(gate):
                assert writer.poll() is None, writer.communicate()
                time.sleep(0.01)
            assert hasty.past("r") is not None
            assert clock.pauses
            assert writer.poll() is None
            reader.communicate()
            assert writer.communicate() == ("", "")
    assert count(Store(path)) == 12


def free(gate: IO[bytes]) -> bool:
    """Whether a reader could pass the gate now."""
    try:
        fcntl.lockf(gate, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, GATE)
    except OSError:
        return False
    fcntl.lockf(gate, fcntl.LOCK_UN, 1, GATE)
    return True


def test_many_writers_and_readers_at_once_all_succeed(tmp_path: Path) -> None:
    """Eight processes that write and one that asks meet at a file that is not there yet."""
    path, writers, flushes = tmp_path / "new" / "h.duckdb", 8, 3
    running = [python("-m", WRITER, path, f"run{n}", str(flushes)) for n in range(writers)]
    store = Store(path, patience=600)
    while any(writer.poll() is None for writer in running):
        assert count(store) % 100 == 0
    for writer in running:
        out, err = writer.communicate()
        assert (err, writer.returncode) == ("", 0)
        assert out.split() == [str(50 * n) for n in range(flushes + 1)]
    rows = store.query("SELECT run, points, lines FROM runs").to_pylist()
    assert sorted(row["run"] for row in rows) == [f"run{n}" for n in range(writers)]
    assert {(row["points"], row["lines"]) for row in rows} == {(100 * flushes, 50 * flushes)}
    assert count(store, "lines") == writers * flushes
    assert sorted(path.parent.iterdir()) == [path, lock(path)]


def test_many_threads_at_once_all_succeed(tmp_path: Path) -> None:
    """Threads of one process, each with a Store of its own, write and ask in turns."""

    def write(run: str) -> int:
        store = Store(tmp_path / "h.duckdb")
        for n in range(4):
            piece = batch(10 * n + 1, 10 * n + 10)
            store.flush(run, NAME, [piece], {NAME: cursor(10 * n + 10)}, {}, fresh=n == 0)
            assert store.past(run) is not None
        return count(store, f"points WHERE run = '{run}'")

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(write, [f"run{n}" for n in range(6)])) == [80] * 6
    assert count(Store(tmp_path / "h.duckdb")) == 480


def test_a_killed_writer_leaves_a_prefix_that_is_gone_on_with(tmp_path: Path) -> None:
    """kill -9 at any moment loses no flushed row and doubles none."""
    path = tmp_path / "h.duckdb"
    store, done = Store(path), 0
    for flushes in (1, 3, 2, 4, 1, 2):
        with python("-m", WRITER, path, "r", "1000") as writer:
            assert writer.stdout is not None
            assert int(writer.stdout.readline()) >= done
            for _ in range(flushes):  # then it is somewhere in the next one
                done = int(writer.stdout.readline())
            writer.kill()
        past = store.past("r")
        assert past is not None
        stored = past.cursors[NAME].lines
        assert stored >= done
        assert past.state == {"lines": stored}
        (row,) = store.query(
            "SELECT count(*) AS n, count(DISTINCT line) AS lines, max(line) AS last FROM points"
        ).to_pylist()
        assert row == {"n": 2 * stored, "lines": stored, "last": stored}
        assert count(store, "lines") == stored // 50


def test_a_full_disk_keeps_what_was_there(tmp_path: Path) -> None:
    """Wherever the disk ends, the flush fails as a whole with a hint, and the old run stands."""
    pytest.importorskip("resource", reason="this system cannot limit the size of a file")
    store = Store(tmp_path / "h.duckdb")
    fill(store)
    size = store.path.stat().st_size
    for limit in (0, 512, size, size + 4096, size + 300_000, size + 600_000):
        done = subprocess.run(
            [sys.executable, "-c", ON_A_FULL_DISK, store.path, str(limit)],
            cwd=ROOT, text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1, (limit, done.stderr)
        assert "the disk is full" in done.stderr, (limit, done.stderr)
        assert "free some space" in done.stderr
        assert count(store) == 8
        past = store.past("r")
        assert past is not None
        assert past.state == {"lines": 4}
    fill(store, 5)
    assert count(store) == 10


def test_a_disk_that_is_full_from_the_start_leaves_no_file(tmp_path: Path) -> None:
    """Half a new history would be of no use to anybody."""
    pytest.importorskip("resource", reason="this system cannot limit the size of a file")
    for limit in (0, 5000, 50_000, 270_000):
        done = subprocess.run(
            [sys.executable, "-c", ON_A_FULL_DISK, tmp_path / "h.duckdb", str(limit)],
            cwd=ROOT, text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert "the disk is full" in done.stderr, (limit, done.stderr)
        assert list(tmp_path.iterdir()) == [lock(tmp_path / "h.duckdb")]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EFBIG, "the disk is full"),
        (errno.EACCES, "cannot be opened here"),
        (errno.EROFS, "cannot be opened here"),
        (errno.ENOLCK, "cannot be locked"),
        (errno.EIO, "failed"),
    ],
)
def test_what_the_system_says_is_told_in_our_words(number: int, message: str) -> None:
    """A full disk, a quota, a read-only mount and a share without locks each have their hint."""
    path = Path("h.duckdb")
    with pytest.raises(StoreError, match=f"^h.duckdb: .*{message}") as caught, translated(path):
        raise OSError(number, os.strerror(number))
    assert caught.value.hint


def rejected(store: Store, message: str) -> None:
    """Asked or written, it is the same error, and the file stays as it is."""
    before = store.path.read_bytes() if store.path.is_file() else None
    for attempt in (
        lambda: store.query("SELECT 1"),
        lambda: store.past("r"),
        lambda: store.runs(),
        lambda: fill(store),
    ):
        with pytest.raises(StoreError, match=message) as caught:
            attempt()
        assert caught.value.hint
        assert str(store.path) in str(caught.value)
    if before is not None:
        assert store.path.read_bytes() == before


@pytest.mark.parametrize("content", [b"hello", b"step 1 loss 2\n" * 1000, b"\0" * 20_000])
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """A log given as --db by mistake is not overwritten."""
    store = Store(tmp_path / "train.log")
    store.path.write_bytes(content)
    rejected(store, "not a DuckDB database")


def test_an_empty_file_is_a_history_to_be(tmp_path: Path) -> None:
    """Made by `mktemp` or `touch`, it is asked in vain, then filled; who may read it stays."""
    store = Store(tmp_path / "h.duckdb")
    store.path.touch(0o600)
    assert (store.past("r"), store.runs(), count(store)) == (None, [], 0)
    assert store.path.stat().st_size == 0
    fill(store)
    assert count(store) == 8
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_what_killed_creators_left_is_swept_away(tmp_path: Path) -> None:
    """Old leavings go when a history is made; a fresh one may be another's that is at it."""
    old, fresh, other = (
        tmp_path / f"{n}.new" for n in ("h.duckdb.7-8", "h.duckdb.9-9", "i.duckdb.7-8")
    )
    for path in (old, old.with_name(f"{old.name}.wal"), fresh, other):
        path.write_bytes(b"half")
        os.utime(path, (0, 0) if path is not fresh else None)
    Store(tmp_path / "h.duckdb").flush("r", "train.log", fresh=True)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"h.duckdb", "h.duckdb.lock", fresh.name, other.name} == names


def test_a_link_to_a_history_is_the_history(tmp_path: Path) -> None:
    """Also one to a place where there is none yet, and both names take turns at one lock."""
    link, place = tmp_path / "link.duckdb", tmp_path / "far" / "h.duckdb"
    link.symlink_to(place)
    fill(Store(link))
    fill(Store(place), 5)
    assert count(Store(link)) == 10
    assert sorted(place.parent.iterdir()) == [place, lock(place)]
    assert link.is_symlink()


def test_turns_are_taken_without_a_lock_file_if_need_be(tmp_path: Path) -> None:
    """Something else may have its name, or it may have been taken away."""
    store = Store(tmp_path / "h.duckdb")
    lock(store.path).mkdir()
    fill(store)
    lock(store.path).rmdir()
    assert count(store) == 8
    assert list(tmp_path.iterdir()) == [store.path]  # asking makes no file
    lock(store.path).symlink_to(tmp_path / "elsewhere")
    fill(store, 5)
    assert count(store) == 10
    assert not (tmp_path / "elsewhere").exists()


def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    """We never add our tables to another's database."""
    store = Store(tmp_path / "sales.duckdb")
    with duckdb.connect(str(store.path)) as connection:
        connection.execute("CREATE TABLE sales (a INTEGER)")
    rejected(store, "no history of runwatch")


def test_a_newer_history_is_left_alone(tmp_path: Path) -> None:
    """The error names both versions and asks to upgrade."""
    store = Store(tmp_path / "h.duckdb")
    fill(store)
    with duckdb.connect(str(store.path)) as connection:
        connection.execute("UPDATE stored_rows.version SET version = 7, written_by = '9.1'")
    rejected(store, r"version 7, written by runwatch 9\.1; .* knows version 1")


def test_a_torn_file_is_an_error(tmp_path: Path) -> None:
    """Damaged blocks are told, not served."""
    store = Store(tmp_path / "h.duckdb")
    fill(store, 1000)
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match=re.escape(str(store.path))):
        count(store)


def test_a_history_put_back_beside_a_stranger_s_log_is_told(tmp_path: Path) -> None:
    """The write-ahead log of a history that was deleted is never applied to another."""
    store = Store(tmp_path / "h.duckdb")
    fill(store)
    crash = "c.execute('INSERT INTO stored_rows.checks (run) VALUES (1)'); os._exit(0)"
    words = f"import duckdb, os; c = duckdb.connect({str(store.path)!r}); {crash}"
    subprocess.run([sys.executable, "-c", words], check=True)
    store.path.unlink()
    with pytest.raises(StoreError, match=r"does not belong to the \.wal file") as caught:
        fill(Store(store.path))
    assert "remove the .wal file" in caught.value.hint


def test_a_folder_or_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    """The path of the history may be anything."""
    (tmp_path / "folder").mkdir()
    rejected(Store(tmp_path / "folder"), "not a DuckDB database")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be opened here"):
        fill(Store(tmp_path / "file" / "h.duckdb"))


def test_a_folder_that_may_not_be_written_is_told() -> None:
    """It can be read and asked, and writing names the ways to put the history elsewhere."""
    if not hasattr(os, "setuid"):
        pytest.skip("needs a system with users and permissions")
    with TemporaryDirectory() as folder:  # tmp_path lies in a folder that is closed to nobody
        fill(Store(Path(folder, "old.duckdb")))
        Path(folder, "old.duckdb").chmod(0o444)
        Path(folder).chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, folder],
            cwd=ROOT, text=True, capture_output=True, check=False,
        )  # fmt: skip
        Path(folder).chmod(0o700)
    assert done.stdout.splitlines() == [
        "old.duckdb has 8",
        "old.duckdb: the history cannot be opened here",
        "new.duckdb has 0",
        "new.duckdb: the history cannot be opened here",
        "shut/h.duckdb: the history cannot be opened here",
    ], done.stderr
