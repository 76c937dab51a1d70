"""Where bytes come from, one source a file."""

from importlib import import_module

from runwatch.ingest.source import Skipped, Source
from runwatch.target import Target

__all__ = ["Skipped", "Source", "open_source"]


def open_source(target: Target) -> Source:
    """The source for a target: `open` of the module named after its kind.

    Raises InputError where there is nothing to read, before anything is read.
    """
    source: Source = import_module(f"runwatch.ingest.{target.kind}").open_target(target)
    return source
