"""Reads log text for a test and gives back what came out, cut where the test likes."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from runwatch.chunk import Chunk, Stream
from runwatch.column import Frame
from runwatch.parse import Parser

RUN = Stream("run.log")
Rows = list[tuple[Any, ...]]

# Many dialects in one log: what a law must hold for holds for their mixture.
MIXED = (
    "\ufeffstarting\n"
    "[2024-05-01 12:00:00,123] [INFO] [a.py:7] [Rank 0] step=10, skipped=0, lr=[1e-3, 2e-3]\n"
    "   0: iter 20/100 | loss: 3.5 | lr 1.0E-03 |\r\n"
    '{"step": 30, "loss": NaN, "nested": {"acc": "0.5"}, "xs": [1, 2]}\n'
    "{'loss': 2.25, 'epoch': 0.5}\n"
    "  5%|5         | 5/100 [00:01<00:20,  4.5it/s, loss=2.0]\r"
    "  6%|6         | 6/100 [00:01<00:20,  4.5it/s, loss=1.9]\n"
    "\x1b[31mstep: \x1b[32m 40 \x1b[0mloss: \x1b[38;2;1;2;3m1.5\x1b[0m\n"
    "Traceback (most recent call last):\n"
    '  File "train.py", line 7, in main\n'
    "    loss = 3.0\n"
    "ValueError: step 50 loss 9.0\n"
    "epoch   train_loss   valid_loss\n"
    "0       2.5          2.75\n"
    "| rollout/      |        |\n"
    "|    ep_rew_mean| 12.5   |\n"
    "-------------------------\n"
    "[step=60/100]\n"
    "    train/loss=1.25\n"
    "    peak memory (MB)=9,404\n"
    "average score: 0.25\n"
    "step 70 loss 1.0\n"
    "average score: 0.5\n"
    "caf\xe9 \u4e2d\u6587 loss: inf step: 80\n"
    "step 90 loss 0.5"
).encode()


def points(data: bytes, cuts: Iterable[int] = (), parser: Parser | None = None) -> Rows:
    """All points as (line, rank, step, epoch, metric, value as text, unit, quantity, segment)."""
    return [row for batch in _read(data, cuts, parser or Parser()) for row in rows(batch)]


def rows(batch: Frame) -> Rows:
    """A batch of points as tuples; values as text, so that nan equals nan."""
    columns = {name: batch.column(name).tolist() for name in batch}
    columns["value"] = [repr(value) for value in columns["value"]]
    return list(zip(*columns.values(), strict=True))


def said(text: str | bytes) -> list[tuple[int, str, float]]:
    """Every point of a text as (line, metric, value)."""
    data = text if isinstance(text, bytes) else text.encode()
    return [
        (line, metric, value)
        for batch in _read(data, (), Parser())
        for line, metric, value in zip(
            *(batch.column(name).tolist() for name in ("line", "metric", "value")), strict=True
        )
    ]


def _read(data: bytes, cuts: Iterable[int], parser: Parser) -> list[Frame]:
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    batches = [
        parser.feed(Chunk(RUN, data[start:end], start)).points for start, end in pairwise(edges)
    ]
    return [*batches, parser.finish(RUN).points]
