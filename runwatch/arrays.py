"""NumPy arrays by what they hold, for signatures; their shapes are told where they are used.

`numpy.typing` is for type checkers: to load it takes a tenth of what all of NumPy does.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Bytes = npt.NDArray[np.uint8]
    Flags = npt.NDArray[np.bool_]
    Floats = npt.NDArray[np.float64]
    Indices = npt.NDArray[np.intp]
    Ints = npt.NDArray[np.int64]
else:
    Array = Bytes = Flags = Floats = Indices = Ints = np.ndarray
