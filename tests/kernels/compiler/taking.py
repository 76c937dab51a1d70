"""Functions of tests, compiled."""

from collections.abc import Callable
from functools import cache
from typing import Any

from runwatch.kernels.building import built
from runwatch.kernels.native import Library


@cache
def taken(function: Callable[..., int], takes: str, fields: Any = ()) -> Callable[..., int]:
    """The same function, compiled for what `Native` calls these letters."""
    library = Library("tested", "tests fail")
    kernel = library.kernel("tested.function", takes, function, fields)
    library.take(built(library))
    return lambda *given: kernel.bound(*given)()
