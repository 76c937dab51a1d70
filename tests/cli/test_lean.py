"""NumPy is complete for whoever asks for more of it later."""

import subprocess
import sys

import numpy
import numpy.typing

from runwatch.cli.words import lean

LATER = """
import sys
from runwatch.cli.words.lean import load_numpy
load_numpy()
left_out = "numpy._typing" not in sys.modules
import numpy, numpy.ma, numpy.random, numpy.typing, numpy.testing, numpy.polynomial
print(left_out, numpy.typing.NDArray[numpy.int64], numpy.ma.masked_invalid([1, numpy.nan]).sum())
print(numpy.linalg.eigh([[2.0, 0.0], [0.0, 3.0]]).eigenvalues, numpy.sort.__doc__ is not None)
"""


def test_what_was_left_out_comes_when_it_is_asked_for() -> None:
    command = [sys.executable, "-W", "error", "-c", LATER]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    kind = str(numpy.typing.NDArray[numpy.int64])
    assert first == f"{_is_known()} {kind} 1.0"
    assert second == "[2. 3.] True"


def test_the_release_is_told_without_loading_it() -> None:
    assert lean._release().startswith(f'{numpy.__version__}"')


def _is_known() -> bool:
    return numpy.__version__.startswith(lean._KNOWN)
