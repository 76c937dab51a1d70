"""What the tests of sources share: logs of ours, ways to store them, and to read them back."""

import bz2
import gzip
import lzma
import random
import struct
from collections.abc import Callable, Iterator, Mapping

import zstandard

from runwatch.chunk import Chunk, Cursor
from runwatch.ingest import Source

Read = dict[str, bytes]


def log(lines: int, seed: int = 0) -> bytes:
    """A log whose lines all differ, with the odd bytes that logs hold."""
    dice = random.Random(seed)
    return b"".join(
        b"[rank%d] step %d loss %.6f \xe9\xff\r\n" % (seed, step, dice.random() * 10)
        for step in range(lines)
    )


def _frames(text: bytes) -> bytes:
    """zstd frames with a skippable one between them."""
    one, half = zstandard.ZstdCompressor(), len(text) // 2
    skippable = struct.pack("<II", 0x184D2A53, 4) + b"note"
    return one.compress(text[:half]) + skippable + one.compress(text[half:])


def _members(compress: Callable[[bytes], bytes], text: bytes) -> bytes:
    half = len(text) // 2
    return compress(text[:half]) + compress(b"") + compress(text[half:])


STORED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "gzip members": lambda text: _members(gzip.compress, text),
    "gzip padded": lambda text: _members(gzip.compress, text) + bytes(5000),
    "zstd": lambda text: zstandard.ZstdCompressor().compress(text),
    "zstd frames": _frames,
    "bzip2": bz2.compress,
    "bzip2 members": lambda text: _members(bz2.compress, text),
    "xz": lzma.compress,
    "xz members": lambda text: _members(lzma.compress, text),
}
COMPRESSED = [name for name in STORED if name != "plain"]


def read(source: Source, cursors: Mapping[str, Cursor] | None = None) -> Read:
    """All that a source gives, by stream, after a look at what every source owes."""
    texts: Read = {}
    ended: set[str] = set()
    for chunk in checked(source.chunks(cursors or {})):
        texts[chunk.stream.name] = texts.get(chunk.stream.name, b"") + chunk.data
        ended |= {chunk.stream.name} if chunk.last else set()
    assert ended == {stream.name for stream in source.streams()} == set(texts)
    return texts


def checked(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """The chunks, if each begins where the one before it in its stream ended."""
    ends: dict[str, int] = {}
    for chunk in chunks:
        assert ends.get(chunk.stream.name, chunk.offset) == chunk.offset
        ends[chunk.stream.name] = -1 if chunk.last else chunk.offset + len(chunk.data)
        yield chunk


def cursors_after(source: Source, count: int) -> tuple[Read, dict[str, Cursor]]:
    """What the first `count` chunks gave, and the cursors that a store would keep of them."""
    texts: Read = {}
    cursors: dict[str, Cursor] = {}
    for chunk, _ in zip(source.chunks({}), range(count), strict=False):
        name = chunk.stream.name
        texts[name] = texts.get(name, b"") + chunk.data
        cursors[name] = Cursor(chunk.identity, chunk.offset + len(chunk.data))
    return texts, cursors
