"""Where results go: stdout, or a file that appears whole or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from runwatch.errors import InputError, UsageError


@contextmanager
def sink(out: str | None, *, force: bool, binary: bool = False) -> Iterator[BinaryIO]:
    """Open `out` (None or `-` is stdout) for bytes.

    A file is written beside its place and moved there at the end, so an interruption leaves
    neither half a result nor a damaged old one. Pipes and devices are written directly.
    Raises UsageError for a file that exists (without `force`) and for `binary` on a terminal.
    """
    if out is None or out == "-":
        if binary and sys.stdout.isatty():
            raise UsageError("this format is not for a terminal", hint="add `-o FILE`")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    place = Path(out)
    if place.exists() and not place.is_file():
        if place.is_dir():
            raise UsageError(f"{out} is a folder", hint="name a file in it")
        with place.open("wb") as device:
            yield device
        return
    if place.exists() and not force:
        raise UsageError(f"{out} exists", hint="add `--force` to overwrite it")
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(place)
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.filename not in (None, str(part)):
            raise
        raise InputError(f"cannot write {out}: {error.strerror}", hint=_hint(error)) from error
    finally:
        part.unlink(missing_ok=True)


def _hint(error: OSError) -> str:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space, or name a file on another disk"
    return "check the folder and its permissions"
