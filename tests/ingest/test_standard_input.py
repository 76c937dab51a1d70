"""Standard input: bytes as they come."""

import os
import threading
from collections.abc import Callable

import pytest

from runwatch.errors import InputError
from runwatch.ingest import Skipped
from runwatch.ingest.standard_input import Pipe, open_target
from runwatch.target import Target
from tests.ingest.logs import STORED, log, read


def piped(*parts: bytes) -> tuple[int, Callable[[], None]]:
    """The reading end of a pipe that gets the parts, and what ends the writing of it."""
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            for part in parts:
                pipe.write(part)

    thread = threading.Thread(target=write)
    thread.start()
    return reading, thread.join


def test_the_dash_is_standard_input() -> None:
    """`-` names one stream, without a rank."""
    assert [stream.name for stream in open_target(Target.parse("-")).streams()] == ["stdin"]


@pytest.mark.parametrize("name", STORED)
def test_every_compression_is_read_from_a_pipe_too(name: str) -> None:
    """A pipe is told by its first bytes as a file is, even if they come one by one."""
    stored = STORED[name](log(3000))
    reading, join = piped(stored[:1], stored[1:2], stored[2:])
    assert {"stdin": log(3000)} == read(Pipe("stdin", reading))
    join()


def test_plain_bytes_are_passed_on_as_they_come() -> None:
    """Nothing waits for a full chunk: a line in the pipe is a chunk."""
    reading, writing = os.pipe()
    os.write(writing, b"step 1\n")
    chunks = Pipe("stdin", reading).chunks({})
    assert next(chunks).data == b"step 1\n"
    os.write(writing, b"step 2\n")
    assert next(chunks).data == b"step 2\n"
    os.close(writing)
    assert [(chunk.data, chunk.offset, chunk.last) for chunk in chunks] == [(b"", 14, True)]


def test_nothing_piped_in_is_an_empty_stream() -> None:
    """An empty pipe is a log without lines."""
    reading, join = piped(b"")
    assert read(Pipe("stdin", reading)) == {"stdin": b""}
    join()


def test_binary_data_and_closed_input_are_errors() -> None:
    """What cannot be a log is told, not read."""
    reading, join = piped(b"PK\x03\x04" + bytes(100))
    with pytest.raises(InputError, match="stdin: looks binary"):
        read(Pipe("stdin", reading))
    join()
    os.close(reading)
    with pytest.raises(InputError, match="stdin: bad file descriptor"):
        read(Pipe("stdin", reading))


def test_a_broken_pipe_of_gzip_gives_what_came_before() -> None:
    """The end of a compressed pipe may be missing; what came is kept and the break is told."""
    stored = STORED["gzip"](log(3000))
    reading, join = piped(stored[:-100])
    source = Pipe("stdin", reading)
    text = read(source)["stdin"]
    join()
    assert log(3000).startswith(text)
    assert [Skipped("stdin", "its gzip data ends too early", len(text))] == source.skipped
