"""Where machine code is kept from one process to the next, and which of it may be run.

What a file holds is run as it stands, so only a file counts that nobody else can have written: it
and its folder belong to us, to root or to whom the source belongs to, and no other may write them.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from runwatch import __version__

_HERE = Path(__file__).parent
_MOST = 32  # files in one folder: sources, and kinds of processors where a home is shared
_DIGEST = 32  # bytes in front of the code, so that a torn file is seen
_OTHERS_WRITE = 0o022
_ABANDONED = 3600  # seconds after which nobody is writing a file any more


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
        name = _name()
        for folder in _folders():
            with suppress(OSError):
                whole = _trusted(folder, name)
                digest, code = whole[:_DIGEST], whole[_DIGEST:]
                if digest == sha256(code).digest():
                    with suppress(OSError):
                        os.utime(folder / name)  # what is used is not what goes first
                    return code
    return None


def keep(code: bytes) -> bool:
    """Leave the code for later processes in the first place that can be written and trusted, whole
    or not at all; of what lies there, what was used least recently goes. Whether there was one."""
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            if not _is_ours(folder.stat()):
                continue
            with tempfile.TemporaryDirectory(prefix="native-", dir=folder) as made:
                new = Path(made, "new")
                new.write_bytes(sha256(code).digest() + code)
                new.chmod(0o644)
                new.replace(folder / _name())
            _clean(folder)
            return True
    return False


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
    """Where the code may lie: where numba is told to keep its own, beside the source, or where the
    user keeps what can be made again. A relative XDG_CACHE_HOME is ignored, as the XDG base
    directory specification asks."""
    if not _sources():
        return
    if numbas := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(numbas)
        return
    yield _HERE / "__pycache__"
    told = Path(os.environ.get("XDG_CACHE_HOME", ""))
    with suppress(RuntimeError):  # a user without a home
        yield (told if told.is_absolute() else Path.home() / ".cache") / "runwatch"


def _trusted(folder: Path, name: str) -> bytes:
    """What a file holds. Raises OSError where there is none, or others may have written it."""
    if not _is_ours(folder.stat()):
        raise PermissionError(folder)
    with (folder / name).open("rb") as file:
        if not _is_ours(os.fstat(file.fileno())):
            raise PermissionError(folder / name)
        return file.read()


def _is_ours(status: os.stat_result) -> bool:
    owners = {os.geteuid(), 0, _HERE.stat().st_uid}
    return status.st_uid in owners and not status.st_mode & _OTHERS_WRITE


def _clean(folder: Path) -> None:
    """Remove the files that were used least recently, and what processes left that were killed
    while they wrote one. Others may be doing the same."""
    used = {}
    for path in folder.glob("native-*"):
        with suppress(OSError):
            then = path.stat().st_mtime
            if path.suffix == ".o":
                used[path] = then
            elif then < time.time() - _ABANDONED:
                (path / "new").unlink(missing_ok=True)
                path.rmdir()
    for path in sorted(used, key=used.__getitem__)[:-_MOST]:
        with suppress(OSError):
            path.unlink()
