"""Logs of another host, over a real OpenSSH server on loopback."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path

import pytest

from runwatch.chunk import Cursor, Stream
from runwatch.errors import InputError, UnreachableError, UsageError
from runwatch.ingest import open_source
from runwatch.ingest.following import open_following
from runwatch.ingest.ssh_follow import Remote
from runwatch.ingest.ssh_words import has_signs, pattern
from runwatch.target import Kind, Target
from tests.ingest.following import Clock, Reader
from tests.ingest.server import Server


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "my runs; echo 'x'"
    folder.mkdir()
    path = folder / "train.log"
    path.write_bytes(b"step 1\n")
    return path


def source(server: Server, path: object, clock: Clock | None = None) -> Remote:
    return Remote(
        Target(Kind.SSH, f"gpu-box:{path}", str(path), "gpu-box"),
        server.host(),
        clock=clock or Clock(),
    )


def add(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def test_bytes_come_as_they_are_written_torn_lines_and_all(server: Server, log: Path) -> None:
    """Blanks, quotes and semicolons in a path are no commands; any byte may be in the log."""

    async def follow() -> None:
        async with Reader(source(server, log)) as reader:
            await reader.text("train.log", b"step 1\n")
            add(log, bytes(range(256)))
            await reader.text("train.log", b"step 1\n" + bytes(range(256)))
            add(log, b"step 2\n")
            await reader.text("train.log", b"step 1\n" + bytes(range(256)) + b"step 2\n")
            assert reader.source.reach.ok
        cursor = Cursor(reader.cursors["train.log"].identity, 3)
        async with Reader(source(server, log), {"train.log": cursor}) as second:
            await second.text("train.log", b"p 1\n" + bytes(range(256)) + b"step 2\n")

    asyncio.run(follow())


def test_no_byte_is_lost_or_doubled_when_the_server_dies(server: Server, log: Path) -> None:
    """Killed in the middle of a stream and started again, it goes on at the very byte."""
    text = b"".join(b"step %d loss %f\n" % (step, 1 / (step + 1)) for step in range(200_000))

    async def follow() -> None:
        log.write_bytes(text[: len(text) // 2])
        async with Reader(source(server, log)) as reader:
            await reader.until(lambda: len(reader.whole("train.log")) > 1 << 20)
            server.kill()
            await reader.until(lambda: not reader.source.reach.ok)
            assert "unreachable since" in reader.source.reach.note
            assert "state unknown" in reader.source.reach.note
            add(log, text[len(text) // 2 :])
            await reader.turns()
            server.start()
            await reader.text("train.log", text)
            assert reader.source.reach.ok
            assert reader.lives == {}
            server.kill()
            server.start()
            add(log, b"last\n")
            await reader.text("train.log", text + b"last\n")

    asyncio.run(follow())


def test_the_pauses_between_tries_grow_to_half_a_minute(server: Server, log: Path) -> None:
    """1, 2, 4, 8, 16, 30, 30 seconds, and again from 1 after it answered."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) in (7, 8):
            server.start()
        await asyncio.sleep(0)

    async def follow() -> None:
        host = server.host(sleep=sleep)
        target = Target.parse(f"gpu-box:{log}")
        async with Reader(Remote(target, host)) as reader:
            await reader.text("train.log", b"step 1\n")
            server.kill()
            add(log, b"step 2\n")
            await reader.text("train.log", b"step 1\nstep 2\n")
            assert [1, 2, 4, 8, 16, 30, 30] == pauses
            await reader.turns()
            server.kill()
            add(log, b"step 3\n")
            await reader.text("train.log", b"step 1\nstep 2\nstep 3\n")
            assert [1] == pauses[7:]

    asyncio.run(follow())


def test_a_rotated_file_is_read_to_its_end_before_the_new_one(server: Server, log: Path) -> None:
    """It is found by its inode under its new name, and drained for the grace period."""
    clock = Clock()

    async def follow() -> None:
        async with Reader(source(server, log, clock)) as reader:
            await reader.text("train.log", b"step 1\n")
            old = log.rename(log.with_name("train.log.1"))
            log.write_bytes(b"step 3\n")
            await reader.told("was replaced")
            add(old, b"step 2\n")
            await reader.text("train.log", b"step 1\nstep 2\n")
            clock.now += 3
            await reader.text("train.log", b"step 1\nstep 2\nstep 3\n")

    asyncio.run(follow())


def test_rotations_while_nobody_looked_lose_nothing(server: Server, log: Path) -> None:
    """The cursor finds its file among the copies; newer copies come before the log."""
    clock = Clock()

    async def follow() -> None:
        async with Reader(source(server, log)) as reader:
            await reader.text("train.log", b"step 1\n")
        add(log, b"step 2\n")
        log.rename(log.with_name("train.log.2"))
        log.with_name("train.log.1").write_bytes(b"step 3\n")
        log.write_bytes(b"step 4\n")
        async with Reader(source(server, log, clock), reader.cursors) as second:
            await second.text("train.log", b"step 2\nstep 3\n")
            clock.now += 3
            await second.text("train.log", b"step 2\nstep 3\nstep 4\n")

    asyncio.run(follow())


MOVES = """\
#!/bin/sh
# stat, but that the copies move on in the middle of a look at all of them.
case "$*" in
    *train.log.9*)
        if [ -e MOVES ]; then
            rm MOVES
            format=$3; shift 3
            for path; do
                case "$path" in *train.log.9) mv FOLDER/train.log.9 FOLDER/train.log.10 ;; esac
                STAT -L -c "$format" "$path"
            done
            exit
        fi ;;
esac
exec STAT "$@"
"""


def with_program(folder: Path, name: str, script: str, **meant: str) -> Server:
    """A server whose shell finds another program under a name; its words are put in."""
    (folder / "server").mkdir()
    programs = folder / "programs"
    programs.mkdir()
    for word, text in meant.items():
        script = script.replace(word, text)
    (programs / name).write_text(script)
    (programs / name).chmod(0o755)
    return Server(folder / "server", PATH=f"{programs}:{os.environ['PATH']}")


def while_it_runs(server: Server, follow: Callable[[], Coroutine[None, None, None]]) -> None:
    """Start the server, do it, and end the server however that went."""
    server.start()
    try:
        asyncio.run(follow())
    finally:
        server.kill()


@pytest.mark.parametrize("truncated", [False, True])
def test_a_copy_that_moves_on_while_it_is_looked_for_is_not_lost(
    tmp_path: Path, truncated: bool
) -> None:
    """One that was seen under neither of its two names is there all the same."""
    stat = shutil.which("stat")
    if stat is None or b"GNU" not in subprocess.check_output([stat, "--version"]):
        pytest.skip("no stat of GNU here")
    log, moves = tmp_path / "train.log", tmp_path / "moves"
    server = with_program(
        tmp_path, "stat", MOVES, MOVES=str(moves), FOLDER=str(tmp_path), STAT=stat
    )
    log.write_bytes(b"step 1 of a long log\n")
    clock = Clock()

    async def follow() -> None:
        async with Reader(source(server, log)) as reader:
            await reader.text("train.log", b"step 1 of a long log\n")
        add(log, b"step 2\n")
        if truncated:
            shutil.copy(log, log.with_name("train.log.9"))
        else:
            log.rename(log.with_name("train.log.9"))
        log.write_bytes(b"step 3\n")
        moves.touch()
        async with Reader(source(server, log, clock), reader.cursors) as second:
            await second.until(lambda: not moves.exists())
            await second.text("train.log", b"step 2\n")
            clock.now += 3
            await second.text("train.log", b"step 2\nstep 3\n")

    while_it_runs(server, follow)


CUTS = """\
#!/bin/sh
# PROGRAM, but that the shell that asks dies once, not at the first bytes of a file.
if [ "$2" != +1 ] && [ -e MARK ]; then
    rm MARK
    kill -9 $PPID
fi
exec PROGRAM "$@"
"""


@pytest.mark.parametrize(("name", "nuls"), [("tail", 0), ("cmp", 3 << 20)])
def test_a_log_that_is_written_no_more_is_read_to_its_end_after_a_broken_connection(
    tmp_path: Path, name: str, nuls: int
) -> None:
    """It broke behind the first piece, and the file looks as it did before that."""
    program = shutil.which(name)
    assert program is not None
    log, mark = tmp_path / "train.log", tmp_path / "mark"
    server = with_program(tmp_path, name, CUTS, PROGRAM=program, MARK=str(mark))
    text = b"".join(b"step %d loss 1.0\n" % step for step in range(100_000))
    log.write_bytes(b"\0" * nuls + text)
    mark.touch()

    async def follow() -> None:
        async with Reader(source(server, log)) as reader:
            await reader.text("train.log", text)
            assert not mark.exists()

    while_it_runs(server, follow)


STRANGE = """\
#!/bin/sh
# stat, but that a file has more bytes than any number tells, for as long as there is a mark.
[ -e MARK ] && [ "$2" = -c ] && echo "1 1 DIGITS 1|1|$4" && exit
exec STAT "$@"
"""


def test_a_host_that_answers_strangely_is_told_and_asked_again(tmp_path: Path) -> None:
    """Its log goes on once the answers are as they should be."""
    stat = shutil.which("stat")
    assert stat is not None
    log, mark = tmp_path / "train.log", tmp_path / "mark"
    server = with_program(tmp_path, "stat", STRANGE, MARK=str(mark), DIGITS="9" * 5000, STAT=stat)
    log.write_bytes(b"step 1\n")
    mark.touch()

    async def follow() -> None:
        async with Reader(source(server, log)) as reader:
            await reader.until(lambda: not reader.source.reach.ok)
            assert "it answers strangely" in reader.source.reach.note
            mark.unlink()
            await reader.text("train.log", b"step 1\n")
            assert reader.source.reach.ok

    while_it_runs(server, follow)


def test_a_log_whose_own_file_is_gone_goes_on_with_what_was_written_since(
    server: Server, log: Path
) -> None:
    """While it is followed, and while nobody looked: the copies written since, no older one."""
    clock, long_ago = Clock(), 1_000_000_000
    older, two, one = (log.with_name(f"train.log.{n}") for n in (3, 2, 1))
    older.write_bytes(b"step 0\n")
    for path in (older, log):
        os.utime(path, (long_ago, long_ago))

    def rotate(first: int) -> None:
        log.unlink()
        for step, path in enumerate((two, one, log), first):
            path.write_bytes(b"step %d\n" % step)

    async def all_of(reader: Reader, text: bytes) -> None:
        for _ in range(100):
            clock.now += 3
            await reader.turns(1)
            if len(reader.whole("train.log")) >= len(text):
                break
        assert text == reader.whole("train.log")

    async def follow() -> None:
        async with Reader(source(server, log, clock)) as reader:
            await reader.text("train.log", b"step 1\n")
            rotate(2)
            await all_of(reader, b"step 1\nstep 2\nstep 3\nstep 4\n")
        cursor = replace(reader.cursors["train.log"], at=time.time() - 100)
        for path in (two, one):
            path.unlink()
        rotate(5)
        async with Reader(source(server, log, clock), {"train.log": cursor}) as reader:
            await reader.told("reading train.log.2, written since")
            await all_of(reader, b"step 5\nstep 6\nstep 7\n")

    asyncio.run(follow())


def test_truncated_files_are_told_by_length_and_head(server: Server, log: Path) -> None:
    """Shorter, longer with another head, and with what a copy still has of it."""

    async def follow() -> None:
        async with Reader(source(server, log)) as reader:
            await reader.text("train.log", b"step 1\n")
            log.write_bytes(b"two\n")
            await reader.text("train.log", b"step 1\ntwo\n")
            log.write_bytes(b"three is a longer line\n")
            await reader.text("train.log", b"step 1\ntwo\nthree is a longer line\n")
        add(log, b"four\n")
        log.with_name("train.log.1").write_bytes(log.read_bytes())
        log.write_bytes(b"five\n")
        async with Reader(source(server, log), reader.cursors) as second:
            await second.text("train.log", b"four\nfive\n")

    asyncio.run(follow())


def test_the_nuls_that_copytruncate_leaves_are_skipped(server: Server, log: Path) -> None:
    """They do not travel: the first byte of text is found over there."""

    async def follow() -> None:
        with log.open("r+b", 0) as writer:
            async with Reader(source(server, log)) as reader:
                await reader.text("train.log", b"step 1\n")
                writer.seek(20_000_000)
                writer.truncate(0)
                writer.write(b"step 2\n")
                await reader.text("train.log", b"step 1\nstep 2\n")
                writer.write(b"step 3\n")
                await reader.text("train.log", b"step 1\nstep 2\nstep 3\n")

    asyncio.run(follow())


def test_a_deleted_and_recreated_file_is_read_from_its_start(server: Server, log: Path) -> None:
    """It is told that it is gone; what comes in its place is new."""

    async def follow() -> None:
        async with Reader(source(server, log)) as reader:
            await reader.text("train.log", b"step 1\n")
            log.unlink()
            await reader.told("is gone")
            await reader.until(lambda: reader.source.reach.note == "train.log is gone")
            log.with_name("other").touch()
            log.write_bytes(b"step 2\n")
            await reader.text("train.log", b"step 1\nstep 2\n")

    asyncio.run(follow())


def test_globs_and_folders_are_expanded_over_there(server: Server, tmp_path: Path) -> None:
    """With blanks and signs in names; ranks come from the names; what is no log stays away."""
    runs = tmp_path / "a b"
    for rank in range(3):
        (runs / f"rank_{rank}").mkdir(parents=True)
        (runs / f"rank_{rank}/stderr.log").write_bytes(b"step %d\n" % rank)
    (runs / "weights.pt").write_bytes(b"PK\x03\x04")
    (runs / "notes").write_bytes(b"PK\x03\x04" + bytes(range(64)) * 10)
    (runs / "rank_1/$(touch x).log").write_bytes(b"odd\n")

    async def follow(path: str, expected: dict[str, bytes]) -> None:
        async with Reader(source(server, path)) as reader:
            await reader.until(lambda: expected == reader.texts)
        ranks = {stream.name: stream.rank for stream in reader.source.streams()}
        assert {name: int(name.split("_")[1][0]) for name in expected} == ranks

    three = {f"rank_{rank}/stderr.log": b"step %d\n" % rank for rank in range(3)}
    for path in ("rank_*/stderr.log", "rank_[0-2]/std*", "**/stderr.log"):
        asyncio.run(follow(f"{runs}/{path}", three))
    asyncio.run(follow(str(runs), three | {"rank_1/$(touch x).log": b"odd\n"}))
    assert not Path("x").exists()


def test_a_host_is_remembered_and_a_changed_key_is_an_error(tmp_path: Path) -> None:
    """An unknown host is added and told; afterwards only its key is accepted."""
    server = Server(tmp_path)
    log = tmp_path / "train.log"
    log.write_bytes(b"step 1\n")
    server.start()

    async def follow() -> Reader:
        async with Reader(source(server, log)) as reader:
            await reader.text("train.log", b"step 1\n")
        return reader

    try:
        assert any("was never seen" in event for event in asyncio.run(follow()).source.events)
        known = server.known_hosts.read_text()
        assert known.startswith(f"[127.0.0.1]:{server.port} ssh-ed25519 ")
        assert [] == asyncio.run(follow()).source.events
        assert known == server.known_hosts.read_text()
        server.kill()
        server.new_key("host_key")
        server.start()
        with pytest.raises(UnreachableError, match="not the one that is known"):
            asyncio.run(follow())
        assert known == server.known_hosts.read_text()
        server.known_hosts.unlink()
        server.new_key("user_key")
        with pytest.raises(UnreachableError, match="no key of yours is accepted"):
            asyncio.run(follow())
    finally:
        server.kill()


def test_keys_of_the_agent_are_used(
    server: Server, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real agent holds the key; no file of it is named."""
    if shutil.which("ssh-agent") is None:
        pytest.skip("no ssh-agent here: apt-get install openssh-client")
    words = [line for line in server.config.read_text().splitlines() if "Identit" not in line]
    server.config.write_text("\n".join([*words, "Host *", f" UserKnownHostsFile {tmp_path}/known"]))
    place = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(place)], stdout=subprocess.DEVNULL)
    monkeypatch.setenv("HOME", str(tmp_path))  # without keys of its own

    async def follow() -> None:
        async with Reader(source(server, log)) as reader:
            await reader.text("train.log", b"step 1\n")

    try:
        while not place.exists():
            assert agent.poll() is None
        with pytest.raises(UnreachableError, match="no key of yours is accepted"):
            asyncio.run(follow())
        monkeypatch.setenv("SSH_AUTH_SOCK", str(place))
        subprocess.run(["ssh-add", "-q", str(server.folder / "user_key")], check=True)
        asyncio.run(follow())
    finally:
        agent.kill()
        agent.wait()


def test_hosts_are_jumped_over(server: Server, log: Path) -> None:
    """The settings of the user name the way; each host on it is checked like the last."""
    server.configure("127.0.0.1", "Host inner\n ProxyJump jump-box\n HostName 127.0.0.1",
                     f" Port {server.port}")  # fmt: skip

    async def follow() -> None:
        target = Target.parse(f"inner:{log}")
        async with Reader(Remote(target, server.host("inner"))) as reader:
            await reader.text("train.log", b"step 1\n")
            assert len(reader.source.host._connections) == 2  # type: ignore[attr-defined]

    asyncio.run(follow())


def test_everything_shares_one_connection(server: Server, log: Path) -> None:
    """A question is asked while a log is followed; a host that is not there does not answer."""

    async def follow() -> None:
        remote = source(server, log)
        async with Reader(remote) as reader:
            await reader.text("train.log", b"step 1\n")
            assert await remote.host.run("echo hello; cat; exit 3") == b"hello\n"
            assert len(remote.host._connections) == 1
            many = await asyncio.gather(*(remote.host.run(f"echo {i}") for i in range(12)))
            assert [f"{i}\n".encode() for i in range(12)] == many  # though sessions are few
            add(log, b"step 2\n")
            await reader.text("train.log", b"step 1\nstep 2\n")
            assert [] == [event for event in remote.events if "unreachable" in event]
        host = server.host("gpu-box", port=1)
        with pytest.raises(UnreachableError, match="gpu-box"):
            await host.run("echo")

    asyncio.run(follow())


def test_an_answer_that_has_come_is_heard_by_who_was_busy_meanwhile(
    server: Server, tmp_path: Path
) -> None:
    """Patience is with the host: other work here that takes longer says nothing of it."""
    done, patience = tmp_path / "done", 0.3

    async def ask() -> None:
        host = server.host()
        shell = await host.shell()
        assert b"" == await shell.ask("true")
        asking = asyncio.create_task(shell.ask(f"echo hello; : > {done}", patience=patience))
        asyncio.get_running_loop().call_soon(hold_up)  # once it has asked
        try:
            assert b"hello\n" == await asking
            with pytest.raises(ConnectionError, match="no answer in time"):
                await shell.ask("sleep 60", patience=patience)
        finally:
            await host.close()

    def hold_up() -> None:
        until = time.monotonic() + 2 * patience
        while not done.exists() or time.monotonic() < until:
            pass

    asyncio.run(ask())


def test_a_path_that_is_not_there_is_an_error(server: Server, tmp_path: Path) -> None:
    """For a name; a folder and a glob may hold nothing yet."""

    async def follow(path: str) -> None:
        async with Reader(source(server, f"{tmp_path}/{path}")) as reader:
            await reader.until(lambda: reader.source.reach.note == "no logs there yet")

    with pytest.raises(InputError, match="no such file"):
        asyncio.run(follow("missing.log"))
    asyncio.run(follow("*.log"))
    asyncio.run(follow(""))


def test_a_scan_of_another_host_is_wrong_usage() -> None:
    """It is followed, not scanned."""
    with pytest.raises(UsageError, match="another host"):
        open_source(Target.parse("user@host:/logs/train.log"))


def test_signs_are_live_and_all_else_is_quoted() -> None:
    """Text of others can do nothing in a shell."""
    assert pattern("/runs/*/rank_[0-9]?.log") == "/runs/*/rank_[0-9]?.log"
    assert pattern("/my runs/$(x)*;[`y`]") == "'/my runs/$(x)'*';[`y`]'"
    assert [True, True, False, False] == [has_signs(p) for p in ("a*", "[ab]", "a", "[`]")]


def test_the_stream_of_a_single_file_has_the_rank_of_its_folder(server: Server, log: Path) -> None:
    """As on this machine."""
    path = log.parent / "rank_3/stderr.log"
    path.parent.mkdir()
    path.write_bytes(b"step 1\n")

    async def follow() -> None:
        async with Reader(source(server, path)) as reader:
            await reader.text("stderr.log", b"step 1\n")
        assert [Stream("stderr.log", 3)] == reader.source.streams()

    asyncio.run(follow())


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is looked for when a host is named, not before."""
    monkeypatch.setitem(sys.modules, "asyncssh", None)
    with pytest.raises(UsageError) as raised:
        open_following(Target.parse("user@host:/logs/train.log"))
    assert raised.value.hint == "pip install 'runwatch[ssh]'"
