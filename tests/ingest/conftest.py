"""What the tests of sources share: one SSH server for all of them."""

from collections.abc import Iterator

import pytest

from tests.ingest.server import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A running OpenSSH server on loopback; without one the tests that ask for it skip."""
    server = Server(tmp_path_factory.mktemp("sshd"))
    server.start()
    yield server
    server.kill()
