"""What the numeric detectors cost a point, all of them together: flat in the length of a run and in
the number of its ranks and streams.

CPU time of this process, without the parser. `make bench ARGS="-k detectors"` prints the table.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from bench.false_alarms import nothing
from runwatch.chunk import Stream
from runwatch.column import Column, Frame
from runwatch.detect import Columns, Faults, Room, detectors
from runwatch.kernels import native
from runwatch.records import LINES, POINTS, Batch

METRICS = ("loss", "grad_norm", "lr", "throughput", "memory")
QUANTITIES = METRICS[:4]
CHUNK = 120_000  # points of a batch: what 4 MB of JSON lines report


def batches(points: int, ranks: int, streams: int) -> Iterator[Batch]:
    """A calm run: records of five metrics, the ranks in turn; each stream is a file of its own."""
    random = np.random.default_rng(7)
    size = max(5, min(CHUNK, points // streams) // 5 * 5)
    lines = Frame({name: nothing(kind, 0) for name, kind in LINES.items()})
    for number, begin in enumerate(range(0, points, size)):
        n = size // 5
        line = np.arange(begin // 5, begin // 5 + n) if streams == 1 else np.arange(n)
        loss = 2.0 + 5.0 / (1.0 + line / 1e4) + 0.05 * random.standard_normal(n)
        norm, rate = random.uniform(0.3, 2.0, n), 3e-4 * np.minimum(1.0, line / 2000)
        values = np.column_stack((loss, norm, rate, random.uniform(9e3, 11e3, n), np.ones(n)))
        code = np.tile(np.arange(5, dtype=np.int32), n)
        columns = {name: nothing(kind, 5 * n) for name, kind in POINTS.items()} | {
            "line": Column("int64", np.repeat(line + 1, 5)),
            "time": Column("time", np.repeat(line * 100_000, 5)),
            "rank": Column("int32", np.repeat((line % ranks).astype(np.int32), 5)),
            "step": Column("int64", np.repeat(line // ranks, 5)),
            "metric": Column("word", code, words=METRICS),
            "quantity": Column("word", code, code >= len(QUANTITIES), QUANTITIES),
            "value": Column("float64", values.ravel()),
            "segment": Column("int32", np.zeros(5 * n, np.int32)),
        }
        name = f"rank_{number}" if streams > 1 else "log"
        yield Batch(Stream(name), Frame(columns), lines, 1, n)


@pytest.mark.parametrize(
    ("points", "ranks", "streams"),
    [
        (100_000, 1, 1), (1_000_000, 1, 1), (10_000_000, 1, 1),
        (1_000_000, 8, 1), (1_000_000, 64, 1), (3_000_000, 1, 100), (3_000_000, 1, 3_000),
    ],
)  # fmt: skip
def test_detectors(points: int, ranks: int, streams: int, benchmark: Any) -> None:
    """All numeric detectors over calm batches; kernels are compiled before."""
    assert native.judging.works()
    warm = [each for each in detectors() if not isinstance(each, Faults)]
    for ranks in (1, 8):
        _feed(warm, batches(600_000, ranks, 1))
    watching = [each for each in detectors() if not isinstance(each, Faults)]
    spent = benchmark.pedantic(_feed, args=(watching, batches(points, ranks, streams)), rounds=1)
    nanoseconds = 1e9 * spent / points
    benchmark.extra_info["ns_per_point"] = round(nanoseconds, 1)
    print(f"\n{points:>10,} points, {ranks} ranks, {streams} streams: {nanoseconds:.1f} ns a point")
    assert [f.kind for each in watching for f in each.findings() if f.severity.weight > 1] == []


def _feed(watching: list[Any], run: Iterator[Batch]) -> float:
    """CPU seconds that the detectors take, without the making of the batches."""
    spent: Callable[[], float] = time.process_time
    total, room = 0.0, Room()
    for batch in run:
        begin = spent()
        columns = Columns(batch, room)
        for each in watching:
            each.feed(batch, columns)
        total += spent() - begin
    return total
