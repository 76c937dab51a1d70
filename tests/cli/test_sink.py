"""A file of results appears whole or not at all."""

from pathlib import Path

import pytest

from runwatch.cli.report.sink import sink
from runwatch.errors import InputError, UsageError


def test_a_result_is_there_when_it_is_complete(tmp_path: Path) -> None:
    """Nothing is visible under the name until the end, and nothing else remains."""
    place = tmp_path / "points.csv"
    with sink(str(place), force=False) as out:
        out.write(b"1\n")
        assert not place.exists()
    assert [place] == list(tmp_path.iterdir())
    assert place.read_bytes() == b"1\n"


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    """The half-written file goes, and an old one stays as it was."""
    place = tmp_path / "points.csv"
    place.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012, SIM117 - the raise inside is the case
        with sink(str(place), force=True) as out:
            out.write(b"new")
            raise KeyboardInterrupt
    assert [(place, b"old")] == [(path, path.read_bytes()) for path in tmp_path.iterdir()]


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    """An existing file is an error before anything is read; --force allows it."""
    place = tmp_path / "points.csv"
    place.write_bytes(b"old")
    with pytest.raises(UsageError, match="exists"), sink(str(place), force=False):
        pytest.fail("opened")
    with sink(str(place), force=True) as out:
        out.write(b"new")
    assert place.read_bytes() == b"new"


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    """An unwritable place is one clear error."""
    with pytest.raises(InputError, match="cannot write"), sink(str(tmp_path / "no/x"), force=False):
        pytest.fail("opened")


def test_a_device_is_written_as_it_is() -> None:
    """`-o /dev/null` works, and needs no --force."""
    with sink("/dev/null", force=False) as out:
        out.write(b"x")
