"""Where the history lies."""

from pathlib import Path

import pytest

from runwatch.errors import StoreError
from runwatch.home import default_path

HOME = {"HOME": "/home/ada"}


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({**HOME, "RUNWATCH_HOME": "/data/rw"}, "linux", "/data/rw"),
        ({**HOME, "RUNWATCH_HOME": "~/rw"}, "linux", "/home/ada/rw"),
        ({"RUNWATCH_HOME": "rw", "XDG_DATA_HOME": "/x"}, "linux", "rw"),
        ({**HOME, "XDG_DATA_HOME": "/x"}, "linux", "/x/runwatch"),
        ({**HOME, "XDG_DATA_HOME": "x"}, "linux", "/home/ada/.local/share/runwatch"),
        (
            {**HOME, "RUNWATCH_HOME": "", "XDG_DATA_HOME": ""},
            "linux",
            "/home/ada/.local/share/runwatch",
        ),
        (HOME, "darwin", "/home/ada/Library/Application Support/runwatch"),
        ({"LOCALAPPDATA": "/c/Local"}, "win32", "/c/Local/runwatch"),
        ({"USERPROFILE": "/c/ada"}, "win32", "/c/ada/AppData/Local/runwatch"),
    ],
)
def test_the_place_follows_the_environment(
    environ: dict[str, str], platform: str, expected: str
) -> None:
    """RUNWATCH_HOME wins, then the user's data folder; an empty variable is unset."""
    assert default_path(environ, platform) == Path(expected) / "history.duckdb"


def test_without_a_home_it_asks_for_one() -> None:
    """A daemon without HOME gets an error that says what to set, not a file somewhere."""
    with pytest.raises(StoreError, match="neither RUNWATCH_HOME nor HOME") as caught:
        default_path({}, "linux")
    assert "--db" in caught.value.hint
