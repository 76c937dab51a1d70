"""Small logs with bytes changed at random, read by both paths; `make fuzz` runs more of them.

Each run is made from its number alone, so that a run that fails can be made again.
"""

import argparse
import faulthandler
import mmap
import random
import sys
import tomllib
from collections.abc import Iterable, Iterator
from ctypes import CDLL, addressof, c_char, c_int, c_size_t, c_void_p
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runwatch.chunk import Chunk, Stream
from runwatch.kernels.layout import PAD
from runwatch.parse import Parser
from runwatch.parse.cut import Spans
from runwatch.parse.replay import Replay
from tests.parse.reading import MIXED, Rows, rows

SAMPLES = Path(__file__).parent / "formats"
_WIDTH = 400  # bytes of a line that are taken
_TOGETHER = 250  # runs that share a parser and what it has learned
_PATIENCE = 120  # seconds for them, however busy the machine is
_ODD = [
    b"\x00", b"\r", b"\n", b"\xff", b"\xef\xbb\xbf", b"\x1b[31m", b"\x08", b"nan", b"inf", b"-",
    b"+", b".", b"e", b"E+", b",", b":", b"=", b"|", b"[", b"]", b"{", b"}", b"(", b")", b"'", b'"',
    b"%", b"/", b" ", b"\t", b"9" * 25, b"1e999", b"1e-999", b"0x", b"\xc3", b"\xe2\x94",
    b"[rank3]:", b"2024-02-30 25:61:61", b"\xe4\xb8\xad", b"{" * 40, b"[" * 40, b"\\",
    b"None", b"tensor(",
]  # fmt: skip


def seeds(shared: Path | None = None) -> list[bytes]:
    """Lines to start from: of our samples, of the mixture, and of real logs where there are any."""
    texts = [
        sample["text"].encode()
        for path in sorted(SAMPLES.glob("*.toml"))
        for sample in tomllib.loads(path.read_text("utf-8"))["sample"]
    ]
    texts += [MIXED]
    if shared is not None:
        for path in sorted((shared / "corpus" / "logs").rglob("*.*")):
            with path.open("rb") as file:
                texts.append(file.read(40_000))
    return [line[:_WIDTH] for text in texts for line in text.split(b"\n") if line.strip()]


def log(number: int, pool: list[bytes]) -> bytes:
    """The log of a run: a few lines, some of them again with other digits, and bytes changed."""
    rng = random.Random(number)
    lines = [rng.choice(pool) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:  # enough of one form for the compiled path to learn it
        lines = [_digits(rng, lines[0]) for _ in range(4)] + lines
    data = bytearray(rng.choice([b"\n", b"\n", b"\r\n", b"\r"]).join(lines))
    for _ in range(rng.choice([0, 1, 1, 2, 4, 16])):
        at = rng.randrange(len(data) + 1)
        change = rng.randrange(4)
        if change == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif change == 1:
            data[at:at] = rng.choice(_ODD)
        elif change == 2:
            del data[at : at + rng.randint(1, 8)]
        else:
            data[at:at] = data[at : at + rng.randint(1, 40)]
    return bytes(data) + rng.choice([b"\n", b""])


def _digits(rng: random.Random, line: bytes) -> bytes:
    return bytes(rng.choice(b"0123456789") if 48 <= byte < 58 else byte for byte in line)


def read(numbers: Iterable[int], pool: list[bytes]) -> None:
    """Read the runs line by line; whatever comes out, nothing is raised."""
    for number in numbers:
        if number % _TOGETHER == 0:
            faulthandler.dump_traceback_later(_PATIENCE, exit=True)
            parser = Parser(year=2024, replay=False)
        parser.feed(Chunk(Stream("run"), log(number, pool), 0))
    faulthandler.cancel_dump_traceback_later()


def differences(numbers: Iterable[int], pool: list[bytes]) -> Iterator[tuple[int, Rows, Rows]]:
    """The runs in which the two paths differ, with what each says."""
    slow, fast = Parser(year=2024, replay=False), Parser(year=2024, replay=True)
    for number in numbers:
        if number % _TOGETHER == 0:
            faulthandler.dump_traceback_later(_PATIENCE, exit=True)
            slow, fast = Parser(year=2024, replay=False), Parser(year=2024, replay=True)
        stream, data = Stream(f"run {number}"), log(number, pool)
        one, other = (_points(parser, stream, data, number) for parser in (slow, fast))
        if one != other:
            yield number, one, other
    faulthandler.cancel_dump_traceback_later()


def _points(parser: Parser, stream: Stream, data: bytes, number: int) -> Rows:
    cut = number % (len(data) + 1) if number % 3 == 0 else len(data)
    found = [
        parser.feed(Chunk(stream, data[:cut], 0)),
        parser.feed(Chunk(stream, data[cut:], cut)),
        parser.finish(stream),
    ]
    return [row for batch in found for row in rows(batch.points)]


class Fenced:
    """Bytes of which the memory before and behind cannot be read: who tries ends the process."""

    def __init__(self, size: int = 1 << 16) -> None:
        page = mmap.PAGESIZE
        self._map = mmap.mmap(-1, size + 2 * page)
        start = addressof(c_char.from_buffer(self._map))
        self._bytes = np.frombuffer(self._map, np.uint8)[page : page + size]
        protect = CDLL(None, use_errno=True).mprotect
        protect.argtypes = (c_void_p, c_size_t, c_int)
        for fence in (start, start + page + size):
            if protect(fence, page, 0):
                raise OSError("mprotect")

    def at_the_end(self, data: bytes) -> npt.NDArray[np.uint8]:
        """The bytes, right before the fence."""
        self._bytes[len(self._bytes) - len(data) :] = np.frombuffer(data, np.uint8)
        return self._bytes[len(self._bytes) - len(data) :]

    def at_the_start(self, data: bytes) -> npt.NDArray[np.uint8]:
        """The bytes, right behind the fence."""
        self._bytes[: len(data)] = np.frombuffer(data, np.uint8)
        return self._bytes[: len(data)]


def inside_fences(numbers: Iterable[int], pool: list[bytes]) -> None:
    """Replay whole texts at both edges of their memory, digits in the bytes to spare behind."""
    memory = Fenced()
    replay = Replay(Parser(year=2024, replay=True), 1)
    for number in numbers:
        if number % _TOGETHER == 0:
            replay = Replay(Parser(year=2024, replay=True), 1)
        data = log(number, pool).replace(b"\r", b"") + b"\n"
        for place, edge in enumerate((memory.at_the_end, memory.at_the_start)):
            stream = Stream(f"{number} {place}")
            body = memoryview(edge(data + b"7" * PAD))[: len(data)]
            replay.read(stream, 1, Spans(b"", body, memoryview(b"")))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Run as many as told, from a number on; 1 where the paths differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=random.randrange(1 << 40))
    parser.add_argument("--shared", type=Path, help="a folder with corpus/logs")
    options = parser.parse_args()
    pool = seeds(options.shared)
    first = options.first - options.first % _TOGETHER
    _say(f"{options.runs:,} runs from number {first} on, {len(pool):,} lines to start from")
    bad = 0
    for start in range(first, first + options.runs, 10_000):
        numbers = range(start, min(start + 10_000, first + options.runs))
        inside_fences(numbers, pool)
        for number, one, other in differences(numbers, pool):
            bad += 1
            _say(f"{number}: {log(number, pool)!r}\n  read:     {one}\n  replayed: {other}")
        _say(f"{numbers.stop - first:,} runs, {bad} differ")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
