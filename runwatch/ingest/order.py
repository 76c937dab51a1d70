"""The order in which a run's files are read: as a person would sort them, old copies first."""

from runwatch.ingest.ranks import COMPRESSED, ROTATED
from runwatch.pattern import compiled

NUMBER = compiled(r"(\d+)")
DATE_DIGITS = 6


def reading_order(name: str) -> tuple[list[str | int], int, int]:
    """A sort key: `rank_2` before `rank_10`, and `train.log.2.gz`, `train.log.1`, `train.log`.

    Rotated copies are streams of their own, in the order in which they were written: counted
    ones backwards, dated ones forwards.
    """
    name = COMPRESSED.sub("", name)
    rotated = ROTATED.search(name)
    if not rotated:
        return (_natural(name), 1, 0)
    copy = int(rotated[2])
    return (
        _natural(ROTATED.sub(r"\1", name)),
        0,
        copy if len(rotated[2]) >= DATE_DIGITS else -copy,
    )


def _natural(name: str) -> list[str | int]:
    """Words and numbers in turn, so that any two compare; a folder before what begins like it."""
    parts = NUMBER.split(name.replace("/", "\0"))
    return [int(part) if at % 2 else part for at, part in enumerate(parts)]
