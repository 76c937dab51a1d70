"""A host reached over SSH: one connection for everything that is asked of it.

The one home of asyncssh. Settings, keys, agent, jump hosts and known hosts are the user's own. A
host that was never seen is added to the known ones; a host whose key has changed is an error.
Only a POSIX shell is needed on the other side, and nothing is written there.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runwatch.errors import UnreachableError, UsageError
from runwatch.ingest.following import Following, Reach
from runwatch.ingest.known_hosts import known, remember
from runwatch.target import Target

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHClientProcess

Sleep = Callable[[float], Awaitable[None]]

_PATIENCE = 20.0  # seconds for a connection, and for an answer
_LEAVING = 2.0  # the same for its goodbye
_MOMENT = 0.5  # the same for an answer that has come already
_AT_ONCE = 2  # questions, beside the log: servers may allow few sessions on a connection
_PIECE = 1 << 18
_BACKOFF = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)


def open_target(target: Target) -> Any:
    """A log on another host is followed, never scanned. Raises UsageError."""
    raise UsageError(
        f"{target} lies on another host", hint=f"follow it: runwatch watch {target} --once"
    )


def open_following(
    target: Target, *, host: "Host | None" = None, clock: Callable[[], float] = time.time
) -> Following:
    """Follow files of a host: a path, a folder or a glob. Raises UsageError without asyncssh.

    A `host` that is given is shared: it is not closed with the source.
    """
    from runwatch.ingest.follow_records import Translated
    from runwatch.ingest.ssh_follow import Remote

    own = host is None
    return Translated(Remote(target, host or Host.of(target, clock=clock), clock=clock, own=own))


def library() -> Any:
    """asyncssh. Raises UsageError where it is not installed."""
    try:
        import asyncssh
    except ImportError as error:
        raise UsageError(
            "another host needs asyncssh", hint="pip install 'runwatch[ssh]'"
        ) from error
    return asyncssh


class Host:
    """One host and the connection to it, opened when it is first needed and again when it broke.

    `reach` says whether it answers and since when it does not. `sleep` waits between tries.
    `config` is for tests: files instead of the user's own settings.
    """

    def __init__(
        self, name: str, user: str = "", port: int = 0, *,
        config: Sequence[str | Path] | None = None,
        clock: Callable[[], float] = time.time, sleep: Sleep = asyncio.sleep,
    ) -> None:  # fmt: skip
        library()
        self.name, self.user, self.port = name, user, port
        self.reach = Reach(True, "", clock())
        self.events: list[str] = []
        self._config, self._clock, self._sleep = config, clock, sleep
        self._connections: list[SSHClientConnection] = []
        self._opening = asyncio.Lock()
        self._asking = asyncio.Semaphore(_AT_ONCE)
        self._tries, self._known_to_work = 0, False

    @classmethod
    def of(cls, target: Target, *, clock: Callable[[], float] = time.time) -> "Host":
        """The host of a target. Raises UsageError without asyncssh."""
        return cls(target.host, target.user, target.port, clock=clock)

    def __str__(self) -> str:
        return f"{self.user}@{self.name}" if self.user else self.name

    async def run(self, script: str, *, patience: float = _PATIENCE) -> bytes:
        """What a POSIX shell prints for a script; its errors and its exit code do not matter.

        Raises UnreachableError where the host does not answer.
        """
        try:
            async with self._asking:
                shell = await self.shell()
                try:
                    return await shell.ask(f"(\n{script}\n)", patience=patience)
                finally:
                    await shell.left()
        except ConnectionError as error:
            raise UnreachableError(f"{self}: {error}", hint="is it up, and the network?") from error

    async def shell(self) -> "Shell":
        """A shell of its own on the one connection.

        Raises ConnectionError where trying again may help, UnreachableError where not.
        """
        ssh = library()
        connection = await self._connection()
        try:
            # wait_for of Python 3.11 may swallow a cancellation, timeout does not.
            async with asyncio.timeout(_PATIENCE):
                process = await connection.create_process("exec sh", encoding=None)
        except (OSError, TimeoutError, ssh.Error) as error:
            self._lost(connection)
            raise ConnectionError(_words(error)) from error
        return Shell(process)

    async def rest(self, why: str) -> None:
        """Wait before the next try: 1, 2, 4 … 30 s. `reach` says since when nobody answers."""
        if self.reach.ok:
            since = time.strftime("%H:%M:%S", time.localtime(self.reach.at))
            note = f"unreachable since {since} ({why}), state unknown"
            self.reach = Reach(False, note, self.reach.at)
        pause = _BACKOFF[min(self._tries, len(_BACKOFF) - 1)]
        self._tries += 1
        await self._sleep(pause)

    def answered(self) -> None:
        """The host did what it was asked."""
        self._tries, self._known_to_work = 0, True
        self.reach = Reach(True, "", self._clock())

    async def close(self) -> None:
        """Close the connection."""
        for connection in reversed(self._connections):
            connection.close()
            with suppress(Exception):
                async with asyncio.timeout(_LEAVING):
                    await connection.wait_closed()
        self._connections.clear()

    def _lost(self, connection: "SSHClientConnection") -> None:
        if connection in self._connections:
            for one in reversed(self._connections):
                one.abort()
            self._connections.clear()

    # Opening

    async def _connection(self) -> "SSHClientConnection":
        async with self._opening:
            if self._connections and self._connections[-1].is_closed():
                self._lost(self._connections[-1])
            if not self._connections:
                ssh = library()
                try:
                    await self._connect(self.name, self.user, self.port)
                except ssh.HostKeyNotVerifiable as error:
                    self._connections.clear()
                    raise UnreachableError(
                        f"{self}: the key of the host is not the one that is known",
                        hint=f"if that is right: ssh-keygen -R {self.name}",
                    ) from error
                except ssh.PermissionDenied as error:
                    self._connections.clear()
                    if self._known_to_work:  # its home may not be there yet after a restart
                        raise ConnectionError("no key of yours is accepted") from error
                    raise UnreachableError(
                        f"{self}: no key of yours is accepted",
                        hint=f"does `ssh {self}` work without a password?",
                    ) from error
                except ssh.KeyExchangeFailed as error:
                    self._connections.clear()
                    raise UnreachableError(
                        f"{self}: {_words(error)}", hint="has the key of the host changed?"
                    ) from error
                except (OSError, TimeoutError, ssh.Error, ValueError) as error:
                    self._connections.clear()
                    raise ConnectionError(_words(error)) from error
            return self._connections[-1]

    async def _connect(self, name: str, user: str, port: int) -> None:
        """Connect to a host through those that have to be jumped over, each as the first."""
        ssh = library()
        chosen: dict[str, Any] = {}
        if user:
            chosen["username"] = user
        if port:
            chosen["port"] = port
        if self._config is not None:
            chosen["config"] = [str(path) for path in self._config]
        options = await ssh.SSHClientConnectionOptions.construct(host=name, **chosen)
        if isinstance(options.tunnel, str):
            for jump in options.tunnel.split(","):
                account, _, where = jump.rpartition("@")
                where, _, jump_port = where.partition(":")
                await self._connect(where, account, int(jump_port or 0))
        async with asyncio.timeout(_PATIENCE):
            connection = await ssh.connect(
                name, **chosen,
                tunnel=self._connections[-1] if self._connections else (),
                known_hosts=known(options.known_hosts),
                client_factory=lambda: self._client(options.known_hosts),
                keepalive_interval=5, keepalive_count_max=3,
            )  # fmt: skip
        self._connections.append(connection)

    def _client(self, files: object) -> Any:
        """Accepts a host that was never seen and remembers it; asyncssh asks about no other."""
        ssh, trusted, told = library(), known(files), self.events

        class Client(ssh.SSHClient):  # type: ignore[misc, name-defined]
            def validate_host_public_key(self, host: str, addr: str, port: int, key: Any) -> bool:
                there = port if port != 22 else None
                if ssh.match_known_hosts(trusted, host, addr, there)[0]:
                    return False
                name = host if port == 22 else f"[{host}]:{port}"
                remember(files, f"{name} {key.export_public_key().decode().strip()}\n")
                told.append(f"{name} was never seen: its key was added to the known hosts")
                return True

        return Client()


def _words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return str(getattr(error, "reason", "") or error).strip().lower() or type(error).__name__


class Shell:
    """A POSIX shell that answers one script after the other."""

    def __init__(self, process: "SSHClientProcess[bytes]") -> None:
        self._process = process
        self._left = b""

    async def ask(self, script: str, *, patience: float = _PATIENCE) -> bytes:
        """What a script prints. It must hold no text of others but what `shlex.quote` gave.

        Raises ConnectionError when the connection breaks or says nothing for that long.
        """
        ssh = library()
        begin, end = secrets.token_hex(16).encode(), secrets.token_hex(16).encode()
        asked = (
            f"printf '%s\\n' {begin.decode()}\n{{\n{script}\n}} 2>/dev/null </dev/null\n"
            f"printf '%s\\n' {end.decode()}\n"
        )
        try:
            self._process.stdin.write(asked.encode("utf-8", "surrogateescape"))
            answer = bytearray(self._left)
            while (at := answer.find(end + b"\n", max(0, self._seen(answer)))) < 0:
                piece = await self._heard(patience)
                if not piece:
                    raise ConnectionError("the connection was closed")
                answer += piece
        except (OSError, TimeoutError, ssh.Error) as error:
            self.close()
            if isinstance(error, ConnectionError) and not isinstance(error, ssh.Error):
                raise
            raise ConnectionError(_words(error)) from error
        self._left = bytes(answer[at + len(end) + 1 :])
        start = answer.find(begin + b"\n") + len(begin) + 1  # a talkative profile came first
        return bytes(answer[start:at])

    async def _heard(self, patience: float) -> bytes:
        """The next bytes. Who was held up by other work for that long has not listened, so there is
        one more moment for what lies there already."""
        for seconds in (patience, _MOMENT):
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    return await self._process.stdout.read(_PIECE)
        raise TimeoutError

    @staticmethod
    def _seen(answer: bytearray) -> int:
        return len(answer) - _PIECE - 64

    def close(self) -> None:
        """End the shell."""
        self._process.close()

    async def left(self) -> None:
        """End it, and wait for the host to count it no more: its sessions are limited."""
        self._process.close()
        with suppress(Exception):
            async with asyncio.timeout(_LEAVING):
                await self._process.wait_closed()
