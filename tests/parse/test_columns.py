"""Points that come one by one and in blocks, large and small, stay in their order."""

import numpy as np
import pytest

from runwatch.parse import columns
from runwatch.parse.columns import Columns, Words
from runwatch.records import POINTS

Piece = tuple[int, int]  # lines from this one on, and how many


def made(pieces: list[Piece | int], ranks: list[int | None]) -> list[list[object]]:
    """The points of these blocks, and of the lines that are told one by one, column by column."""
    words = Words()
    code = words["loss"]
    told = Columns(words)
    for piece in pieces:
        if isinstance(piece, int):
            told.point(piece, None, 3, piece, None, "loss", piece / 8, "", "loss", 0)
            continue
        begin, count = piece
        whole, doubles = np.zeros((count, 6), np.int64), np.zeros((count, 4))
        whole[:, 0] = range(begin, begin + count)
        whole[:, 1], whole[:, 3:] = begin - 10, (code, -1, code)
        doubles[:, 0], doubles[:, 1] = whole[:, 0] / 8, np.where(whole[:, 0] % 3, np.nan, 5)
        doubles[:, 2] = np.nan
        told.block(whole, doubles, ranks)
        whole[:], doubles[:] = -5, -5  # the kernel writes over it
    points, _ = told.frames()
    return [points.column(name).tolist() for name in POINTS]


@pytest.mark.parametrize("small", [0, 2, 100])
def test_blocks_are_put_together_in_their_order(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However large a block is that waits for others, the points are the same."""
    pieces: list[Piece | int] = [(1, 2), (3, 1), 4, 5, (6, 4), (10, 1), (11, 2), 13, (14, 1)]
    monkeypatch.setattr(columns, "_SMALL", 0)
    alone = made(pieces, [None, 1])
    monkeypatch.setattr(columns, "_SMALL", small)
    assert alone == made(pieces, [None, 1])
    assert alone[0] == [*range(1, 15)]
