"""Laws of following: whatever happens to a log, no byte is lost and none comes twice."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from runwatch.ingest.follow import Files
from runwatch.ingest.follow_events import Events
from runwatch.ingest.following import Following
from runwatch.ingest.ssh_follow import Remote
from runwatch.target import Kind, Target
from tests.ingest.following import Reader
from tests.ingest.server import Server

Follow = Callable[[Path], Following]


class Writer:
    """Writes numbered lines, and rotates as logrotate does; `text` is all that was written."""

    def __init__(self, path: Path, dice: random.Random) -> None:
        self.path, self.dice = path, dice
        self.text, self._step = b"", 0
        self._file = path.open("ab", 0)
        self.write(1)

    def write(self, lines: int) -> None:
        """Some lines, some of them in two pieces."""
        for _ in range(lines):
            line = b"step %d loss %f\n" % (self._step, self.dice.random())
            cut = self.dice.choice((0, 5))
            self._file.write(line[:cut])
            self._file.write(line[cut:])
            self.text += line
            self._step += 1

    def rotate(self) -> None:
        """Shift the old copies, rename the log, write a last line to it, begin a new one."""
        copies = [path for path in self.path.parent.iterdir() if path.name.count(".") == 2]
        for path in sorted(copies, key=lambda path: -int(path.name.rsplit(".", 1)[1])):
            number = int(path.name.rsplit(".", 1)[1])
            path.rename(path.with_name(f"{self.path.name}.{number + 1}"))
        self.path.rename(self.path.with_name(f"{self.path.name}.1"))
        self.write(self.dice.randrange(2))
        self._file.close()
        self._file = self.path.open("ab", 0)

    def close(self) -> None:
        """End."""
        self._file.close()


async def _lives(source: Callable[[], Following], writer: Writer, lives: int) -> bytes:
    """What several readers give, each from where the one before it was stopped."""
    read, cursors = b"", {}
    dice = writer.dice
    for life in range(lives):
        async with Reader(source(), cursors) as reader:
            if life == 0:
                await reader.until(lambda: reader.whole("train.log") != b"")
            for _ in range(dice.randrange(2, 8)):
                writer.write(dice.randrange(30))
                if dice.random() < 0.3:
                    await reader.turns(1)
                if dice.random() < 0.3:
                    writer.rotate()
        read, cursors = read + reader.whole("train.log"), reader.cursors
        writer.write(dice.randrange(9))
        if dice.random() < 0.3:
            writer.rotate()
    async with Reader(source(), cursors) as reader:
        await reader.until(lambda: len(read) + len(reader.whole("train.log")) >= len(writer.text))
        await reader.turns(2)
    return read + reader.whole("train.log")


def _turns() -> Events:
    events = Events()
    events.why = "looking by turns"
    return events


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("way", ["file", "folder", "turns", "ssh"])
def test_rotations_and_restarts_lose_and_double_nothing(
    way: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Rotated at any time, also while nobody reads, and read by one watcher after the other."""
    log = tmp_path / "logs/train.log"
    log.parent.mkdir()
    writer = Writer(log, random.Random(seed))
    server: Server | None = request.getfixturevalue("server") if way == "ssh" else None

    def source() -> Following:
        if server is not None:
            target = Target(Kind.SSH, f"gpu-box:{log}", str(log), "gpu-box")
            return Remote(target, server.host(), grace=0.1)
        named = Target.parse(str(log if way != "folder" else log.parent))
        return Files(named, grace=0.1, events=_turns if way == "turns" else Events)

    try:
        read = asyncio.run(_lives(source, writer, 2 if way == "ssh" else 3))
    finally:
        writer.close()
    assert writer.text == read
