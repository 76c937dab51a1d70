"""The kernels as machine code that is kept, and called by addresses.

The first call on a fresh install compiles them (`work`), which takes some seconds; later calls, of
other processes too, load what it left. The code counts as long as the files that it was made
from and the processor are the same. There are two libraries of it, so that who only reads waits for
no detectors.
"""

import ctypes
import logging
import sys
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from runwatch.kernels.work import Work

_log = logging.getLogger("runwatch")
_LONGEST_REASON = 200
_WHOLES, _REALS = np.dtype(np.int64), np.dtype(np.float64)
_ARRAYS = {
    "i": (_WHOLES,), "h": (np.dtype(np.int32),), "b": (np.dtype(np.int8),), "f": (_REALS,),
    "w": (_WHOLES, _REALS),
}  # fmt: skip
_HEAD = object.__basicsize__  # bytes before what an object is besides an object


class Native:
    """One kernel: a function of numbers and arrays that gives a whole number.

    `takes` has a letter for each argument: `n` a whole number, `x` a double, `i`, `h`, `b` and `f`
    an array of int64, int32, int8 or doubles, `w` one of int64 or of doubles that are told by their
    bits, `r` records, whose `fields` are told. `function` is what it is compiled from, where that
    is not what its name says.
    """

    def __init__(
        self, library: "Library", name: str, takes: str, function: Callable[..., Any] | None,
        fields: Sequence[Any],
    ) -> None:  # fmt: skip
        self.library, self.name, self.takes = library, name, takes
        self.function, self.fields = function, fields

    def __call__(self, *numbers: float) -> int:
        """What the kernel gives; other threads run meanwhile. An array is told by its address and
        its length, records by their address."""
        found: int = self.code(*numbers)
        return found

    def bound(self, *given: Any) -> Callable[[], int]:
        """A call with these arrays and numbers, which it holds; to be made as often as wanted.
        Raises TypeError for an array of another type, or one that is not in one piece."""
        return partial(self._with, given, numbers(self.takes, given, self.name))

    def _with(self, held: Any, numbers: list[Any]) -> int:
        return self(*numbers)

    @cached_property
    def code(self) -> Any:
        """The function that is called, of numbers only."""
        whole, real = ctypes.c_int64, ctypes.c_double
        kinds: dict[str, list[Any]] = {"n": [whole], "x": [real], "r": [whole]}
        taken = (kind for letter in self.takes for kind in kinds.get(letter, [whole, whole]))
        return ctypes.CFUNCTYPE(whole, *taken)(self.library.address(self.name))


def numbers(takes: str, given: Sequence[Any], name: str = "a kernel") -> list[Any]:
    """What a kernel is called with for these arrays and numbers, whose letters `takes` has. Raises
    TypeError for an array of another type, or one that is not in one piece."""
    told: list[Any] = []
    for letter, each in zip(takes, given, strict=True):
        if letter in "nx":
            told.append(each)
        elif letter == "r":
            told.append(address(each))
        elif each.dtype in _ARRAYS[letter] and each.flags.c_contiguous:
            told += address(each), len(each)
        else:
            raise TypeError(f"{name} takes no such array of {each.dtype}")
    return told


def address(array: Any) -> int:
    """Where the cells of an array are: the first that NumPy's C interface (`PyArrayObject_fields`)
    says of an array, as `array.ctypes.data` tells in forty times the time."""
    if not _is_quick():
        return int(array.ctypes.data)
    return _word_at(id(array) + _HEAD).value


_word_at = ctypes.c_size_t.from_address


@cache
def _is_quick() -> bool:
    """Whether arrays lie in memory as NumPy says; not in every Python."""
    probe = np.zeros(1)
    return bool(ctypes.c_size_t.from_address(id(probe) + _HEAD).value == probe.ctypes.data)


class Library:
    """Kernels that are compiled and kept together. `without` is what is said where they cannot
    be."""

    def __init__(self, name: str, without: str) -> None:
        self.name, self._without = name, without
        self.kernels: list[Native] = []
        self._lock = Lock()
        self._failed = False
        self._work: Work | None = None
        self._engine: Any = None

    def kernel(
        self, name: str, takes: str, function: Callable[..., Any] | None = None,
        fields: Sequence[Any] = (),
    ) -> Native:  # fmt: skip
        """A new one of the library, as `Native` has it."""
        self.kernels.append(Native(self, name, takes, function, fields))
        return self.kernels[-1]

    @property
    def is_loaded(self) -> bool:
        """Whether the kernels can be called at once."""
        return self._engine is not None

    @cached_property
    def is_kept(self) -> bool:
        """Whether an earlier process left the code behind, for this source and this processor."""
        from runwatch.kernels import keeping

        return keeping.kept(self.name) is not None

    def works(self) -> bool:
        """Whether the kernels can be called here. Where nobody compiled them, another process does
        now: it is waited for, but not in an event loop, where others have to be served meanwhile.
        Where they cannot be, that is told once."""
        with self._lock:
            if self._engine is None and not self._failed:
                try:
                    self._load()
                except Exception as e:  # of a compiler: another release's, or none
                    self._failed = True
                    _log.warning("%s: %s", self._without, _reason(e))
            return self.is_loaded

    def address(self, name: str) -> int:
        """Where a kernel is. Raises what kept them from being compiled, RuntimeError where that
        goes on."""
        with self._lock:
            if self._engine is None:
                self._load()
            if self._engine is None:
                raise RuntimeError(f"{name} is not compiled yet")
            found: int = self._engine.get_function_address(name)
            return found

    def take(self, code: bytes) -> None:
        """Run this code, an object file; what it runs in must be kept as long as it is."""
        import llvmlite.binding as llvm

        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self._engine = engine

    def _load(self) -> None:
        from runwatch.kernels import keeping

        code = keeping.kept(self.name) if self._work is None else None
        if code is None:
            aside = _in_a_loop()
            if self._work is None:
                from runwatch.kernels.work import Work

                _say_so()
                self._work = Work(self.name, aside=aside)
            if aside and not self._work.is_over:
                return
            code, kept = self._work.result()
            if not kept:
                where = " or ".join(keeping.places()) or "an install without sources"
                _log.warning("the next process compiles it again: nothing can be kept in %s", where)
        self.take(code)


@cache
def _say_so() -> None:
    """Once for all that a process has compiled."""
    _log.warning("compiling the fast path for large logs, for some seconds")


def _in_a_loop() -> bool:
    """Whether this is part of an event loop, which stands still as long as it takes."""
    if "asyncio" not in sys.modules:
        return False
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


parsing = Library("parsing", "large logs are read without compiled code, slowly")
judging = Library("judging", "many numbers are judged without compiled code, slowly")
match = parsing.kernel("matching.match", "nnn")
follow = parsing.kernel("following.follow", "nnnn")
text_end = parsing.kernel("matching.text_end", "nn")
form_at = parsing.kernel("matching.form_at", "nn")
exact_at = parsing.kernel("matching.exact_at", "nn")


def _reason(error: Exception) -> str:
    told = " ".join(str(error).split())
    return f"{type(error).__name__}: {told[:_LONGEST_REASON]}"


def machine() -> Any:
    """What LLVM is told about the processor here."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3,
        reloc="static" if target.name.startswith("x86") else "default", jit=True,
    )  # fmt: skip
