"""Files and folders followed while they are written, on a real disk."""

import asyncio
import ctypes
import gzip
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runwatch.chunk import Chunk, Cursor, Stream
from runwatch.errors import InputError
from runwatch.ingest.follow import Files, open_following
from runwatch.ingest.follow_events import Events, disk_of, silent
from runwatch.ingest.follow_file import Tail
from runwatch.target import Target
from tests.ingest.following import Clock, Reader

Way = Callable[[], Events]


def _turns() -> Events:
    """Events as they are on a network disk: none."""
    events = Events()
    events.why, events.remote = "looking by turns", True
    return events


@pytest.fixture(params=[Events, _turns], ids=["events", "turns"])
def way(request: pytest.FixtureRequest) -> Way:
    made: Way = request.param
    return made


class Run:
    """A log of a test, its clock, and what follows it."""

    def __init__(self, folder: Path, way: Way) -> None:
        self.path = folder / "train.log"
        self.path.write_bytes(b"step 1\n")
        self.clock, self.way = Clock(), way

    def source(self, target: Path | str | None = None) -> Files:
        """What follows the log, or another target."""
        named = Target.parse(str(target or self.path))
        return Files(named, clock=self.clock, events=self.way)

    def add(self, text: bytes, path: Path | None = None) -> None:
        """Append to the log, or to another file."""
        with (path or self.path).open("ab") as file:
            file.write(text)


@pytest.fixture
def run(tmp_path: Path, way: Way) -> Run:
    return Run(tmp_path, way)


def test_bytes_come_as_they_are_written_torn_lines_and_all(run: Run) -> None:
    """What is there comes first, then what is added, cut wherever the writer flushed."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            run.add(b"step 2 lo")
            await reader.text("train.log", b"step 1\nstep 2 lo")
            run.add(b"ss 2.0\n")
            await reader.text("train.log", b"step 1\nstep 2 loss 2.0\n")
        assert reader.source.reach.ok

    asyncio.run(follow())


def test_it_goes_on_where_it_stopped(run: Run) -> None:
    """Nothing is lost or doubled between two followings, whatever byte the first ended at."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
        run.add(b"step 2\n")
        async with Reader(run.source(), reader.cursors) as second:
            await second.text("train.log", b"step 2\n")
        cursor = Cursor(second.cursors["train.log"].identity, 3)
        async with Reader(run.source(), {"train.log": cursor}) as third:
            await third.text("train.log", b"p 1\nstep 2\n")

    asyncio.run(follow())


def test_a_rotated_file_is_read_to_its_end_before_the_new_one(run: Run) -> None:
    """Its writer may hold the renamed file for a while; the new one waits for the grace period."""

    async def follow() -> None:
        with run.path.open("ab", 0) as writer:
            async with Reader(run.source()) as reader:
                await reader.text("train.log", b"step 1\n")
                run.path.rename(run.path.with_name("train.log.1"))
                writer.write(b"step 2\n")
                await reader.text("train.log", b"step 1\nstep 2\n")
                run.path.write_bytes(b"step 4\n")
                await reader.told("was replaced")
                writer.write(b"step 3\n")
                await reader.text("train.log", b"step 1\nstep 2\nstep 3\n")
                run.clock.now += 2.1
                await reader.text("train.log", b"step 1\nstep 2\nstep 3\nstep 4\n")
        assert reader.texts == {"train.log": b"step 4\n"}

    asyncio.run(follow())


def test_a_log_whose_own_file_is_gone_goes_on_with_what_was_written_since(run: Run) -> None:
    """Rotated away and deleted, be it looked at or not: the copies written since come in their
    order, those from before do not come again."""
    log, long_ago = run.path, 1_000_000_000
    older, two, one = (log.with_name(f"train.log.{n}") for n in (3, 2, 1))
    older.write_bytes(b"step 0\n")
    for path in (older, log):
        os.utime(path, (long_ago, long_ago))

    def rotate(first: int) -> None:
        log.unlink()
        for step, path in enumerate((two, one, log), first):
            path.write_bytes(b"step %d\n" % step)

    async def watched() -> Reader:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            rotate(2)
            await all_of(reader, b"step 1\nstep 2\nstep 3\nstep 4\n")
        return reader

    async def away(before: Reader) -> None:
        cursor = replace(before.cursors["train.log"], at=time.time() - 100)
        for path in (two, one):
            path.unlink()
        rotate(5)
        async with Reader(run.source(), {"train.log": cursor}) as reader:
            await reader.told("reading train.log.2, written since")
            await all_of(reader, b"step 5\nstep 6\nstep 7\n")

    async def all_of(reader: Reader, text: bytes) -> None:
        for _ in range(100):
            run.clock.now += 3
            await reader.turns(1)
            if len(reader.whole("train.log")) >= len(text):
                break
        assert text == reader.whole("train.log")

    asyncio.run(away(asyncio.run(watched())))


def test_a_file_that_was_only_renamed_is_read_on(run: Run) -> None:
    """Renamed while still written, with no new file: the bytes still belong to the stream."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            other = run.path.rename(run.path.with_name("old"))
            await reader.told("is gone")
            run.clock.now += 100
            run.add(b"step 2\n", other)
            await reader.text("train.log", b"step 1\nstep 2\n")
            other.rename(run.path)
            run.add(b"step 3\n")
            await reader.text("train.log", b"step 1\nstep 2\nstep 3\n")
            assert reader.lives == {}

    asyncio.run(follow())


def test_rotations_between_two_looks_lose_nothing(run: Run) -> None:
    """What was rotated twice before anybody looked is read in the order of writing."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
        run.add(b"step 2\n")
        run.path.rename(run.path.with_name("train.log.2"))
        run.path.with_name("train.log.1").write_bytes(b"step 3\n")
        run.path.write_bytes(b"step 4\n")
        async with Reader(run.source(), reader.cursors) as second:
            await second.text("train.log", b"step 2\nstep 3\n")
            run.clock.now += 3
            await second.text("train.log", b"step 2\nstep 3\nstep 4\n")
        third_log = b"step 5\n"
        run.add(third_log)
        async with Reader(run.source(), second.cursors) as third:
            await third.text("train.log", third_log)

    asyncio.run(follow())


def test_a_truncated_file_is_read_from_its_start(run: Run) -> None:
    """A length below the offset starts over at 0, told by an empty chunk there."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            run.path.write_bytes(b"one\n")
            await reader.text("train.log", b"step 1\none\n")
        assert reader.texts == {"train.log": b"one\n"}
        assert any("was truncated" in event for event in reader.source.events)
        assert (0, b"") in [(chunk.offset, chunk.data) for chunk in reader.chunks[1:]]

    asyncio.run(follow())


def test_a_file_truncated_and_grown_past_the_offset_is_told_by_its_head(run: Run) -> None:
    """Longer than before, the same inode, another beginning: all of it is new."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            run.path.write_bytes(b"STEP 1 is longer than it was\n")
            await reader.text("train.log", b"step 1\nSTEP 1 is longer than it was\n")

    asyncio.run(follow())


def test_a_file_that_was_rewritten_to_the_same_length_is_new(run: Run) -> None:
    """The time of the file tells that the head has to be compared."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            run.path.write_bytes(b"step 2\n")
            os.utime(run.path, (2_000_000_000, 2_000_000_000))
            await reader.text("train.log", b"step 1\nstep 2\n")

    asyncio.run(follow())


def test_copytruncate_loses_nothing_that_the_copy_still_has(run: Run) -> None:
    """The unread end is read from the copy, the file then from 0, the copy never again."""

    async def follow() -> None:
        run.path.write_bytes(b"step 1 of a run\n")
        async with Reader(run.source(run.path.parent)) as reader:
            await reader.text("train.log", b"step 1 of a run\n")
        run.add(b"step 2\n")
        run.path.with_name("train.log.1").write_bytes(run.path.read_bytes())
        run.path.write_bytes(b"")
        run.add(b"step 3\n")
        async with Reader(run.source(run.path.parent), reader.cursors) as second:
            await second.text("train.log", b"step 2\nstep 3\n")
            await second.turns()
        assert ["train.log"] == [stream.name for stream in second.source.streams()]

    asyncio.run(follow())


def test_the_nuls_that_copytruncate_leaves_are_skipped(run: Run) -> None:
    """A writer that goes on at its old place leaves a hole; the text behind it is read."""

    async def follow() -> None:
        with run.path.open("r+b", 0) as writer:
            async with Reader(run.source()) as reader:
                await reader.text("train.log", b"step 1\n")
                writer.seek(50_000_000)
                writer.truncate(0)
                writer.write(b"step 2\n")
                await reader.text("train.log", b"step 1\nstep 2\n")
                writer.write(b"step 3\n")
                await reader.text("train.log", b"step 1\nstep 2\nstep 3\n")
        assert any("50000000 NUL bytes" in event for event in reader.source.events)

    asyncio.run(follow())


def test_nuls_that_fill_their_disk_are_skipped_in_bounded_memory(run: Run) -> None:
    """Written NULs are no hole; they are read over, a chunk at a time."""

    async def follow() -> None:
        run.path.write_bytes(bytes(70 << 20) + b"step 1\n")
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
        assert max(len(chunk.data) for chunk in reader.chunks) == 7

    asyncio.run(follow())


def test_a_deleted_and_recreated_file_is_read_from_its_start(run: Run) -> None:
    """Also where the disk gives the new file the inode of the old one."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            run.path.unlink()
            await reader.told("is gone")
            assert reader.source.reach.ok
            run.clock.now += 3
            await reader.turns()
            run.path.write_bytes(b"step 2\n")
            await reader.text("train.log", b"step 1\nstep 2\n")
            run.add(b"step 3\n")
            await reader.text("train.log", b"step 1\nstep 2\nstep 3\n")

    asyncio.run(follow())


def test_an_inode_that_is_used_again_is_another_file(run: Run, tmp_path: Path) -> None:
    """Device and inode are the same, the head is not: the cursor says nothing about it."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
        status = run.path.stat()
        cursor = reader.cursors["train.log"]
        run.path.write_bytes(b"STEP 1\nSTEP 2\n")
        assert cursor.identity.startswith(f"{status.st_dev:x}.{run.path.stat().st_ino:x}.")
        async with Reader(run.source(), {"train.log": cursor}) as second:
            await second.until(lambda: second.whole("train.log") != b"")
        assert second.texts == {"train.log": b"STEP 1\nSTEP 2\n"}
        assert any("another file" in event for event in second.source.events)

    asyncio.run(follow())


def test_a_link_is_followed_by_its_name(run: Run) -> None:
    """A link that flips leads to another file, and back to where the first one was left."""

    async def follow() -> None:
        folder = run.path.parent
        (folder / "runs").mkdir()
        one, two = folder / "runs/one", folder / "runs/two"
        one.write_bytes(b"one 1\n")
        two.write_bytes(b"two 1\n")
        link = folder / "current.log"
        link.symlink_to(one)
        async with Reader(run.source(link)) as reader:
            await reader.text("current.log", b"one 1\n")
            run.add(b"one 2\n", one)
            await reader.text("current.log", b"one 1\none 2\n")
            _flip(link, two)
            await reader.told("was replaced")
            run.clock.now += 3
            await reader.text("current.log", b"one 1\none 2\ntwo 1\n")
            run.add(b"two 2\n", two)
            await reader.text("current.log", b"one 1\none 2\ntwo 1\ntwo 2\n")
            run.add(b"one 3\n", one)
            _flip(link, one)
            await reader.until(lambda: len(reader.source.events) == 2)
            run.clock.now += 3
            await reader.text("current.log", b"one 1\none 2\ntwo 1\ntwo 2\none 3\n")

    asyncio.run(follow())


def _flip(link: Path, where: Path) -> None:
    fresh = link.with_name("fresh")
    fresh.symlink_to(where)
    fresh.rename(link)


def test_rank_files_that_appear_later_join(run: Run) -> None:
    """Also in folders that are new, with the ranks that their names tell; others are no logs."""

    async def follow() -> None:
        folder = run.path.parent
        async with Reader(run.source(folder)) as reader:
            await reader.text("train.log", b"step 1\n")
            (folder / "rank_3").mkdir()
            (folder / "rank_3/stderr.log").write_bytes(b"step 1 of 3\n")
            (folder / "weights.pt").write_bytes(b"PK\x03\x04")
            (folder / "notes").write_bytes(os.urandom(4096))
            await reader.text("rank_3/stderr.log", b"step 1 of 3\n")
            run.add(b"step 2\n", folder / "rank_3/stderr.log")
            await reader.text("rank_3/stderr.log", b"step 1 of 3\nstep 2\n")
        assert [Stream("train.log"), Stream("rank_3/stderr.log", 3)] == reader.source.streams()

    asyncio.run(follow())


def test_a_folder_and_a_glob_may_hold_nothing_yet(tmp_path: Path, way: Way) -> None:
    """They are waited for, and that is said; a named file that is missing is an error."""
    clock = Clock()

    async def follow(text: str) -> None:
        source = Files(Target.parse(text), clock=clock, events=way)
        async with Reader(source) as reader:
            await reader.until(lambda: source.reach.note == "no logs there yet")
            (tmp_path / "rank_0.log").write_bytes(b"step 1\n")
            await reader.until(lambda: b"step 1\n" in reader.texts.values())
        assert [Stream("rank_0.log", 0)] == source.streams()
        (tmp_path / "rank_0.log").unlink()

    for text in (str(tmp_path), f"{tmp_path}/rank_*.log"):
        asyncio.run(follow(text))
    for text in ("missing.log", "missing/"):
        with pytest.raises(InputError):
            open_following(Target.parse(str(tmp_path / text)))


def test_a_rotation_within_a_folder_gives_no_new_stream(run: Run) -> None:
    """The rotated copy is the same file; what it had is not read again."""

    async def follow() -> None:
        folder = run.path.parent
        async with Reader(run.source(folder)) as reader:
            await reader.text("train.log", b"step 1\n")
            run.path.rename(folder / "train.log.1")
            run.path.write_bytes(b"step 2\n")
            await reader.told("was replaced")
            run.clock.now += 3
            await reader.text("train.log", b"step 1\nstep 2\n")
            (folder / "train.log.1").rename(folder / "train.log.2")
            run.path.rename(folder / "train.log.1")
            run.path.write_bytes(b"step 3\n")
            await reader.until(lambda: len(reader.source.events) == 2)
            run.clock.now += 3
            await reader.text("train.log", b"step 1\nstep 2\nstep 3\n")
            await reader.turns()
        assert {"train.log"} == set(reader.texts)
        async with Reader(run.source(folder), reader.cursors) as second:
            await second.turns()
        assert second.whole("train.log") == b""
        assert {"train.log"} == set(second.texts)

    asyncio.run(follow())


def test_old_copies_are_streams_of_their_own_at_the_first_start(run: Run) -> None:
    """As a scan has them; a shift of their names later reads nothing twice."""

    async def follow() -> None:
        folder = run.path.parent
        (folder / "train.log.1").write_bytes(b"step 0\n")
        async with Reader(run.source(folder)) as reader:
            await reader.text("train.log", b"step 1\n")
            (folder / "train.log.1").rename(folder / "train.log.2")
            run.path.rename(folder / "train.log.1")
            run.path.write_bytes(b"step 2\n")
            await reader.told("train.log was replaced")
            run.clock.now += 3
            await reader.text("train.log", b"step 1\nstep 2\n")
            run.clock.now += 3
            await reader.turns(4)
        assert b"step 0\n" == reader.whole("train.log.1")
        assert {"train.log", "train.log.1"} == set(reader.texts)

    asyncio.run(follow())


def test_a_compressed_file_is_read_once_to_its_end(run: Run) -> None:
    """It is told that it is not followed, and its stream ends."""

    async def follow() -> None:
        folder = run.path.parent
        (folder / "old.log.gz").write_bytes(gzip.compress(b"step 0\n"))
        async with Reader(run.source(folder)) as reader:
            await reader.text("old.log.gz", b"step 0\n")
            await reader.until(lambda: any(chunk.last for chunk in reader.chunks))
            run.add(b"step 2\n")
            await reader.text("train.log", b"step 1\nstep 2\n")

    asyncio.run(follow())


def test_quiet_files_hold_no_descriptors(run: Run) -> None:
    """However many there are, a few are open; each is read on all the same."""

    async def follow() -> None:
        folder = run.path.parent
        paths = [folder / f"rank_{rank}.log" for rank in range(50)]
        for path in paths:
            path.write_bytes(b"step 1\n")
        source = Files(Target.parse(str(folder)), clock=run.clock, events=run.way, limit=8)
        before = _descriptors()
        async with Reader(source) as reader:
            await reader.until(lambda: len(reader.texts) == 51)
            assert _descriptors() <= before + 8 + 6  # those, and what the events need
            for path in paths:
                run.add(b"step 2\n", path)
            await reader.until(
                lambda: all(reader.whole(path.name) == b"step 1\nstep 2\n" for path in paths)
            )
            paths[7].rename(folder / "moved")
            run.add(b"step 3\n", folder / "moved")
            paths[7].write_bytes(b"step 4\n")
            await reader.told("was replaced")
            run.clock.now += 3
            await reader.text("rank_7.log", b"step 1\nstep 2\nstep 3\nstep 4\n")

    asyncio.run(follow())


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_where_the_system_gives_no_more_watches_files_are_looked_at(run: Run) -> None:
    """The real limit is used up; the note says so, and the log is read all the same."""
    if run.way is not Events:
        pytest.skip("it is about events")
    libc = ctypes.CDLL(None)
    taken = []
    while (descriptor := libc.inotify_init()) >= 0:
        taken.append(descriptor)

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            run.add(b"step 2\n")
            await reader.text("train.log", b"step 1\nstep 2\n")
            assert "the system gives no more watches" in reader.source.reach.note

    try:
        asyncio.run(follow())
    finally:
        for descriptor in taken:
            os.close(descriptor)


def test_a_network_disk_is_known_by_its_mount(tmp_path: Path) -> None:
    """The longest mount point wins, blanks in it too; NFS, shared and FUSE disks are silent."""
    table = tmp_path / "mountinfo"
    point = str(tmp_path / "my runs").replace(" ", "\\040")
    table.write_text(
        "21 1 8:1 / / rw - ext4 /dev/sda rw\n"
        f"22 21 0:5 / {point} rw,relatime shared:1 - nfs4 server:/runs rw\n"
        f"23 22 0:6 / {point}/fast rw - fuse.sshfs host: rw\n"
    )
    found = [
        disk_of(f"{tmp_path}/{name}", str(table))
        for name in ("my runs/a/b", "my runs/fast/x", "my runs2", "")
    ]
    assert ["nfs4", "fuse.sshfs", "ext4", "ext4"] == found
    assert [True, True, False] == [silent(disk) for disk in ("nfs4", "fuse.sshfs", "ext4")]

    async def follow() -> None:
        (tmp_path / "my runs").mkdir()
        (tmp_path / "my runs/train.log").write_bytes(b"step 1\n")
        target = Target.parse(str(tmp_path / "my runs/train.log"))
        async with Reader(Files(target, events=lambda: Events(mounts=str(table)))) as reader:
            await reader.text("train.log", b"step 1\n")
            await reader.turns()
            assert reader.source.reach.note == "looking by turns: a nfs4 disk tells no changes"

    asyncio.run(follow())


def test_an_empty_chunk_stands_where_its_stream_stands(run: Run) -> None:
    """Time passes, and nothing starts over by it."""

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            await reader.turns(3)
        empty = [chunk for chunk in reader.chunks if not chunk.data]
        assert {7} == {chunk.offset for chunk in empty}
        assert {reader.chunks[0].identity} == {chunk.identity for chunk in empty}

    asyncio.run(follow())


def test_without_watchfiles_files_are_looked_at_by_turns(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a part that not everybody needs; the note says how to get it."""
    if run.way is not Events:
        pytest.skip("it is about events")
    for name in ("watchfiles", "watchfiles._rust_notify"):
        monkeypatch.setitem(sys.modules, name, None)

    async def follow() -> None:
        async with Reader(run.source()) as reader:
            await reader.text("train.log", b"step 1\n")
            run.add(b"step 2\n")
            await reader.text("train.log", b"step 1\nstep 2\n")
            assert "pip install 'runwatch[watch]'" in reader.source.reach.note

    asyncio.run(follow())


def test_a_disk_that_hangs_is_told_and_hangs_nothing_else(run: Run) -> None:
    """A network disk may answer after minutes: until then its state is unknown, not bad."""
    if run.way is Events:
        pytest.skip("it is about network disks")
    hanging = threading.Event()

    async def follow() -> None:
        source = run.source()
        look = source._look

        def slow(tails: list[Tail]) -> list[Chunk]:
            run.clock.now += 11
            hanging.wait()
            return look(tails)

        source._look = slow  # type: ignore[method-assign]
        async with Reader(source) as reader:
            await reader.until(lambda: not source.reach.ok)
            assert source.reach.note.endswith("state unknown")
            await reader.turns()
            hanging.set()
            await reader.text("train.log", b"step 1\n")
            await reader.until(lambda: source.reach.ok)

    asyncio.run(follow())
