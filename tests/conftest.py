"""What all tests share: a history of their own, the folder of real logs where there is one, and a
cloud on loopback."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.ingest import vertex_messages as vertex
from tests.ingest.vertex_server import Server

settings.register_profile("untimed", deadline=None)  # a test states facts, not times
settings.load_profile("untimed")

# A shell that starts the tests behind itself has them ignore Ctrl-C, and so would all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh, empty folder for the history, so that no test touches the user's own."""
    folder = tmp_path_factory.mktemp("history")
    monkeypatch.setenv("RUNWATCH_HOME", str(folder))
    monkeypatch.setenv("NO_COLOR", "1")
    return folder


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the corpus of real logs; tests that ask for it skip where there is none."""
    folder = Path(os.environ.get("RUNWATCH_SHARED", ROOT.parent / "shared"))
    if not (folder / "corpus").is_dir():
        pytest.skip(f"no corpus of real logs in {folder}; RUNWATCH_SHARED can name another folder")
    return folder


@pytest.fixture
def cloud() -> Iterator[Server]:
    """Vertex AI and Cloud Logging, with a custom job that runs; without Google's clients the tests
    that ask for it skip."""
    for name in ("grpc", "google.cloud.aiplatform_v1", "google.cloud.logging_v2"):
        pytest.importorskip(name)
    server = Server(jobs={vertex.JOB: vertex.custom_job("456")})
    server.start()
    yield server
    server.stop()
