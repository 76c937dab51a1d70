"""Every command in the README works as it stands there."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

FINE = {0, 1, 4}  # worked; no-go and wait are answers too


def commands() -> Iterator[str]:
    """The lines after `$ ` in the console blocks."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from re.findall(r"^\$ (.*)$", block, re.MULTILINE)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a reader has: the examples, and `runwatch` on the path."""
    folder = tmp_path_factory.mktemp("reader of the manual")
    shutil.copytree(ROOT / "examples", folder / "examples")
    program = folder / "bin" / "runwatch"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m runwatch "$@"\n')
    program.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def surroundings(place: Path) -> dict[str, str]:
    """A fresh history that the commands share, as they build on each other."""
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "RUNWATCH_HOME": str(place / "history"), "HOME": str(place)}


@pytest.mark.parametrize("command", list(commands()))
def test_the_command_works(command: str, place: Path, surroundings: dict[str, str]) -> None:
    """It ends with an answer and without a word on stderr; make's targets exist."""
    if command.startswith("make "):
        done = subprocess.run([*command.split(), "-n"], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=place,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in FINE, done.stderr
    assert done.stderr == ""


def test_the_readme_has_commands_to_try() -> None:
    """The blocks were found: a change of the marks must not switch the test off."""
    assert {"make demo", "make test", "runwatch scan examples/eight-ranks"} <= set(commands())


def test_every_command_is_in_the_readme() -> None:
    """What the program can do is shown to newcomers."""
    from runwatch.cli.words.grammar import names

    text = "\n".join(commands())
    assert [name for name in names() if f"runwatch {name}" not in text] == []


def test_the_picture_is_not_stale(tmp_path: Path) -> None:
    """docs/scan.svg shows what the command says today; `make screenshot` draws it anew."""
    drawn = tmp_path / "scan.svg"
    subprocess.run([sys.executable, ROOT / "docs" / "screenshot.py", drawn], check=True, timeout=60)
    assert (ROOT / "docs" / "scan.svg").read_text() == drawn.read_text()
