"""The files of hosts whose keys are known, as OpenSSH keeps them."""

import os
from contextlib import suppress
from typing import Any


def _own_file() -> str:
    return os.path.expanduser("~/.ssh/known_hosts")


def known(files: object) -> Any:
    """The files of known hosts that are there; asyncssh takes no list with a missing one."""
    paths = [str(path) for path in files] if isinstance(files, list | tuple) else []
    paths = [os.path.expanduser(path) for path in paths] or [_own_file()]
    there = [path for path in paths if os.access(path, os.R_OK)]
    return there or b""


def remember(files: object, line: str) -> None:
    """Add a host to the first of the files, or to the user's own; nothing where it cannot be."""
    first = str(files[0]) if isinstance(files, list | tuple) and files else _own_file()
    path = os.path.expanduser(first)
    with suppress(OSError):  # a read-only home: it is asked again the next time
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with open(descriptor, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            torn = size and os.pread(file.fileno(), 1, size - 1) != b"\n"
            file.write((b"\n" if torn else b"") + line.encode())
