"""How fast each stage of the parser is, and the kernels under it."""

from itertools import islice
from typing import Any

import numpy as np
import pytest

from bench.logs import FORMATS
from runwatch.chunk import Chunk, Stream
from runwatch.kernels import native
from runwatch.kernels.building import built
from runwatch.kernels.layout import PAD
from runwatch.parse import Parser
from runwatch.parse.cut import Cut
from runwatch.parse.knowledge import builtin
from runwatch.parse.number import split
from runwatch.parse.prefix import Peeler
from runwatch.parse.stage import Stage
from runwatch.tally import Tally

STREAM = Stream("train.log")
LINES = 20_000


def log(form: str) -> bytes:
    """The first lines of a format."""
    return "".join(islice(FORMATS[form](7), LINES)).encode()


def taught(form: str, data: bytes) -> Parser:
    """A parser that knows the lines of a format."""
    parser = Parser(replay=True, tally=Tally(), notes=False, threads=1)
    parser.feed(Chunk(STREAM, data, 0))
    return parser


@pytest.mark.parametrize("form", FORMATS)
def test_match(benchmark: Any, form: str) -> None:
    """Lines compared with their templates, numbers read."""
    data = log(form)
    parser = taught(form, data)
    assert parser._replay is not None
    stage, room = Stage(), np.frombuffer(data + bytes(PAD), np.uint8)
    base = int(room.ctypes.data)
    stage.aim(parser._replay._program)
    limit = int(native.text_end(base + len(data) // 4, base + len(data))) + 1
    benchmark.extra_info["bytes"] = limit - base
    benchmark(stage.match, base, limit, limit)
    assert stage.end == limit
    assert stage.count


@pytest.mark.parametrize("form", FORMATS)
def test_match_and_follow(benchmark: Any, form: str) -> None:
    """The whole compiled path on one chunk."""
    data = log(form)
    parser = taught(form, data)
    benchmark.extra_info["bytes"] = len(data)
    benchmark(parser.feed, Chunk(STREAM, data, 0))
    assert parser._replay is not None


@pytest.mark.parametrize("form", FORMATS)
def test_readable(benchmark: Any, form: str) -> None:
    """The readable path, line by line."""
    data = b"".join(log(form).splitlines(keepends=True)[:500])
    parser = Parser(replay=False, tally=Tally())
    benchmark.extra_info["bytes"] = len(data)
    benchmark(parser.feed, Chunk(STREAM, data, 0))


def test_cut(benchmark: Any) -> None:
    """A chunk cut into texts."""
    data = log("keyvalue")
    benchmark.extra_info["bytes"] = len(data)
    benchmark(lambda: sum(1 for _ in Cut().feed(Chunk(STREAM, data, 0))))


def test_split_and_peel(benchmark: Any) -> None:
    """A line's prefixes and numbers, by expressions."""
    line = next(FORMATS["keyvalue"](7)).rstrip()
    peeler = Peeler(builtin().prefixes)
    benchmark.extra_info["bytes"] = len(line)
    benchmark(lambda: split(peeler.peel(line).message))


@pytest.mark.parametrize("text", [b"2.5", b"7.004321", b"1.50000000e-07", b"123456789.123456789"])
def test_number(benchmark: Any, text: bytes) -> None:
    """One number of each width, the call from Python included."""
    room = np.frombuffer(text + b"," + bytes(PAD), np.uint8)
    result = np.zeros(1)
    library = native.Library("benched", "")
    number_at = library.kernel("decimal.number_at", "nn")
    library.take(built(library))
    benchmark(number_at, room.ctypes.data, result.ctypes.data)
    assert float(text) == result[0]
