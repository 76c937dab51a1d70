"""Whether the kernels are compiled already, and the word that they are not. Importing it loads
numba."""

import logging
from functools import cache

from runwatch.kernels import following, matching


@cache
def announce() -> None:
    """Say once, on standard error, that the kernels must be compiled first."""
    if not is_cached():
        logging.getLogger("runwatch").warning(
            "compiling the fast path for large logs: this once, for some seconds"
        )


def is_cached() -> bool:
    """Whether an earlier process left the compiled kernels behind, for this very code."""
    return all(_has_entries(kernel) for kernel in (matching.match, following.follow))


def _has_entries(kernel: object) -> bool:
    """numba tells hits only once it has compiled; the index of its cache tells before."""
    cache = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    load = getattr(cache, "_load_index", None)
    return load is None or bool(load())
