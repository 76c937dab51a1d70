"""What can be made again is kept from one process to the next: where, and which of it may be used.

What a file holds is run as it stands, so only a file counts that nobody else can have written: it
and its folder belong to us, to root or to whom the package belongs to, and no other may write them.
"""

import os
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_PACKAGE = Path(__file__).parent
_MOST = 32  # files of one kind in a folder: releases, and machines that share a home
_CHECK = 4  # bytes in front of the rest, so that a torn file is seen
_OTHERS_WRITE = 0o022
_ABANDONED = 3600  # seconds after which nobody is writing a file any more


def folders(source: Path) -> Iterator[Path]:
    """Where it may lie: in the folder that RUNWATCH_CACHE names, else beside the source, as
    Python's own, or where the user keeps what can be made again. What is relative is ignored, as
    the XDG base directory specification asks of XDG_CACHE_HOME: any folder that one works in would
    be one.
    """
    if (chosen := Path(os.environ.get("RUNWATCH_CACHE", ""))).is_absolute():
        yield chosen
        return
    yield source / "__pycache__"
    told = Path(os.environ.get("XDG_CACHE_HOME", ""))
    with suppress(RuntimeError):  # a user without a home
        yield (told if told.is_absolute() else Path.home() / ".cache") / "runwatch"


def read(name: str, places: Iterable[Path]) -> bytes | None:
    """What an earlier process left under this name, from the first of the folders that has it."""
    for folder in places:
        with suppress(OSError):
            whole = _trusted(folder, name)
            check, content = whole[:_CHECK], whole[_CHECK:]
            if check == _check(content):
                with suppress(OSError):
                    os.utime(folder / name)  # what is used is not what goes first
                return content
    return None


def write(name: str, content: bytes, places: Iterable[Path], *, mode: int = 0o644) -> bool:
    """Leave it for later processes in the first folder that can be written and trusted, whole or
    not at all; of what begins like its name, up to the first `-`, the files that were used least
    recently go. Whether there was such a folder."""
    from tempfile import TemporaryDirectory

    kind = name[: name.index("-") + 1]
    for folder in places:
        with suppress(OSError):
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            if not _is_ours(folder.stat()):
                continue
            with TemporaryDirectory(prefix=kind, dir=folder) as made:
                new = Path(made, "new")
                new.write_bytes(_check(content) + content)
                new.chmod(mode)
                new.replace(folder / name)
            _clean(folder, kind)
            return True
    return False


def _check(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(_CHECK, "big")


def _trusted(folder: Path, name: str) -> bytes:
    """What a file holds. Raises OSError where there is none, or others may have written it."""
    if not _is_ours(folder.stat()):
        raise PermissionError(folder)
    with (folder / name).open("rb") as file:
        if not _is_ours(os.fstat(file.fileno())):
            raise PermissionError(folder / name)
        return file.read()


def _is_ours(status: os.stat_result) -> bool:
    owners = {os.geteuid(), 0, _PACKAGE.stat().st_uid}
    return status.st_uid in owners and not status.st_mode & _OTHERS_WRITE


def _clean(folder: Path, kind: str) -> None:
    """Remove the files that were used least recently, and what processes left that were killed
    while they wrote one. Others may be doing the same."""
    used = {}
    for path in folder.glob(f"{kind}*"):
        with suppress(OSError):
            then = path.stat().st_mtime
            if path.is_file():
                used[path] = then
            elif then < time.time() - _ABANDONED:
                (path / "new").unlink(missing_ok=True)
                path.rmdir()
    for path in sorted(used, key=used.__getitem__)[:-_MOST]:
        with suppress(OSError):
            path.unlink()
