"""Under which name and where the machine code of the kernels is kept."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from runwatch import __version__
from runwatch.cache import folders, read, write

if sys.platform != "win32":
    import fcntl

_HERE = Path(__file__).parent
_PATIENCE = 120.0  # seconds: the other process may have been stopped
_PAUSE = 0.05  # seconds


@cache
def stamp() -> str:
    """A digest of all that a kernel may be compiled from."""
    digest = sha256(__version__.encode())
    for path in _sources():
        name = path.relative_to(_HERE).as_posix()
        digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def kept(name: str) -> bytes | None:
    """The code that an earlier process left for this source, this processor and this LLVM."""
    with suppress(ImportError):
        return read(_name(name), _folders())
    return None


def keep(name: str, code: bytes) -> bool:
    """Leave the code for later processes. Whether there was a place for it."""
    return write(_name(name), code, _folders())


@contextmanager
def turn(name: str) -> Iterator[None]:
    """While others of this user that want the same wait for their turn; the system ends it with the
    process. Nobody waits where nothing can be kept, nor much longer than it may take."""
    file = _lock_file(name)
    if file is None:
        yield
        return
    try:
        give_up = time.monotonic() + _PATIENCE
        while not _is_locked(file) and time.monotonic() < give_up:
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(file)


def _lock_file(name: str) -> int | None:
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            return os.open(folder / f"{name}.lock", flags, 0o600)
    return None


def _is_locked(file: int) -> bool:
    if sys.platform == "win32":
        return True  # no such locks there: each compiles for itself
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # of a file system without locks
        return True
    return True


def places() -> list[str]:
    """The folders that code may be kept in; none where no source is there to tell it by."""
    return [str(folder) for folder in _folders()]


def _sources() -> list[Path]:
    return sorted(_HERE.rglob("*.py"))


def _name(library: str) -> str:
    """The name of the file for this source, this processor and this compiler."""
    import llvmlite
    import llvmlite.binding as llvm

    what = (
        stamp(), llvm.get_default_triple(), llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(), str(llvm.llvm_version_info), llvmlite.__version__,
    )  # fmt: skip
    return f"{library}-{sha256(repr(what).encode()).hexdigest()[:32]}.o"


def _folders() -> Iterator[Path]:
    """Where all is kept that can be made again; without sources nothing tells code apart."""
    if _sources():
        yield from folders(_HERE)
