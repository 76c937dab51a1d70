"""A quoted glob as one run: a stream for each log that it matches."""

import glob
import os

from runwatch.errors import InputError
from runwatch.ingest.file import Files, printable
from runwatch.ingest.folder import Walk, logs_of
from runwatch.ingest.sniff import passed_over
from runwatch.target import Target


def open_target(target: Target) -> Files:
    """All logs that match, and those below the folders that match; `**` goes to any depth.

    An ending in the glob itself (`*.csv`) is read whatever it usually is. Raises InputError
    where nothing matches or nothing that matches is a log.
    """
    paths = sorted(glob.glob(target.path, recursive=True))
    if not paths:
        raise InputError(
            f"{printable(target.text)}: nothing matches", hint="is the folder before the * right?"
        )
    found = Walk(os.path.splitext(target.path)[1].lower())
    logs = []
    for path in sorted(paths, key=os.path.islink):  # a link gives way to the file itself
        why = "" if os.path.isdir(path) else passed_over(path, found.wanted)
        if why:
            found.pass_over(os.path.dirname(path), path, why)
        else:
            logs.append(path)
    found.enter(logs)
    return logs_of(found, before_signs(target.path), printable(target.text))


def before_signs(path: str) -> str:
    """The folder in front of the first part of a glob that has a sign in it, absolute.

    The streams' names are relative to it, so they stay whatever joins later.
    """
    parts = path.split("/")
    plain = next(at for at, part in enumerate(parts) if any(sign in part for sign in "*?["))
    return os.path.abspath("/".join(parts[:plain]) or ("/" if path.startswith("/") else "."))
