"""A real OpenSSH server on loopback, with keys and settings of its own, that can be killed."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runwatch.ingest.ssh import Host

SSHD = shutil.which("sshd") or ("/usr/sbin/sshd" if os.path.exists("/usr/sbin/sshd") else "")


class Server:
    """`start`, `kill` and start again: the port, the keys and the files stay.

    `environment` is that of all that runs there. Its home is the folder, so that no profile of a
    real user is read, let alone killed in the middle.
    """

    def __init__(self, folder: Path, **environment: str) -> None:
        if not SSHD:
            pytest.skip("no OpenSSH server here: apt-get install openssh-server")
        self.folder, self.port = folder, _free_port()
        self._sshd: subprocess.Popen[bytes] | None = None
        for name in ("host_key", "user_key"):
            self.new_key(name)
        shutil.copy(folder / "user_key.pub", folder / "authorized")
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # where its children may do nothing
        told = {"HOME": str(folder), **environment}
        words = " ".join(f'"{name}={value}"' for name, value in told.items())
        (folder / "sshd_config").write_text(
            f"SetEnv {words}\nPort {self.port}\nListenAddress 127.0.0.1\n"
            f"HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized\n"
            f"PidFile {folder}/pid\nStrictModes no\n"
            "UsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxSessions 4\n"
        )
        self.known_hosts = folder / "known hosts"
        self.config = folder / "config"
        self.configure("127.0.0.1")

    def configure(self, where: str, *lines: str) -> None:
        """The user's settings: `gpu-box` is this server."""
        words = [
            f"Host gpu-box jump-box\n HostName {where}\n Port {self.port}",
            f"Host *\n IdentityFile {self.folder}/user_key\n IdentitiesOnly yes",
            f' UserKnownHostsFile "{self.known_hosts}"',
        ]
        self.config.write_text("\n".join([*lines, *words]) + "\n")

    def new_key(self, name: str) -> None:
        """Make a key, in the place of the one that was there."""
        path = self.folder / name
        path.unlink(missing_ok=True)
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
        subprocess.run(command, check=True)

    def host(self, name: str = "gpu-box", **wishes: object) -> Host:
        """A connection to it, with the settings of this folder."""
        wishes.setdefault("sleep", _at_once)
        return Host(name, config=[self.config], **wishes)  # type: ignore[arg-type]

    def start(self) -> None:
        """Start it and wait until it listens."""
        command = [SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")]
        self._sshd = subprocess.Popen(command, stderr=subprocess.PIPE)
        assert self._sshd.stderr is not None
        said = b""
        while b"Server listening" not in said:
            said = self._sshd.stderr.readline()
            assert said, "sshd has ended"

    def kill(self) -> None:
        """Kill it and all its connections, as a power cut does."""
        if self._sshd is None:
            return
        for pid in [*_below(self._sshd.pid), self._sshd.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._sshd.wait()
        assert self._sshd.stderr is not None
        self._sshd.stderr.close()
        self._sshd = None


@contextlib.contextmanager
def at_home(
    home: Path, monkeypatch: pytest.MonkeyPatch, *settings: str, **environment: str
) -> Iterator[Server]:
    """A running server that the settings of a home of our own call `gpu-box`; with more settings
    of its own, a line each, and variables for all that runs there."""
    folder = home / "server"
    folder.mkdir()
    server = Server(folder, **environment)
    with (folder / "sshd_config").open("a") as config:
        config.writelines(f"{line}\n" for line in settings)
    server.start()
    (home / ".ssh").mkdir(mode=0o700)
    (home / ".ssh" / "config").write_text(server.config.read_text())
    monkeypatch.setenv("HOME", str(home))
    try:
        yield server
    finally:
        server.kill()


async def _at_once(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(min(seconds, 0.05))


def _below(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                stat = Path(f"/proc/{entry}/stat").read_text()
                parents.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry))
    children = parents.get(pid, [])
    return [*children, *(deep for child in children for deep in _below(child))]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


Started = Callable[[], Server]
