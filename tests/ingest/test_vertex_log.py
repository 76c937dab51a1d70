"""What workers write to Cloud Logging, as lines of their logs, each given once."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from runwatch.chunk import Cursor
from tests.ingest import vertex_messages as vertex
from tests.ingest.following import Reader
from tests.ingest.logs import read
from tests.ingest.vertex_run import WORKER, cursors_of, follow, rest, steps, told
from tests.ingest.vertex_server import Server


def test_a_worker_is_a_stream_of_what_it_wrote(cloud: Server) -> None:
    """Each line behind its time, several of one entry one by one, in order of their times."""
    entries = [
        vertex.entry("Step 1/9 | loss=2.5", 1),
        vertex.entry("Traceback (most recent call last):\n  File \"t.py\", line 8\n", 3),
        vertex.entry("Step 2/9 | loss=2.4", 2),
    ]  # fmt: skip
    cloud.log(*entries)
    assert (
        b"2026-05-01T10:00:01.000000Z Step 1/9 | loss=2.5\n"
        b"2026-05-01T10:00:02.000000Z Step 2/9 | loss=2.4\n"
        b"2026-05-01T10:00:03.000000Z Traceback (most recent call last):\n"
        b'2026-05-01T10:00:03.000000Z   File "t.py", line 8\n'
    ) == read(rest(cloud))[WORKER]


def test_an_object_is_its_message_unless_it_measures(cloud: Server) -> None:
    """What a logger says of itself is no measurement; numbers beside a message are."""
    cloud.log(
        vertex.entry({"message": "epoch 1 loss 2", "levelname": "INFO", "lineno": 7.0}, 1),
        vertex.entry({"message": "evaluated", "step": 300, "loss": 2.25}, 2),
        vertex.entry({"step": 310, "grad": {"norm": 0.5}, "tags": ["a", None, True]}, 3),
    )
    assert [
        "epoch 1 loss 2",
        '{"step": 300, "loss": 2.25, "message": "evaluated"}',
        '{"step": 310, "grad": {"norm": 0.5}, "tags": ["a", null, true]}',
    ] == [_sorted(line) for line in told(read(rest(cloud))[WORKER])]


def _sorted(line: str) -> str:
    """An object with its keys in the order of this test: protobuf keeps none."""

    if not line.startswith("{"):
        return line
    found, order = json.loads(line), ("step", "grad", "tags", "loss", "message")
    return json.dumps({key: found[key] for key in order if key in found})


def test_it_goes_on_behind_what_was_seen(cloud: Server) -> None:
    """Law: cursors behind what was given give the rest, once, in whatever order it arrived."""
    cloud.page = 7
    cloud.log(*steps(0, 20))
    chunks = list(rest(cloud).chunks({}))
    cursors = cursors_of(chunks)
    before = b"".join(one.data for one in chunks if one.stream.name == WORKER)
    late = vertex.entry("late", 55, received=205)
    cloud.log(late, *steps(20, 30))
    after = read(rest(cloud), cursors)
    assert ["late", *told(b"".join(_lines(after)))[1:]] == told(after[WORKER])
    assert 20 + 11 == (before + after[WORKER]).count(b"\n")
    assert b"" == after["vertex"]
    for at in range(1, len(chunks)):  # stopped anywhere in the first reading
        texts, places = _until(chunks[:at])
        more = read(rest(cloud), places)
        whole = texts.get(WORKER, b"") + more.get(WORKER, b"")
        assert sorted(told(read(rest(cloud))[WORKER])) == sorted(told(whole))


def _lines(texts: dict[str, bytes]) -> Iterator[bytes]:
    yield from texts[WORKER].splitlines(keepends=True)


def _until(chunks: list[Any]) -> tuple[dict[str, bytes], dict[str, Cursor]]:
    texts: dict[str, bytes] = {}
    for one in chunks:
        texts[one.stream.name] = texts.get(one.stream.name, b"") + one.data
    places = cursors_of(chunks)
    return texts, places


def test_a_cursor_of_another_place_starts_over(cloud: Server) -> None:
    """What was seen of one stream says what was seen of all."""
    cloud.log(*steps(0, 5))
    whole = read(rest(cloud))
    chunks = list(rest(cloud).chunks({}))
    cursors = cursors_of(chunks)
    wrong = {**cursors, WORKER: Cursor(cursors[WORKER].identity, 3)}
    assert whole == read(rest(cloud), wrong)
    assert whole == read(rest(cloud), {WORKER: Cursor("", 5)})


def test_what_comes_late_or_twice_is_given_once(cloud: Server) -> None:
    """Followed: an entry of two minutes ago joins, one that was given stays away."""
    cloud.log(*steps(0, 20))

    async def follow_it() -> bytes:
        async with Reader(follow(cloud)) as reader:
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 20)
            cloud.log(vertex.entry("late", 70, received=195), cloud.entries[19])
            await reader.until(lambda: b"late" in reader.whole(WORKER))
            cloud.log(*steps(20, 22))
            await reader.until(lambda: reader.whole(WORKER).count(b"\n") >= 23)
            await reader.turns(3)
            return reader.whole(WORKER)

    lines = told(asyncio.run(follow_it()))
    assert 23 == len(lines) == len(set(lines))
    assert "late" == lines[20]


def test_pages_of_any_size_are_read(cloud: Server) -> None:
    """Also those above the 4 MB that gRPC takes where nobody says more."""
    cloud.log(*(vertex.entry(str(n) * 700_000, n) for n in range(1, 8)))
    assert [str(n) * 700_000 for n in range(1, 8)] == told(read(rest(cloud))[WORKER])
