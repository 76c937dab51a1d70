"""How kernels are compiled, and how long what was compiled counts. Importing it loads numba.

Compiled code is kept in files from one call to the next. numba takes it to be fresh while the file
of the kernel itself is the same; but a kernel holds what it calls, so here it is fresh while all
files of this folder are.
"""

from pathlib import Path
from typing import Any

from numba.core import caching

from runwatch.kernels.keeping import stamp

FAST: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# Called by other kernels only, so Python needs no way in.
PART: dict[str, Any] = {
    "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
}  # fmt: skip

_HERE = Path(__file__).parent


class _Together:
    """Places of numba's for compiled code, used for the kernels of this folder only."""

    def get_source_stamp(self) -> str:
        return stamp()

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        if Path(file).parent != _HERE:
            return None
        return super().from_function(function, file)  # type: ignore[misc]


class _Chosen(_Together, caching.UserProvidedCacheLocator):
    pass


class _Beside(_Together, caching.InTreeCacheLocator):
    pass


class _OfUser(_Together, caching.UserWideCacheLocator):
    pass


caching.CacheImpl._locator_classes[:0] = [_Chosen, _Beside, _OfUser]
