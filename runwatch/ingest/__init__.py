"""Where bytes come from, one source a file."""

from importlib import import_module

from runwatch.ingest.source import Skipped, Source
from runwatch.target import SERVICES, Target

__all__ = ["Skipped", "Source", "open_source"]


def open_source(target: Target) -> Source:
    """The source for a target: `open_target` of the module named after its kind.

    Raises InputError where there is nothing to read, before anything is read.
    """
    module = _MODULES.get(target.kind, str(target.kind))
    source: Source = import_module(f"runwatch.ingest.{module}").open_target(target)
    return source


_MODULES = dict.fromkeys(SERVICES, "service")
