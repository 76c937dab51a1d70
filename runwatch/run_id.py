"""What a run is called in the history."""

import os
from collections.abc import Callable
from datetime import datetime

from runwatch.digest import blake2b
from runwatch.redact import redact
from runwatch.target import FILES, Kind, Target


def run_id(target: Target, clock: Callable[[], datetime]) -> str:
    """A name for the run that is the same for the same target: `train-1f0c2a9b`."""
    if target.kind is Kind.STANDARD_INPUT:
        return f"stdin-{clock():%Y%m%d-%H%M%S}"
    path = os.path.abspath(target.path)
    word = os.path.basename(path)
    if target.host or target.kind not in FILES:
        path = str(target)
        word = f"{target.host or target.kind}-{word}"
    kept = "".join(c if c.isalnum() or c in "._-" else "_" for c in redact(word))[:40]
    digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=4)
    return f"{kept}-{digest.hexdigest()}"
