"""One named file, whatever is in it."""

import gzip
import os
import random
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runwatch.chunk import Cursor, Stream
from runwatch.errors import InputError
from runwatch.ingest import Skipped, Source, open_source
from runwatch.target import Target
from tests.ingest.logs import COMPRESSED, STORED, log, read


def source_of(path: Path) -> Source:
    return open_source(Target.parse(str(path)))


@pytest.mark.parametrize("name", STORED)
def test_a_file_is_read_by_what_it_is_not_by_its_name(name: str, tmp_path: Path) -> None:
    """Compression is told by the first bytes; the ending says nothing."""
    path = tmp_path / "stderr.png"
    path.write_bytes(STORED[name](log(300)))
    assert {"stderr.png": log(300)} == read(source_of(path))


def test_the_rank_is_told_by_the_folders_of_a_file_too(tmp_path: Path) -> None:
    """`rank_3/stderr.log` named alone is still of rank 3."""
    (tmp_path / "rank_3").mkdir()
    (tmp_path / "rank_3/stderr.log").touch()
    assert [Stream("stderr.log", 3)] == source_of(tmp_path / "rank_3/stderr.log").streams()


def test_an_empty_file_is_a_stream_without_lines(tmp_path: Path) -> None:
    """Tiny and empty files are never skipped."""
    (tmp_path / "train.log").touch()
    assert read(source_of(tmp_path / "train.log")) == {"train.log": b""}


def test_a_grown_file_is_read_on_and_a_new_one_from_its_start(tmp_path: Path) -> None:
    """The same file is recognised after it grew, even within its head; a changed one is not."""
    path = tmp_path / "train.log"
    path.write_bytes(b"step 1\n")
    (chunk,) = source_of(path).chunks({})
    cursors = {"train.log": Cursor(chunk.identity, 7)}
    with path.open("ab") as file:
        file.write(b"step 2\n" * 2000)
    assert read(source_of(path), cursors) == {"train.log": b"step 2\n" * 2000}
    path.write_bytes(b"STEP 1\nstep 2\n")  # truncated and written anew under the same inode
    assert read(source_of(path), cursors) == {"train.log": b"STEP 1\nstep 2\n"}
    path.write_bytes(b"step")
    assert read(source_of(path), cursors) == {"train.log": b"step"}


def test_a_link_that_points_to_a_new_file_starts_over(tmp_path: Path) -> None:
    """The name is followed: what it leads to now is what is read."""
    (tmp_path / "one").write_bytes(b"first\n")
    (tmp_path / "two").write_bytes(b"second\n")
    link = tmp_path / "current.log"
    link.symlink_to("one")
    (chunk,) = source_of(link).chunks({})
    link.unlink()
    link.symlink_to("two")
    assert read(source_of(link), {"current.log": Cursor(chunk.identity, 6)}) == {
        "current.log": b"second\n"
    }


def test_what_is_written_meanwhile_is_left_for_the_next_time(tmp_path: Path) -> None:
    """A scan whose own output goes into the file comes to an end."""
    path = tmp_path / "train.log"
    path.write_bytes(log(100_000))
    seen = 0
    for chunk in source_of(path).chunks({}):
        seen += len(chunk.data)
        with path.open("ab") as file:
            file.write(chunk.data)
    assert len(log(100_000)) == seen


def test_a_run_of_nul_bytes_before_the_text_is_still_a_log(tmp_path: Path) -> None:
    """copytruncate leaves a hole as long as the log was; the text stands behind it."""
    path = tmp_path / "train.log"
    with path.open("wb") as file:
        file.seek(100_000_000)
        file.write(b"step 1\n")
    tail = b""
    for chunk in source_of(path).chunks({}):
        tail = chunk.data[-7:] or tail
    assert tail == b"step 1\n"
    packed = tmp_path / "train.log.gz"
    packed.write_bytes(gzip.compress(bytes(10_000_000) + b"step 1\n"))
    assert len(source_of(packed).streams()) == 1


def test_text_in_any_code_is_a_log(tmp_path: Path) -> None:
    """Latin-1, GBK, torn UTF-8, colours, redraws and a few stray controls are no binary data."""
    texts = [
        "perte élevée\n".encode("latin-1") * 40,
        "损失 3.2\n".encode("gbk") * 40,
        "损失".encode()[1:5] * 40,
        b"\x1b[31mloss\x1b[0m 1.2\r loss 1.1\b\b\n" * 40,
        b"step 1\n\0\0\0\0step 2\n\x01\x02" + b"step 3\n" * 40,
        b"\xef\xbb\xbfstep 1\n",
    ]
    for at, text in enumerate(texts):
        path = tmp_path / f"{at}.log"
        path.write_bytes(text)
        assert {path.name: text} == read(source_of(path))


def test_every_break_gives_what_stands_before_it(tmp_path: Path) -> None:
    """A compressed file cut anywhere is read to the cut, and the cut is told."""
    text = log(2000)
    for name in COMPRESSED:
        stored = STORED[name](text)
        for part in (0.2, 0.5, 0.9, 0.999):
            path = tmp_path / "cut"
            path.write_bytes(stored[: int(len(stored.rstrip(b"\0")) * part)])
            try:
                source = source_of(path)
            except InputError as error:
                assert "ends too early" in str(error)  # noqa: PT017 - either is right
                continue
            given = read(source)["cut"]
            assert text.startswith(given)
            assert [len(given)] == [skip.read for skip in source.skipped]
    path.write_bytes(gzip.compress(text, 1)[:-1])
    source = source_of(path)
    assert read(source) == {"cut": text}
    assert [Skipped("cut", "its gzip data ends too early", len(text))] == source.skipped


def test_broken_data_in_the_middle_gives_what_stands_before_it(tmp_path: Path) -> None:
    """A wrong checksum, rubbish behind the end, a flipped byte: the text before is kept."""
    path, text = tmp_path / "train.log.gz", log(20)
    stored = gzip.compress(text)
    path.write_bytes(stored[:-8] + b"\1\2\3\4" + stored[-4:])
    source = source_of(path)
    assert {"train.log.gz": text} == read(source)
    assert [len(text)] == [skip.read for skip in source.skipped]
    path.write_bytes(stored + b"Exit code 1\n")
    source = source_of(path)
    assert {"train.log.gz": text} == read(source)
    reason = f"what follows byte {len(stored)} is no gzip data"
    assert [Skipped("train.log.gz", reason, len(text))] == source.skipped
    for name in ("bzip2 members", "xz members", "zstd frames", "gzip members"):
        flipped = bytearray(STORED[name](log(5000)))
        flipped[-len(flipped) // 5] ^= 0xFF
        path.write_bytes(flipped)
        source = source_of(path)
        given = read(source)["train.log.gz"]
        assert len(given) >= len(log(5000)) // 2
        assert log(5000)[: len(log(5000)) // 2] == given[: len(log(5000)) // 2]
        assert [len(given)] == [skip.read for skip in source.skipped]


def test_a_zip_bomb_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """A gigabyte in a few kilobytes passes through; it is never held."""
    path = tmp_path / "bomb.zst"
    program = (
        "import sys, resource\n"
        "from runwatch.ingest import open_source\n"
        "from runwatch.target import Target\n"
        "source = open_source(Target.parse(sys.argv[1]))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "size = sum(len(chunk.data) for chunk in source.chunks({}))\n"
        "print(size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    for name in ("zstd", "gzip"):
        path.write_bytes(STORED[name](b"step\n" * (1 << 26)))
        command = [sys.executable, "-c", program, str(path)]
        size, grown = subprocess.run(command, capture_output=True, check=True).stdout.split()
        assert int(size) == 5 << 26
        assert int(grown) < 100_000  # KiB


def test_a_named_pipe_is_read_like_standard_input(tmp_path: Path) -> None:
    """What a shell's `<(…)` names is read until its writer closes it."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(gzip.compress(log(50)),))
    writer.start()
    assert [log(50)] == list(read(source_of(path)).values())
    writer.join()


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("trian.log", "no such file", "did you mean {}/train.log?"),
        ("runs/a/train.log", "no such file", "{} holds dead.log, train.log, zeros.pt"),
        ("dead.log", "no such file", "it is a link to nowhere.log, which is not there"),
        ("train.log/x", "not a directory", "may this user read it, and is its disk there?"),
        ("zeros.pt", "looks binary (a zip archive", "name its text log"),
    ],
)
def test_what_cannot_be_read_is_one_error_with_a_hint(
    name: str, message: str, hint: str, tmp_path: Path
) -> None:
    """The error says what and where, the hint what is there instead."""
    (tmp_path / "train.log").touch()
    (tmp_path / "dead.log").symlink_to("nowhere.log")
    (tmp_path / "zeros.pt").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(InputError) as raised:
        source_of(tmp_path / name)
    assert f"{tmp_path}/{name}" in str(raised.value)
    assert message in str(raised.value)
    assert hint.format(tmp_path) == raised.value.hint


def test_numbers_and_nothing_else_are_binary(tmp_path: Path) -> None:
    """Binary data of no known kind is told by its control bytes and scattered NULs."""
    for data in (
        os.urandom(1 << 15),
        bytes(range(256)) * 4,
        b"".join(bytes([i, 0, 0, 0]) for i in range(200)),
    ):
        path = tmp_path / "weights"
        path.write_bytes(b"x" + data)
        with pytest.raises(InputError, match="looks binary"):
            source_of(path)
    path.write_bytes(gzip.compress(b"x" + os.urandom(1 << 15)))
    with pytest.raises(InputError, match="looks binary"):
        source_of(path)


def test_a_broken_file_of_which_nothing_can_be_read_is_an_error(tmp_path: Path) -> None:
    """Nothing readable is not an empty log."""
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress(log(10))[:9])
    with pytest.raises(InputError, match="its gzip data ends too early") as broken:
        source_of(path)
    assert broken.value.hint == "nothing of it could be read"
    path.write_bytes(b"\x1f\x8b" + b"\xff" * 50)
    with pytest.raises(InputError, match="its gzip data is broken near byte 0"):
        source_of(path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become nobody to lose its rights")
def test_a_file_that_may_not_be_read_is_an_error(tmp_path: Path) -> None:
    """In a folder it is skipped with the reason, named alone it is an error."""
    for name in ("train.log", "secret.log"):
        (tmp_path / name).write_bytes(b"step 1\n")
    (tmp_path / "secret.log").chmod(0)
    (tmp_path / "closed").mkdir(mode=0)
    program = (
        "import os, sys\n"
        "from runwatch.errors import InputError\n"
        "from runwatch.ingest import open_source, file, folder\n"
        "from runwatch.target import Kind, Target\n"
        "root = os.open(sys.argv[1], os.O_RDONLY)\n"
        "os.fchdir(root)\n"
        "folder.open_target(Target(Kind.FOLDER, '.', '.'))  # imports what nobody may not\n"
        "os.setuid(65534)\n"
        "source = folder.open_target(Target(Kind.FOLDER, '.', '.'))\n"
        "print([stream.name for stream in source.streams()])\n"
        "print([(skip.name, skip.reason) for skip in source.skipped])\n"
        "try:\n"
        "    file.open_target(Target(Kind.FILE, 'secret.log', 'secret.log'))\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    tmp_path.chmod(0o755)
    command = [sys.executable, "-c", program, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "['train.log']",
        "[('closed', 'permission denied'), ('secret.log', 'permission denied')]",
        "secret.log: permission denied",
    ]


def test_memory_stays_flat_whatever_the_size(tmp_path: Path) -> None:
    """Two chunks are held at most: three hundred megabytes raise the peak by less than twenty."""
    path = tmp_path / "train.log"
    with path.open("wb") as file:
        for _ in range(300):
            file.write(b"step 1 loss 2.0\n" * (1 << 16))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(len(chunk.data) for chunk in source_of(path).chunks({})) == 300 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 20_000


@pytest.mark.parametrize("name", COMPRESSED)
def test_no_damage_to_a_compressed_file_is_more_than_a_told_break(
    name: str, tmp_path: Path
) -> None:
    """Bytes flipped and cut at random give text, or one clear error, and nothing else."""
    dice = random.Random(name)
    stored, path = STORED[name](log(200)), tmp_path / "hurt"
    for _ in range(60):
        hurt = bytearray(stored[: dice.randrange(6, len(stored))])
        hurt[dice.randrange(6, len(hurt) + 6) - 6] ^= dice.randrange(1, 256)
        path.write_bytes(hurt)
        try:
            read(source_of(path))
        except InputError as error:
            assert "hurt" in str(error)  # noqa: PT017 - either is right


def test_every_log_of_the_corpus_is_read_as_it_is(shared: Path) -> None:
    """No real log is taken for binary data, and each is given byte for byte."""
    for path in sorted((shared / "corpus/logs").rglob("*")) + sorted(shared.glob("cases/*.log")):
        if path.is_file():
            assert read(source_of(path)) == {path.name: path.read_bytes()}
    source = open_source(Target.parse(str(shared / "corpus/logs")))
    assert source.skipped == []
