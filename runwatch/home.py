"""Where the history lies when nobody says otherwise."""

import sys
from collections.abc import Mapping
from pathlib import Path

from runwatch.errors import StoreError

FILE = "history.duckdb"


def default_path(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """RUNWATCH_HOME if set, else the folder for user data of this platform.

    Reads nothing but its arguments. Empty variables count as unset, and a relative XDG_DATA_HOME
    is ignored, as the XDG base directory specification asks.
    """
    if chosen := environ.get("RUNWATCH_HOME"):
        return _home(environ) / chosen[2:] / FILE if chosen[:2] == "~/" else Path(chosen) / FILE
    return _data_folder(environ, platform) / "runwatch" / FILE


def _data_folder(environ: Mapping[str, str], platform: str) -> Path:
    xdg = environ.get("XDG_DATA_HOME", "")
    if Path(xdg).is_absolute():
        return Path(xdg)
    if platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return Path(local) if local else _home(environ) / "AppData" / "Local"
    if platform == "darwin":
        return _home(environ) / "Library" / "Application Support"
    return _home(environ) / ".local" / "share"


def _home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if not home:
        raise StoreError(
            "no folder for the history: neither RUNWATCH_HOME nor HOME is set",
            hint="name the file with --db FILE, or set RUNWATCH_HOME to a folder",
        )
    return Path(home)
