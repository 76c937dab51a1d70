"""Records to findings: one detector a file, found by its place in this package.

A module here with a class `Detector` is a detector; nothing else has to know of it.
"""

from importlib import import_module

from runwatch import shipped
from runwatch.detect.detector import Detector
from runwatch.detect.faults import Detector as Faults
from runwatch.detect.series import Columns
from runwatch.detect.table import Room

__all__ = ["Columns", "Detector", "Faults", "Room", "detectors"]


def detectors() -> list[Detector]:
    """A new detector of every kind, in the order of their names."""
    modules = (
        import_module(f"{__name__}.{name.removesuffix('.py')}")
        for name in shipped.names("detect", ".py")
        if name not in ("__init__.py", "detector.py")
    )
    return [module.Detector() for module in modules if hasattr(module, "Detector")]
