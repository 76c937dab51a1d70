"""NumPy, loaded in two thirds of its time: without what a command line has no use for."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

# The texts of NumPy's manual, and types for type checkers: the releases that can do without.
_DISPENSABLE = ("numpy._core._add_newdocs", "numpy._typing")
_KNOWN = ("2.2.", "2.3.", "2.4.")


def load_numpy() -> None:
    """Without the threads of its linear algebra, one a core, which nothing here needs and which a
    machine that trains has no core for; what this process starts is not told. And, in releases
    that are known, without its manual and its types, which cost as much as reading a small log."""
    if "numpy" in sys.modules:
        return
    with _one_thread(), _left_out(_DISPENSABLE if _release().startswith(_KNOWN) else ()):
        import numpy  # noqa: F401 it reads the variable as it is loaded


@contextmanager
def _one_thread() -> Iterator[None]:
    name = "OPENBLAS_NUM_THREADS"
    told = name in os.environ
    os.environ.setdefault(name, "1")
    try:
        yield
    finally:
        if not told:
            del os.environ[name]


@contextmanager
def _left_out(names: tuple[str, ...]) -> Iterator[None]:
    """Whoever asks for one of these modules meanwhile is given one where every name is anything;
    who asks afterwards is given the real one."""
    for name in names:
        sys.modules[name] = _Nothing(name)
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]


class _Nothing(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: object) -> "_Nothing":
        return self


def _release() -> str:
    spec = find_spec("numpy")
    if spec is None or spec.origin is None:
        return ""
    with suppress(OSError, IndexError):
        text = Path(spec.origin).with_name("version.py").read_text("utf-8")
        return text.split('version = "', 1)[1]
    return ""
