"""A table that ships is understood once, and anew after it was changed."""

import os
import subprocess
import sys
from pathlib import Path

import runwatch

ASKED = """
import sys
from runwatch import kept, shipped
sys.modules["tomli"] = None if sys.argv[1] == "kept" else __import__("tomli")
print(shipped.table("known.toml"))
shipped.table("known.toml")["name"] = "changed by whoever was given it"
print(shipped.table("known.toml")["name"])
kept.save()
"""


def asked(install: Path, how: str) -> list[str]:
    """What a process of its own is given, with the TOML parser or without."""
    env = {**os.environ, "PYTHONPATH": str(install.parent), "XDG_CACHE_HOME": str(install / "c")}
    command = [sys.executable, "-c", ASKED, how]
    done = subprocess.run(command, env=env, cwd=install, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_a_table_is_read_again_only_where_it_was_changed(tmp_path: Path) -> None:
    install = tmp_path / "runwatch"
    install.mkdir()
    for name in ("__init__.py", "cache.py", "kept.py", "shipped.py"):
        content = (Path(runwatch.__file__).parent / name).read_bytes()
        (install / name).write_bytes(content)
    table = install / "known.toml"
    table.write_text('name = "loss"\n')
    assert asked(install, "new") == ["{'name': 'loss'}", "loss"]
    assert asked(install, "kept") == ["{'name': 'loss'}", "loss"]
    table.write_text('name = "step"\n')
    assert asked(install, "new") == ["{'name': 'step'}", "step"]
    assert asked(install, "kept") == ["{'name': 'step'}", "step"]
