"""The example run that ships is the one that its script writes."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

FOLDER = ROOT / "examples" / "eight-ranks"


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_logs_are_what_the_script_writes(tmp_path: Path) -> None:
    """The same to the byte, so that a change is made in the script."""
    script = ROOT / "examples" / "eight_ranks.py"
    subprocess.run([sys.executable, script, tmp_path], check=True, timeout=60)
    assert files(FOLDER) == files(tmp_path)


def test_the_example_is_small() -> None:
    """It ships with the source: 200 KB at most."""
    assert sum(map(len, files(FOLDER).values())) < 200_000
