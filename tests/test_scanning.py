"""A run at rest, with a history that fails on the way."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from runwatch import pipeline
from runwatch.errors import StoreError
from runwatch.scanning import scan
from runwatch.store import Store
from runwatch.summary import Summary


class Failing(Store):
    """A history whose disk is full from a certain flush on."""

    def __init__(self, path: Path, good: int) -> None:
        super().__init__(path)
        self.good = good

    def flush(self, *words: Any, **more: Any) -> None:
        """Raises StoreError once the disk is full."""
        self.good -= 1
        if self.good < 0:
            raise StoreError("no room is left", hint="make some")
        super().flush(*words, **more)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four ranks, the last line of each unfinished, stored after every other one."""
    monkeypatch.setattr(pipeline, "_MOST_PENDING", 60)
    place = tmp_path / "logs"
    place.mkdir()
    for rank in range(4):
        lines = [f"step={i} loss={3 - i / 100}" for i in range(1, 51)]
        (place / f"rank_{rank}.log").write_text("\n".join(lines))
    return place


def read(folder: Path, store: Store | None, lost: Any = None) -> Mapping[str, Any]:
    found: Summary = scan(str(folder), store=store, clock=lambda: datetime.now(UTC), lost=lost)
    return found.as_dict()


@pytest.mark.parametrize("good", range(4))
def test_a_history_that_fails_costs_nothing_of_the_answer(folder: Path, good: int) -> None:
    """Whenever it fails, in the middle or at the end: the answer is the one without a history."""
    lost: list[StoreError] = []
    told = read(folder, Failing(folder.parent / "h.duckdb", good), lost.append)
    assert told == read(folder, None)
    assert told["coverage"]["points"] == 200
    assert len(lost) == (1 if good < 2 else 0)


def test_a_stream_that_begins_as_the_history_is_written_has_no_cursor_yet(folder: Path) -> None:
    """What is stored in between holds the streams that were read, and all are stored in the end."""
    store = Store(folder.parent / "h.duckdb")
    read(folder, store)
    stored = store.query("SELECT count(DISTINCT stream) AS n, count(*) AS m FROM points")
    assert stored.to_pylist() == [{"n": 4, "m": 200}]


def test_where_nobody_is_told_the_error_is_raised(folder: Path) -> None:
    """A caller that wants the history learns that there is none."""
    with pytest.raises(StoreError, match="no room is left"):
        read(folder, Failing(folder.parent / "h.duckdb", 1))


SECRET = "hunter2hunter2"
LEAKING = f"""step=1 loss=2.5 url=https://u:{SECRET}@h/x
step=2 loss=nan password={SECRET}
Traceback (most recent call last):
  File "train.py", line 3, in <module>
RuntimeError: {"x" * 560} failed for https://u:{SECRET}@h/x api_key={SECRET}
"""


@pytest.mark.parametrize("stored", [False, True])
def test_a_secret_in_the_log_is_told_nowhere(tmp_path: Path, stored: bool) -> None:
    """Neither by a line of note that is cut short, nor by one that is read again to be cited."""
    log = tmp_path / "train.log"
    log.write_text(LEAKING)
    store = Store(tmp_path / "h.duckdb") if stored else None
    first = read(log, store)
    assert {item["kind"] for item in first["findings"]} == {"nan_loss", "python_exception"}
    assert all(item["evidence"] for item in first["findings"])
    assert "hunter" not in json.dumps(first)
    assert store is None or b"hunter" not in store.path.read_bytes()
    assert json.dumps(read(log, store)) == json.dumps(first)
