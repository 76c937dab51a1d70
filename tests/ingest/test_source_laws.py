"""Laws that every source at rest keeps, whatever it reads from."""

from collections.abc import Callable
from pathlib import Path

import pytest

from runwatch.chunk import Cursor, Stream
from runwatch.ingest import Source
from runwatch.ingest.file import Files, LogFile
from runwatch.ingest.replay import Replay
from tests.ingest.logs import STORED, cursors_after, log, read

TEXTS = {"rank_0.log": log(400), "rank_1.log": b"", "rank_2.log": log(150, 2) + b"no newline"}

Make = Callable[[Path, int], Source]


def _stored(name: str) -> Make:
    def make(folder: Path, size: int) -> Source:
        files = []
        for stream, text in TEXTS.items():
            path = folder / stream
            if not path.exists():
                path.write_bytes(STORED[name](text))
            files.append(LogFile(Stream(stream), str(path)))
        return Files(files, chunk_size=size)

    return make


def _wide(folder: Path, size: int) -> Source:
    """The same logs as PowerShell would have written them."""
    files = []
    for stream, text in TEXTS.items():
        path = folder / stream
        if not path.exists():
            path.write_bytes(text.decode("latin-1").encode("utf-16") if text else b"")
        files.append(LogFile(Stream(stream), str(path)))
    return Files(files, chunk_size=size)


def _replay(folder: Path, size: int) -> Source:
    return Replay(TEXTS, (size,))


SOURCES: dict[str, Make] = {
    "replay": _replay,
    "UTF-16": _wide,
    **{name: _stored(name) for name in STORED},
}


@pytest.fixture(params=SOURCES)
def make(request: pytest.FixtureRequest) -> Make:
    return SOURCES[request.param]


def _expected(make: Make) -> dict[str, bytes]:
    if make is not _wide:
        return TEXTS
    return {name: text.decode("latin-1").encode() for name, text in TEXTS.items()}


@pytest.mark.parametrize("size", [1, 7, 1024, 4096, 1 << 20])
def test_any_chunk_size_gives_the_same_bytes(make: Make, size: int, tmp_path: Path) -> None:
    """Where the stream is cut changes nothing."""
    source = make(tmp_path, size)
    assert _expected(make) == read(source)
    assert source.skipped == []


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 9, 1000])
def test_stopping_and_going_on_loses_and_doubles_nothing(
    make: Make, count: int, tmp_path: Path
) -> None:
    """Two readings with cursors between them equal one."""
    before, cursors = cursors_after(make(tmp_path, 2048), count)
    after = read(make(tmp_path, 3000), cursors)
    assert _expected(make) == {name: before.get(name, b"") + after[name] for name in after}


@pytest.mark.parametrize("cut", [0, 1, 2, 1023, 1024, 1025, 5000])
def test_any_cut_can_be_gone_on_from(make: Make, cut: int, tmp_path: Path) -> None:
    """A cursor may stand at any byte, not only where a chunk ended."""
    name = next(iter(TEXTS))
    identity = next(make(tmp_path, 64).chunks({})).identity
    after = read(make(tmp_path, 777), {name: Cursor(identity, cut)})
    assert _expected(make)[name][cut:] == after[name]


def test_a_cursor_of_another_file_or_beyond_the_end_starts_over(make: Make, tmp_path: Path) -> None:
    """An identity that is not recognised, or a text that has become shorter, is read from 0."""
    name = next(iter(TEXTS))
    identity = next(make(tmp_path, 64).chunks({})).identity
    for cursor in (Cursor("", 5), Cursor("1.2.3.4", 5), Cursor("x.y", 5), Cursor(identity, 10**6)):
        assert _expected(make) == read(make(tmp_path, 4096), {name: cursor})


def test_progress_ends_at_the_stored_size(make: Make, tmp_path: Path) -> None:
    """The last chunk of a stream stands at the end of what is stored."""
    ends = [chunk for chunk in make(tmp_path, 4096).chunks({}) if chunk.last]
    assert [chunk.size for chunk in ends] == [chunk.position for chunk in ends]


def test_a_quiet_replay_sends_empty_chunks() -> None:
    """Silence is data: a size of 0 is a chunk without bytes."""
    source = Replay({"a": b"12345"}, (2, 0, 2))
    assert [chunk.data for chunk in source.chunks({})] == [b"12", b"", b"34", b"5"]
