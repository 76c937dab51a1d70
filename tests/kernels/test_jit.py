"""Compiled code is kept, and not for longer than it is true."""

import shutil
import subprocess
import sys
from pathlib import Path

import runwatch
from runwatch.kernels import compiled, gradient
from runwatch.kernels.keeping import stamp

PART = "from numba import njit\n\n\n@njit\ndef part():\n    return {}\n"
WHOLE = """\
from numba import njit

from runwatch.kernels.jit import FAST
from runwatch.kernels.part import part


@njit(**FAST)
def whole():
    return part()


if __name__ == "__main__":
    from runwatch.kernels.whole import whole as kept

    print(kept(), sum(kept.stats.cache_hits.values()))
"""


def test_a_kernel_is_compiled_anew_when_what_it_calls_has_changed(tmp_path: Path) -> None:
    folder = tmp_path / "runwatch" / "kernels"
    folder.mkdir(parents=True)
    for name in ("__init__.py", "cache.py"):
        shutil.copy(Path(runwatch.__file__).parent / name, folder.parent)
    for name in ("__init__.py", "jit.py", "keeping.py"):
        shutil.copy(Path(runwatch.__file__).parent / "kernels" / name, folder)
    (folder / "whole.py").write_text(WHOLE)

    def told() -> str:
        return subprocess.run(
            [sys.executable, "-m", "runwatch.kernels.whole"],
            cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)},
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    (folder / "part.py").write_text(PART.format(1))
    assert "1 0\n" == told()
    assert "1 1\n" == told()
    (folder / "part.py").write_text(PART.format(2))
    assert "2 0\n" == told()


def test_the_kernels_are_kept_by_the_stamp_of_them_all() -> None:
    kernel = compiled.compiled(gradient.follow)
    assert stamp() == kernel._cache._impl._locator.get_source_stamp()
