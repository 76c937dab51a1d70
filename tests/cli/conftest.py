"""What the tests of commands share: a host to reach."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ingest.server import Server, at_home


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """An SSH server that the settings of a home of our own call `gpu-box`."""
    pytest.importorskip("asyncssh")
    with at_home(tmp_path, monkeypatch) as server:
        yield server
