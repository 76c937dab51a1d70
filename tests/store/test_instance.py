"""The one DuckDB of a process lets go of every history that it had open."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from runwatch.errors import StoreError
from runwatch.store import Store
from runwatch.store.instance import ATTACHED
from tests.conftest import ROOT
from tests.store.stored_batches import batch, cursor


def fill(store: Store) -> None:
    store.flush("r", "a", [batch(1, 2)], {"train.log": cursor(2)}, {}, fresh=True)


def open_files() -> set[str]:
    """What this process has open."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            found.add(os.readlink(descriptor))
        except FileNotFoundError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_nothing_is_open_between_two_calls(tmp_path: Path) -> None:
    path = tmp_path / "it's a history.duckdb"
    store = Store(path)
    fill(store)
    assert store.past("r") is not None
    assert not {name for name in open_files() if name.startswith(str(tmp_path))}
    assert sorted(one.name for one in tmp_path.iterdir()) == [path.name, f"{path.name}.lock"]


def test_two_histories_do_not_meet(tmp_path: Path) -> None:
    one, other = Store(tmp_path / "1.duckdb"), Store(tmp_path / "2.duckdb")
    fill(one)
    other.flush("s", "b", [batch(1, 3)], {"train.log": cursor(3)}, {}, fresh=True)
    assert (one.past("s"), other.past("r")) == (None, None)
    assert one.past("r") is not None
    assert other.past("s") is not None


def test_what_is_not_committed_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "h.duckdb"
    fill(Store(path))
    connection = ATTACHED.open(path, read_only=False)
    connection.begin()
    connection.execute("DELETE FROM stored_rows.points")
    ATTACHED.close(connection)
    assert Store(path).query("SELECT count(*) AS n FROM points").to_pylist()[0]["n"] > 0


def test_what_is_only_looked_at_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "h.duckdb"
    fill(Store(path))
    connection = ATTACHED.open(path, read_only=True)
    with pytest.raises(duckdb.Error, match="read-only"):
        connection.execute("DELETE FROM stored_rows.points")
    ATTACHED.close(connection)


def test_a_failure_leaves_the_next_call_in_order(tmp_path: Path) -> None:
    """A file that is none, then a statement that fails halfway, then all is well."""
    path = tmp_path / "h.duckdb"
    path.write_text("no database\n")
    with pytest.raises(StoreError, match="not a DuckDB database"):
        Store(path).past("r")
    path.unlink()
    fill(Store(path))
    connection = ATTACHED.open(path, read_only=False)
    connection.begin()
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT nothing FROM nowhere")
    ATTACHED.close(connection)
    assert Store(path).past("r") is not None


def test_it_is_made_ready_while_others_open_the_history(tmp_path: Path) -> None:
    path = tmp_path / "h.duckdb"
    store = Store(path)
    store.prepare()
    fill(store)
    store.prepare()
    assert store.past("r") is not None
    for thread in threading.enumerate():
        if thread.name == "duckdb":
            thread.join()


def test_a_disk_that_is_full_at_the_end_loses_nothing(tmp_path: Path) -> None:
    """What was committed lies in the file beside it; to tidy up is for whoever comes next."""
    code = f"""
import resource, signal
from pathlib import Path
from runwatch.store import Store
from tests.conftest import ROOT
from tests.store.stored_batches import batch, cursor
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = Path({str(tmp_path / "h.duckdb")!r})
store = Store(path)
store.flush("r", "a", [batch(1, 2)], {{"train.log": cursor(2)}}, {{}}, fresh=True)
usual = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, usual[1]))
store.flush("r", "a", [batch(3, 4)], {{"train.log": cursor(4)}}, {{}})
resource.setrlimit(resource.RLIMIT_FSIZE, usual)
store.flush("r", "a", [batch(5, 6)], {{"train.log": cursor(6)}}, {{}})
print(store.query("SELECT count(DISTINCT line) AS n FROM points").to_pylist()[0]["n"])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("6\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are copied")
def test_a_copy_of_the_process_has_an_instance_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "h.duckdb"
    code = f"""
import os
import subprocess
import sys
from pathlib import Path
from runwatch.store import Store
store = Store(Path({str(path)!r}))
store.flush("r", "a", (), {{}}, {{}}, fresh=True)
child = os.fork()
found = store.past("r") is not None
if not child:
    os._exit(0 if found else 1)
print(os.waitpid(child, 0)[1])
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "0\n", done.stderr


def test_what_an_interrupt_left_attached_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "h.duckdb"
    fill(Store(path))
    ATTACHED.open(path, read_only=True)
    fill(Store(path))
    assert Store(path).past("r") is not None
