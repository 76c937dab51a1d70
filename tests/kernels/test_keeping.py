"""Machine code is kept where nobody else can have written it, as long as it is true."""

import compileall
import os
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite
import pytest

import runwatch
from runwatch.cache import _MOST, _clean
from runwatch.kernels import keeping

CODE = b"code" * 1000
NOBODY = 65534


@pytest.fixture(name="cache")
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that code is kept in, and nowhere else."""
    monkeypatch.setenv("RUNWATCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(name="install")
def _install(tmp_path: Path) -> Path:
    """A folder with as much of the package as keeps code."""
    source, folder = Path(runwatch.__file__).parent, tmp_path / "install" / "runwatch"
    (folder / "kernels").mkdir(parents=True)
    for name in ("__init__.py", "cache.py", "kernels/__init__.py", "kernels/keeping.py"):
        shutil.copy(source / name, folder / name)
    return folder


def asked(install: Path, what: str) -> str:
    """What an expression is in a process that uses another install."""
    env = {**os.environ, "PYTHONPATH": str(install.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {"XDG_CACHE_HOME": str(install.parent / "home")}
    env.pop("RUNWATCH_CACHE", None)
    code = f"from runwatch.kernels import keeping; print({what})"
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=install.parent, env=env, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip


def test_a_torn_file_is_not_taken(cache: Path) -> None:
    """It is as if there were none; whole, it is taken."""
    assert keeping.keep("native", CODE)
    assert CODE == keeping.kept("native")
    [file] = cache.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert keeping.kept("native") is None


@pytest.mark.parametrize("mode", [0o020, 0o002])
def test_what_others_can_write_is_not_taken(cache: Path, mode: int) -> None:
    """Neither a file, nor from a folder; and nothing is put into such a folder."""
    assert keeping.keep("native", CODE)
    [file] = cache.iterdir()
    file.chmod(0o644 | mode)
    assert keeping.kept("native") is None
    file.chmod(0o644)
    cache.chmod(0o755 | mode)
    assert keeping.kept("native") is None
    assert not keeping.keep("native", CODE[1:])
    cache.chmod(0o755)
    assert CODE == keeping.kept("native")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_others_own_is_not_taken(cache: Path) -> None:
    assert keeping.keep("native", CODE)
    for path in (cache, next(cache.iterdir())):
        os.chown(path, NOBODY, NOBODY)
        assert keeping.kept("native") is None
        os.chown(path, 0, 0)
    assert CODE == keeping.kept("native")


def test_a_loose_mask_does_not_keep_code_from_being_taken(cache: Path) -> None:
    before = os.umask(0)
    try:
        assert keeping.keep("native", CODE)
    finally:
        os.umask(before)
    assert CODE == keeping.kept("native")


def test_another_release_has_code_of_its_own(
    install: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of runwatch, and of the compiler."""
    before = asked(install, "keeping.stamp()")
    assert before == asked(install, "keeping.stamp()")
    (install / "__init__.py").write_text('__version__ = "another"\n')
    assert before != asked(install, "keeping.stamp()")
    assert keeping.keep("native", CODE)
    monkeypatch.setattr(llvmlite, "__version__", "another")
    assert keeping.kept("native") is None


def test_an_install_without_sources_keeps_nothing(install: Path) -> None:
    """Nothing there would tell one release's code from another's."""
    assert "True\n" == asked(install, "keeping.keep('native', b'code')")
    assert "b'code'\n" == asked(install, "keeping.kept('native')")
    assert compileall.compile_dir(install, quiet=1, legacy=True)
    for path in install.rglob("*.py"):
        path.unlink()
    assert "False [] None\n" == asked(
        install,
        "keeping.keep('native', b'code'), *[keeping.places(), keeping.kept('native')], sep=' '",
    )


@pytest.mark.parametrize("told", ["", "cache", "./cache"])
def test_a_relative_folder_for_caches_is_none(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    """Else every folder that one works in would get code, and could give some."""
    monkeypatch.delenv("RUNWATCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", told)
    monkeypatch.setenv("HOME", "/home/ours")
    assert "/home/ours/.cache/runwatch" == keeping.places()[-1]
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert "/caches/runwatch" == keeping.places()[-1]


def test_what_is_used_stays(cache: Path) -> None:
    """Of many files the one goes that was used least recently, not the one made first."""
    assert keeping.keep("native", CODE)
    [file] = cache.iterdir()
    os.utime(file, (0, 0))
    others = [cache / f"native-{i}.o" for i in range(_MOST + 3)]
    for i, other in enumerate(others, 1):
        other.touch()
        os.utime(other, (i, i))
    assert CODE == keeping.kept("native")
    _clean(cache, "native-")
    assert {file, *others[4:]} == {*cache.iterdir()}


def test_what_cannot_be_removed_has_nothing_kept_twice(install: Path) -> None:
    """And the leftovers of a killed process go, those of one that still writes do not."""
    beside, home = install / "kernels" / "__pycache__", install.parent / "home" / "runwatch"
    for i in range(_MOST + 3):
        (beside / f"native-{i}.o").mkdir(parents=True)
        os.utime(beside / f"native-{i}.o", (i, i))
    for name in ("killed", "writing"):
        (beside / f"native-{name}").mkdir()
        (beside / f"native-{name}" / "new").touch()
    os.utime(beside / "native-killed", (0, 0))
    assert "True\n" == asked(install, "keeping.keep('native', b'code')")
    assert not home.exists()
    assert not (beside / "native-killed").exists()
    assert (beside / "native-writing" / "new").exists()
