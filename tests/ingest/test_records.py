"""Files of records beside the logs: TensorBoard, W&B, Hugging Face's trainer."""

import asyncio
import json
import math
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runwatch.chunk import Cursor, Stream
from runwatch.errors import InputError
from runwatch.ingest import Skipped, open_source
from runwatch.ingest.file import Files, LogFile, format_at
from runwatch.ingest.follow import open_following
from runwatch.ingest.follow_records import Translated
from runwatch.ingest.following import Following
from runwatch.ingest.identity import cksum
from runwatch.ingest.records import format_of
from runwatch.ingest.ssh_follow import Remote
from runwatch.ingest.tfrecord import is_framed, masked_crc
from runwatch.ingest.wire import fields
from runwatch.target import Kind, Target
from tests.ingest import recorded
from tests.ingest.following import Reader
from tests.ingest.logs import cursors_after, read
from tests.ingest.server import Server

Follows = Callable[[Path], Following]
SCALARS = [
    (tag, math.nan if step == 70 and tag == "train/loss" else value + step / 4, step)
    for step in range(80)
    for tag, value in (("train/loss", 2.5), ("lr", 0.5))
]


@pytest.fixture(scope="session")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the wandb client that never saw a network."""
    pytest.importorskip("wandb")
    return recorded.wandb_run(tmp_path_factory.mktemp("offline"))


@pytest.fixture(params=["tensorboard", "trainer_state", "wandb_file"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of each format; its name says nothing."""
    path = tmp_path / "record"
    if request.param == "tensorboard":
        shutil.move(recorded.events(tmp_path / "tb", SCALARS), path)
    elif request.param == "trainer_state":
        recorded.state(path, 300)
    else:
        (kept,) = request.getfixturevalue("offline").glob("*.wandb")
        shutil.copy(kept, path)
    assert request.param == format_at(str(path))
    return path


@pytest.fixture(params=["here", "ssh"])
def follows(request: pytest.FixtureRequest) -> Follows:
    """What follows a path, on this machine or over SSH on another host."""
    if request.param == "here":
        return lambda path: open_following(Target.parse(str(path)))
    pytest.importorskip("asyncssh")
    server: Server = request.getfixturevalue("server")

    def there(path: Path) -> Following:
        target = Target(Kind.SSH, f"gpu-box:{path}", str(path), "gpu-box")
        return Translated(Remote(target, server.host()))

    return there


def source_of(path: Path, size: int = 1 << 22) -> Files:
    stream = Stream("record", None, format_at(str(path)))
    return Files([LogFile(stream, str(path))], chunk_size=size)


def rows(text: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.decode().splitlines()]


def test_the_text_does_not_depend_on_where_the_bytes_are_cut(stored: Path) -> None:
    """Law: any chunk size gives the same lines, each an object or nothing."""
    whole = read(source_of(stored))["record"]
    assert whole.endswith(b"\n")
    assert len(rows(whole)) > 20
    for size in (1, 7, 1000):
        assert whole == read(source_of(stored, size))["record"]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_stopping_and_going_on_loses_and_doubles_nothing(stored: Path, count: int) -> None:
    """Law: two readings with a cursor between them equal one."""
    whole = read(source_of(stored))["record"]
    before, cursors = cursors_after(source_of(stored, 600), count)
    assert whole == before["record"] + read(source_of(stored), cursors)["record"]


def test_any_cut_can_be_gone_on_from_and_another_file_starts_over(stored: Path) -> None:
    """A cursor may stand at any byte of the text; an identity that is not known means 0."""
    whole = read(source_of(stored))["record"]
    identity = next(source_of(stored).chunks({})).identity
    for cut in (0, 1, 700, len(whole)):
        assert whole[cut:] == read(source_of(stored), {"record": Cursor(identity, cut)})["record"]
    for cursor in (Cursor("1.2.3.4", 5), Cursor("text.4.0", 5), Cursor(identity, 10**7)):
        assert whole == read(source_of(stored), {"record": cursor})["record"]


def test_what_is_cut_off_is_told_and_the_rest_is_read(stored: Path) -> None:
    """A file that is being written gives all that is whole."""
    whole = read(source_of(stored))["record"]
    data = stored.read_bytes()
    stored.write_bytes(data[: len(data) * 2 // 3])
    if format_at(str(stored)) == "trainer_state":
        with pytest.raises(InputError, match="no complete document"):
            read(source_of(stored))
        return
    source = source_of(stored)
    text = read(source)["record"]
    assert whole.startswith(text)
    assert len(whole) // 2 < len(text) < len(whole)
    (skipped,) = source.skipped
    assert Skipped("record", skipped.reason, len(text)) == skipped
    assert "not complete" in skipped.reason


def test_a_followed_file_gives_what_it_gives_at_rest(
    stored: Path, tmp_path: Path, follows: Follows
) -> None:
    """It grows byte by byte, torn records wait, and a second reader goes on where one stopped."""
    whole, data = read(source_of(stored))["record"], stored.read_bytes()
    live = tmp_path / "live"
    half = len(data) if format_at(str(stored)) == "trainer_state" else len(data) // 2
    live.write_bytes(data[:half])

    async def follow() -> bytes:
        async with Reader(follows(live)) as reader:
            if half < len(data):
                await reader.until(lambda: len(reader.whole("live")) > len(whole) // 4)
                with live.open("ab", 0) as out:
                    for at in range(half, half + 300):
                        out.write(data[at : at + 1])
            await reader.turns(1)
            before, cursors = reader.whole("live"), reader.cursors
        with live.open("ab") as out:
            out.write(data[half + 300 :])
        async with Reader(follows(live), cursors) as reader:
            await reader.until(lambda: len(before + reader.whole("live")) >= len(whole))
            await reader.turns(1)
            return before + reader.whole("live")

    assert whole == asyncio.run(follow())


@pytest.mark.parametrize("size", [0, 1, 7, 4096])
def test_the_head_of_a_file_elsewhere_is_told_by_its_cksum(size: int) -> None:
    """The same sum as the program of every POSIX system."""
    data = bytes(range(256)) * 16
    told = subprocess.run(["cksum"], input=data[:size], capture_output=True, check=True).stdout
    assert [cksum(data[:size]), size] == [int(word) for word in told.split()]


def test_a_scan_and_a_watch_share_their_place(stored: Path) -> None:
    """The cursor of a reader at rest is one for a follower."""
    before, cursors = cursors_after(source_of(stored, 600), 2)
    whole = read(source_of(stored))["record"]

    async def follow() -> bytes:
        name = Target.parse(str(stored))
        async with Reader(open_following(name), cursors) as reader:
            await reader.until(lambda: len(before["record"] + reader.whole("record")) >= len(whole))
            await reader.turns(1)
            return reader.whole("record")

    assert whole == before["record"] + asyncio.run(follow())


# TensorBoard


def test_scalars_of_events_are_lines_and_nothing_else_is(tmp_path: Path) -> None:
    """Histograms and texts are passed over; float32 is told to the last bit, nan stays nan."""
    values = [("a", 0.1, 0), ("a", math.nan, 1), ("b", -2.5, 1), ("a", math.inf, 2)]
    path = recorded.events(tmp_path, values)
    assert [
        '{"timestamp":1717236000.0,"step":0,"a":0.10000000149011612}',
        '{"timestamp":1717236001.0,"step":1,"a":NaN}',
        '{"timestamp":1717236002.0,"step":1,"b":-2.5}',
        '{"timestamp":1717236003.0,"step":2,"a":Infinity}',
    ] == read(source_of(path))["record"].decode().splitlines()


def test_tensors_without_dimensions_are_scalars_too(tmp_path: Path) -> None:
    """As TensorFlow 2 writes them: float32 as content, the plugin named beside it."""

    def field(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    tensor = b"\x08\x01" + field(2, b"") + field(4, struct.pack("<f", 1.5))
    vector = b"\x08\x01" + field(2, field(2, b"\x08\x02")) + field(4, struct.pack("<2f", 1, 2))
    summary = b"".join(
        field(1, field(1, tag) + field(8, value) + field(9, field(1, field(1, plugin))))
        for tag, value, plugin in (
            (b"loss", tensor, b"scalars"), (b"v", vector, b"scalars"), (b"h", tensor, b"hparams"),
        )
    )  # fmt: skip
    version = b"\x09" + struct.pack("<d", 1.0) + field(3, b"brain.Event:2")
    event = b"\x09" + struct.pack("<d", 2.0) + b"\x10\x07" + field(5, summary)
    path = tmp_path / "events"
    path.write_bytes(recorded.framed(version) + recorded.framed(event))
    assert [{"timestamp": 2.0, "step": 7, "loss": 1.5}] == rows(read(source_of(path))["record"])


def test_damaged_events_are_counted_and_the_others_read(tmp_path: Path) -> None:
    """A wrong checksum costs its event; a damaged length costs what follows, and both are told."""
    path = recorded.events(tmp_path, [("train/loss", float(step), step) for step in range(9)])
    whole = read(source_of(path))["record"].splitlines(keepends=True)
    data = bytearray(path.read_bytes())
    _, second, at = (match.start() for match in list(re.finditer(b"train/loss", data))[:3])
    data[at] ^= 1
    path.write_bytes(data)
    source = source_of(path)
    assert b"".join(whole[:2] + whole[3:]) == read(source)["record"]
    assert ["1 damaged events left out"] == [skip.reason for skip in source.skipped]
    length = next(i for i in range(second, 0, -1) if is_framed(bytes(data[i : i + 12])))
    data[length] ^= 1
    path.write_bytes(data)
    source = source_of(path)
    assert whole[0] == read(source)["record"]
    assert "the length of the record at byte" in source.skipped[0].reason


def test_a_smaller_count_is_told_at_the_step_of_the_run(tmp_path: Path) -> None:
    """Epochs beside updates in one file do not send the run back."""
    path = recorded.events(tmp_path, [("loss", 1.0, 500), ("acc", 0.5, 1), ("loss", 0.9, 1000)])
    assert [500, 500, 1000] == [row["step"] for row in rows(read(source_of(path))["record"])]


def test_the_checksum_is_crc32c_masked() -> None:
    """The check value of Castagnoli's polynomial is 0xE3069283 for "123456789"."""
    crc = 0xE3069283
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert masked == masked_crc(b"123456789")


@pytest.mark.parametrize("data", [b"\x08", b"\x0a\x05ab", b"\x0b\x00", b"\xff" * 11, b"\x09\0\0"])
def test_bytes_that_are_no_message_are_an_error(data: bytes) -> None:
    """Never an endless loop, never a wrong number."""
    with pytest.raises(ValueError, match=r"cut off|unknown type"):
        list(fields(data))


@pytest.mark.parametrize(
    "head", [b"", b"step 1\n", b"{}", b'{"loss": 1}\n', b"\0" * 64, b":W&B\0\0\0", bytes(range(64))]
)
def test_other_files_are_no_records(head: bytes) -> None:
    """A format is told by what it must begin with."""
    assert "" == format_of(head)


# Tables


def csv(columns: int, first: int, last: int) -> str:
    """Rows as Lightning writes them: cells of metrics that were not logged are empty."""
    return "".join(f"0,{step},{step / 8}" + "," * columns + "\n" for step in range(first, last))


def followed_table(follows: Follows, path: Path, *texts: tuple[str, int]) -> tuple[bytes, int]:
    """What a table gives that is written anew as these texts one after the other, each until so
    many lines came; and how often it started over."""

    async def follow() -> tuple[bytes, int]:
        path.write_text(texts[0][0])
        async with Reader(follows(path)) as reader:
            for text, count in texts:
                if path.read_text() != text:
                    path.write_text(text)
                await reader.until(lambda: reader.whole(path.name).count(b"\n") >= count)  # noqa: B023
            with path.open("a") as out:
                out.write("last,row\n")
            await reader.until(lambda: reader.whole(path.name).endswith(b"last,row\n"))
            return reader.whole(path.name), len(reader.lives.get(path.name, []))

    return asyncio.run(follow())


def test_a_table_that_gets_a_column_goes_on(tmp_path: Path, follows: Follows) -> None:
    """Written anew with all its rows, it gives the new heading and the new rows only."""
    one, two = "epoch,step,loss\n" + csv(0, 0, 40), "epoch,step,loss,acc\n" + csv(1, 0, 40)
    more = "0,40,,0.5\n0,41,5.1,\n"
    text, lives = followed_table(follows, tmp_path / "metrics.csv", (one, 41), (two + more, 44))
    assert (0, one + "epoch,step,loss,acc\n" + more + "last,row\n") == (lives, text.decode())


def test_another_table_under_the_same_name_starts_over(tmp_path: Path, follows: Follows) -> None:
    """Its first or last row is another: nothing of it is taken for known."""
    one = "epoch,step,loss\n" + csv(0, 0, 40)
    for other in (one.replace("0,0,0.0", "0,0,9.0"), one.replace("0,39,4.875", "0,39,9.0")):
        other = other.replace("loss", "loss,acc")
        text, lives = followed_table(follows, tmp_path / "metrics.csv", (one, 41), (other, 82))
        assert (1, one + other + "last,row\n") == (lives, text.decode())


# W&B's own file


def test_the_file_of_an_offline_run_has_its_history(offline: Path) -> None:
    """Each step is a row, nested names are joined, and its end is the run's."""
    (path,) = offline.glob("*.wandb")
    told = rows(read(source_of(path))["record"])
    assert {"message": "Training finished"} == told[-1]
    assert list(range(120)) == [row["step"] for row in told[:-1]]
    assert [row["deep.er"] for row in told[:3]] == [0, 1, 2]
    assert math.isnan(told[90]["train/loss"])  # type: ignore[arg-type]


def test_damaged_records_of_the_file_are_counted(offline: Path, tmp_path: Path) -> None:
    """A wrong checksum costs one record."""
    (path,) = offline.glob("*.wandb")
    data = bytearray(path.read_bytes())
    # The loss of one step, in its history and in its summary; not a time that it may have taken.
    places = [match.end() - 1 for match in re.finditer(rb"loss\W{1,4}1\.85", data)]
    for place in places:
        data[place] ^= 1
    broken = tmp_path / "broken.wandb"
    broken.write_bytes(data)
    source = source_of(broken)
    whole = read(source_of(path))["record"].count(b"\n")
    assert whole - 1 == read(source)["record"].count(b"\n")
    assert [f"{len(places)} damaged records left out"] == [skip.reason for skip in source.skipped]


# Hugging Face's trainer


def test_a_folder_of_checkpoints_has_one_history(tmp_path: Path) -> None:
    """Each checkpoint has the history up to it; the latest counts, the others are told."""
    for step in (100, 200, 90):
        recorded.state(tmp_path / f"checkpoint-{step}" / "trainer_state.json", step)
    source = open_source(Target.parse(str(tmp_path)))
    assert [Stream("trainer_state.json", None, "trainer_state")] == source.streams()
    assert 20 == len(rows(read(source)["trainer_state.json"]))
    assert {
        "checkpoint-90/trainer_state.json": "an earlier state of the run than "
        "checkpoint-100/trainer_state.json",
        "checkpoint-100/trainer_state.json": "an earlier state of the run than "
        "checkpoint-200/trainer_state.json",
    } == {skip.name: skip.reason for skip in source.skipped}


def test_a_new_checkpoint_goes_on_the_history(tmp_path: Path, follows: Follows) -> None:
    """Followed, only what the next state has more is told; one of another run starts over."""
    recorded.state(tmp_path / "checkpoint-100" / "trainer_state.json", 100)

    async def follow() -> list[int]:
        counts = []
        async with Reader(follows(tmp_path)) as reader:
            name = "trainer_state.json"
            await reader.until(lambda: reader.whole(name).count(b"\n") == 10)
            recorded.state(tmp_path / "checkpoint-200" / name, 200)
            await reader.until(lambda: reader.whole(name).count(b"\n") == 20)
            counts.append(len(reader.lives.get(name, [])))
            recorded.state(tmp_path / "checkpoint-250" / name, 250, max_steps=500)
            await reader.until(lambda: reader.texts[name].count(b"\n") == 25)
            counts.append(len(reader.lives[name]))
        return counts

    assert [0, 1] == asyncio.run(follow())
