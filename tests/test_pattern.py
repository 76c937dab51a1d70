"""A kept pattern is the one that `re` compiles."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import runwatch
from runwatch.pattern import compiled

PIECES = st.sampled_from(
    [
        "a",
        "[^\\W_]",
        "(b)",
        "(?P<n>c+)",
        "(?:d|e)*?",
        "\\d{2,5}",
        "(?<!x)",
        "(?i:Straße)",
        "$",
        "\\b",
    ]
)
FLAGS = st.sampled_from([0, re.I, re.VERBOSE, re.I | re.DOTALL])

# What a process says of a pattern and of how it came by it.
ASKED = """
import re, sys
from runwatch import pattern
made = []
parts = pattern._parts
pattern._parts = lambda *given: made.append(given) or parts(*given)
found = pattern.compiled(r"(?P<step>\\d+) of (\\w+)", re.I)
print(found == re.compile(r"(?P<step>\\d+) of (\\w+)", re.I), len(made), found.groupindex)
from runwatch import kept; kept.save()
"""


@given(st.lists(PIECES, max_size=5, unique=True), FLAGS)
def test_it_is_equal_to_the_compiled_one(pieces: list[str], flags: int) -> None:
    """Equality of patterns compares text, flags and code."""
    text = "".join(pieces)
    assert compiled(text, flags) == re.compile(text, flags)
    assert compiled(text.encode(), flags) == re.compile(text.encode(), flags)
    assert compiled(text, flags).groupindex == re.compile(text, flags).groupindex


def test_a_wrong_one_is_an_error_as_ever() -> None:
    with pytest.raises(re.error, match="unterminated"):
        compiled("(a")


def asked(cache: Path) -> str:
    """What a process of its own says that may keep its patterns only there."""
    package = Path(runwatch.__file__).parent
    install = cache / "install" / "runwatch"
    if not install.exists():
        install.mkdir(parents=True)
        for name in ("__init__.py", "cache.py", "kept.py", "pattern.py"):
            (install / name).write_bytes((package / name).read_bytes())
        (install / "__pycache__").touch()  # no folder: patterns go to the user's cache
    env = {**os.environ, "PYTHONPATH": str(install.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {"XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", ASKED]
    done = subprocess.run(command, env=env, cwd=cache, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_another_process_need_not_compile_it(tmp_path: Path) -> None:
    """Unless what is kept is torn, or written by somebody else."""
    assert asked(tmp_path) == "True 1 {'step': 1}"
    assert asked(tmp_path) == "True 0 {'step': 1}"
    (file,) = (tmp_path / "runwatch").iterdir()
    file.write_bytes(file.read_bytes()[:-3])
    assert asked(tmp_path) == "True 1 {'step': 1}"
    assert asked(tmp_path) == "True 0 {'step': 1}"
    file.chmod(0o666)
    assert asked(tmp_path) == "True 1 {'step': 1}"
