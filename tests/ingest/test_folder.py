"""Folders and globs as runs of many streams."""

import gzip
import os
import resource
import socket
import tarfile
from pathlib import Path

import pytest

from runwatch.chunk import Stream
from runwatch.errors import InputError
from runwatch.ingest import Skipped, open_source
from runwatch.ingest.file import Files
from runwatch.ingest.following import open_following
from runwatch.ingest.sniff import known, looks_binary, passed_over
from runwatch.target import Target
from tests.ingest.logs import log, read


def folder_of(path: Path | str) -> Files:
    source = open_source(Target.parse(str(path)))
    assert isinstance(source, Files)
    return source


def write(folder: Path, *names: str, data: bytes = b"step 1\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_a_folder_of_ranks_is_one_run_of_many_streams(tmp_path: Path) -> None:
    """Streams are named by their path, know their rank, and come in the order of numbers."""
    write(
        tmp_path, *(f"rank_{rank}/{name}.log" for rank in (10, 2) for name in ("stdout", "stderr"))
    )
    assert [
        Stream("rank_2/stderr.log", 2),
        Stream("rank_2/stdout.log", 2),
        Stream("rank_10/stderr.log", 10),
        Stream("rank_10/stdout.log", 10),
    ] == folder_of(tmp_path).streams()


GLOBS = ("run/node_*/rank_*.log", "run/node_*", "run/**", "run/**/*.log", "ru?/*")


def test_a_glob_is_one_run_named_below_its_fixed_folder(tmp_path: Path) -> None:
    """A quoted glob takes files and the folders that match, `**` any depth, each file once."""
    write(tmp_path, "run/node_0/rank_0.log", "run/node_1/rank_1.log", "run/notes.md", "run/a.csv")
    names = ["node_0/rank_0.log", "node_1/rank_1.log"]
    for pattern in GLOBS:
        below = "run/" if pattern.startswith("ru?") else ""
        assert [below + name for name in names] == [
            stream.name for stream in folder_of(tmp_path / pattern).streams()
        ]
    assert [Stream("a.csv")] == folder_of(f"{tmp_path}/run/*.csv").streams()


@pytest.mark.parametrize("pattern", [*GLOBS, "run", "run/node_0/rank_0.log", "run/node_0/rank*"])
def test_what_is_followed_has_the_names_of_what_is_read(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that cursors of one are those of the other; from a folder whose name has signs, too."""
    there = tmp_path / "[a]"
    write(there, "run/node_0/rank_0.log", "run/node_1/rank_1.log", "run/notes.md", "run/a.csv")
    monkeypatch.chdir(there)
    target = Target.parse(pattern)
    read, followed = open_source(target).streams(), open_following(target).streams()
    assert read == followed != []


def test_what_is_no_log_is_passed_over_and_told(tmp_path: Path) -> None:
    """Weights, images, sources, settings and data lie beside logs; none is read, each is told."""
    write(tmp_path, "train.log", "empty.txt")
    write(tmp_path, "train.py", "config.yaml", "model.pt", ".hidden", "wandb-summary.json")
    write(tmp_path, "settings.json", data=b'{\n  "lr": 1e-4\n}\n')
    write(tmp_path, "metrics.json", data=b'{"loss": 1.0}\n{"loss": 2.0}\n')
    write(tmp_path, "dllogger.json", data=b'DLLL {"type": "LOG"}\nDLLL {"type": "LOG"}\n')
    write(tmp_path, "weights", data=b"\x80\x02\x8a\n" + bytes(50))
    write(tmp_path, ".git/HEAD", "__pycache__/x.log")
    write(tmp_path, *(f"images/{at}.png" for at in range(30)))
    (tmp_path / "dead.log").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(os.path.relpath(tmp_path / "plug"))
    source = folder_of(tmp_path)
    assert [s.name for s in source.streams()] == [
        "dllogger.json", "empty.txt", "metrics.json", "train.log",
    ]  # fmt: skip
    assert sorted(source.skipped, key=lambda skip: skip.name) == [
        Skipped(".git", "hidden folder"),
        Skipped(".hidden", "hidden"),
        Skipped("__pycache__", "no folder of logs"),
        Skipped("config.yaml", "settings"),
        Skipped("dead.log", "a link to nothing"),
        Skipped("images/0.png", "image", count=30),
        Skipped("model.pt", "checkpoint or weights"),
        Skipped("pipe", "a pipe, socket or device"),
        Skipped("plug", "a pipe, socket or device"),
        Skipped("settings.json", "a JSON document"),
        Skipped("train.py", "source code"),
        Skipped("wandb-summary.json", "record of W&B"),
        Skipped("weights", "a pickle, as old PyTorch checkpoints are"),
    ]


def test_links_are_followed_once(tmp_path: Path) -> None:
    """A link out of the folder is read, a link to a log of the same run or in a circle is not."""
    write(tmp_path, "elsewhere/rank_1.log", "run/rank_0.log")
    (tmp_path / "run/a_latest.log").symlink_to("rank_0.log")
    (tmp_path / "run/others").symlink_to("../elsewhere")
    (tmp_path / "run/again").symlink_to(".")
    (tmp_path / "run/self.log").symlink_to("self.log")
    source = folder_of(tmp_path / "run")
    assert [stream.name for stream in source.streams()] == ["others/rank_1.log", "rank_0.log"]
    reasons = {skip.name: skip.reason for skip in source.skipped}
    assert reasons.keys() == {"a_latest.log", "again", "self.log"}
    assert reasons["a_latest.log"] == f"the same as {tmp_path}/run/rank_0.log"


@pytest.mark.parametrize("name", ["run", "run/*", "none/*.log"])
def test_no_logs_is_an_error_that_says_what_was_there(name: str, tmp_path: Path) -> None:
    """An empty folder, one with only other files, and a glob that matches nothing."""
    (tmp_path / "run").mkdir()
    with pytest.raises(InputError):
        folder_of(tmp_path / name)
    write(tmp_path, "run/model.pt", "run/model2.pt", "run/train.py")
    with pytest.raises(InputError) as raised:
        folder_of(tmp_path / name)
    if name != "none/*.log":
        assert "no logs in it" in str(raised.value)
        assert "passed over 3 files: model.pt (checkpoint or weights)" in raised.value.hint


def test_a_broken_file_does_not_stop_the_others(tmp_path: Path) -> None:
    """What can be read of a run is read; the broken file is told."""
    write(tmp_path, "rank_0.log.gz", data=gzip.compress(log(2000))[:-500])
    write(tmp_path, "rank_1.log.gz", data=b"\x1f\x8b\xff")
    write(tmp_path, "rank_2.log", "rank_3.log")
    source = folder_of(tmp_path)
    (tmp_path / "rank_3.log").unlink()
    texts = read(source)
    assert log(2000).startswith(texts.pop("rank_0.log.gz"))
    assert texts == {"rank_2.log": b"step 1\n", "rank_3.log": b""}
    assert [s.name for s in source.skipped] == ["rank_1.log.gz", "rank_0.log.gz", "rank_3.log"]


def test_names_that_print_alike_stay_two_streams(tmp_path: Path) -> None:
    """File names are bytes: what is no UTF-8 is shown with a mark and kept apart."""
    for name in (b"\xff.log", b"\xfe.log"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(name)
    assert sorted([b"\xff.log", b"\xfe.log"]) == sorted(read(folder_of(tmp_path)).values())


def test_thousands_of_ranks_need_no_more_descriptors_than_one(tmp_path: Path) -> None:
    """3,072 rank files are read one at a time."""
    write(tmp_path, *(f"rank_{rank}.log" for rank in range(3072)))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
    try:
        source = folder_of(tmp_path)
        assert len(read(source)) == 3072
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert list(range(3072)) == [stream.rank for stream in source.streams()]


@pytest.mark.parametrize("row", known()["magic"], ids=lambda row: row["name"])
def test_every_known_kind_of_file_is_told_by_its_sample(row: dict[str, str]) -> None:
    """Law: the sample of a magic pattern is recognised under its own name."""
    assert row["name"] == looks_binary(row["sample"].encode("latin-1"))


def test_every_kept_name_is_read_and_every_ending_is_passed_over_once() -> None:
    """Law: the lists of names do not contradict each other."""
    endings = [ending for endings in known()["endings"].values() for ending in endings]
    assert len(endings) == len(set(endings))
    assert all(passed_over(f"x{ending}") for ending in endings)
    assert not any(passed_over(name.replace("*", "x")) for name in known()["kept"]["names"])


def test_a_tar_archive_of_logs_is_no_log(tmp_path: Path) -> None:
    """`.tar.gz` holds files, not lines: it is told rather than read."""
    write(tmp_path, "train.log")
    with tarfile.open(tmp_path / "logs", "w:gz") as archive:
        archive.add(tmp_path / "train.log", "train.log")
    source = folder_of(tmp_path)
    assert [Skipped("logs", "a tar archive")] == source.skipped
