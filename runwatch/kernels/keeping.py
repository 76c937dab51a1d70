"""Under which name and where the machine code of the kernels is kept."""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from runwatch import __version__
from runwatch.cache import folders, read, write

_HERE = Path(__file__).parent


@cache
def stamp() -> str:
    """A digest of all that a kernel may be compiled from."""
    digest = sha256(__version__.encode())
    for path in _sources():
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def kept() -> bytes | None:
    """The code that an earlier process left for this source, this processor and this LLVM."""
    with suppress(ImportError):
        return read(_name(), _folders())
    return None


def keep(code: bytes) -> bool:
    """Leave the code for later processes. Whether there was a place for it."""
    return write(_name(), code, _folders())


def places() -> list[str]:
    """The folders that code may be kept in; none where no source is there to tell it by."""
    return [str(folder) for folder in _folders()]


def _sources() -> list[Path]:
    return sorted(_HERE.glob("*.py"))


def _name() -> str:
    """The name of the file for this source, this processor and this compiler: each release of numba
    is bound to one of llvmlite, and asking for its own version takes longer than loading code."""
    import llvmlite
    import llvmlite.binding as llvm

    what = (
        stamp(), llvm.get_default_triple(), llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(), str(llvm.llvm_version_info), llvmlite.__version__,
    )  # fmt: skip
    return f"native-{sha256(repr(what).encode()).hexdigest()[:32]}.o"


def _folders() -> Iterator[Path]:
    """Where numba is told to keep its own, else where all is kept that can be made again."""
    if not _sources():
        return
    if numbas := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(numbas)
        return
    yield from folders(_HERE)
