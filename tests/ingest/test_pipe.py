"""Pipes followed while their writer runs."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from runwatch.chunk import Stream
from runwatch.ingest.following import open_following
from runwatch.ingest.pipe import Pipe
from runwatch.target import Target
from tests.ingest.following import Reader


def test_bytes_come_as_they_are_written_until_the_writer_ends() -> None:
    """Quiet gives empty chunks; the end of the pipe is the end of the stream."""

    async def follow() -> None:
        reading, writing = os.pipe()
        async with Reader(Pipe(reading)) as reader:
            os.write(writing, b"step 1\nst")
            await reader.until(lambda: b"".join(c.data for c in reader.chunks) == b"step 1\nst")
            await reader.turns()
            os.write(writing, b"ep 2\n")
            await reader.until(lambda: sum(len(c.data) for c in reader.chunks) == 14)
            assert not reader.chunks[-1].last
            os.close(writing)
            await reader.until(lambda: any(c.last for c in reader.chunks))
        os.close(reading)
        assert [b"step 1\nstep 2\n"] == list(reader.texts.values())

    asyncio.run(follow())


def test_a_tee_gets_every_byte_at_once(tmp_path: Path) -> None:
    """Whatever the bytes are, before anything is made of them, in front of the end."""
    program = (
        "import asyncio, sys\n"
        "from runwatch.ingest import pipe\n"
        "from runwatch.target import Target\n"
        "async def follow():\n"
        "    source = pipe.open_following(Target.parse('-'), tee=1)\n"
        "    size = 0\n"
        "    async for chunk in source.chunks({}, quiet=1):\n"
        "        size += len(chunk.data)\n"
        "    print(size, source.streams(), source.events, file=sys.stderr)\n"
        "asyncio.run(follow())\n"
    )
    data = os.urandom(5_000_000)
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, input=data, capture_output=True, check=True)
    assert data == result.stdout
    assert result.stderr.decode() == f"5000000 {[Stream('stdin')]} []\n"


def test_a_tee_that_is_closed_ends_nothing() -> None:
    """`… | runwatch watch - --tee | head`: the analysis goes on, and it is told."""

    async def follow() -> None:
        reading, writing = os.pipe()
        nobody, tee = os.pipe()
        os.close(nobody)
        async with Reader(Pipe(reading, tee=tee)) as reader:
            os.write(writing, b"step 1\n")
            os.close(writing)
            await reader.until(lambda: any(c.last for c in reader.chunks))
        assert ["no longer passed on: broken pipe"] == reader.source.events
        assert [b"step 1\n"] == list(reader.texts.values())
        os.close(reading)
        os.close(tee)

    asyncio.run(follow())


def test_a_named_pipe_is_followed_too(tmp_path: Path) -> None:
    """A path that is a pipe is opened when reading begins."""
    path = tmp_path / "train.pipe"
    os.mkfifo(path)

    async def follow() -> None:
        async with Reader(open_following(Target.parse(str(path)))) as reader:
            await asyncio.to_thread(path.write_bytes, b"step 1\n")
            await reader.until(lambda: any(c.last for c in reader.chunks))
        assert {"train.pipe": b"step 1\n"} == reader.texts

    asyncio.run(follow())


def test_a_named_pipe_without_a_writer_says_what_it_waits_for(tmp_path: Path) -> None:
    """After a second, once; and it is read as soon as there is one."""
    fifo = tmp_path / "train.fifo"
    os.mkfifo(fifo)

    async def follow() -> None:
        async with Reader(open_following(Target.parse(str(fifo)))) as reader:
            await reader.told("nobody writes to")
            await asyncio.to_thread(fifo.write_bytes, b"step 1\n")
            await reader.until(lambda: any(c.last for c in reader.chunks))
            assert (1, b"step 1\n") == (len(reader.source.events), reader.texts["train.fifo"])

    asyncio.run(follow())
