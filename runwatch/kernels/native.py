"""The kernels of the parser as machine code that is kept: loaded without numba, which takes as long
to load as some hundred megabytes take to read.

They take and give whole numbers only, addresses most of them. The first call on a fresh install
builds them (`building`), which takes some seconds; later calls, of other processes too, load what
it left. The code counts as long as the files that it was made from and the processor are the same.
"""

import ctypes
import logging
from functools import cache
from threading import Lock
from typing import Any

from runwatch.kernels import keeping

_log = logging.getLogger("runwatch")
_LONGEST_REASON = 200
_lock = Lock()


class Native:
    """One kernel: a function of so many whole numbers that gives one."""

    def __init__(self, module: str, name: str, arguments: int) -> None:
        self.module, self.name, self.arguments = module, name, arguments
        self._code: Any = None

    def __call__(self, *numbers: int) -> int:
        """What the kernel gives; other threads run meanwhile."""
        found, unused = ctypes.c_int64(), ctypes.c_void_p()
        code = self._code or self._loaded()
        code(ctypes.byref(found), ctypes.byref(unused), *numbers)
        return found.value

    def _loaded(self) -> Any:
        """Kernels do not fail, so the status and the error that numba's functions give besides
        their value are not looked at."""
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * self.arguments
        )
        self._code = kind(_engine().get_function_address(self.name))
        return self._code


match = Native("matching", "match", 3)
follow = Native("following", "follow", 4)
text_end = Native("matching", "text_end", 2)
form_at = Native("matching", "form_at", 2)
exact_at = Native("matching", "exact_at", 2)
KERNELS = (match, follow, text_end, form_at, exact_at)


@cache
def is_kept() -> bool:
    """Whether an earlier process left the code behind, for this source and this processor."""
    return keeping.kept() is not None


def works() -> bool:
    """Whether the kernels can be called here, which builds them where nobody did. Where they
    cannot, that is told once."""
    with _lock:
        return _works()


@cache
def _works() -> bool:
    try:
        _linked()
    except Exception as e:  # of a compiler: another release's, one that is switched off, or none
        _log.warning("large logs are read without compiled code, slowly: %s", _reason(e))
        return False
    return True


def _reason(error: Exception) -> str:
    told = " ".join(str(error).split())
    return f"{type(error).__name__}: {told[:_LONGEST_REASON]}"


def _engine() -> Any:
    with _lock:
        return _linked()


@cache
def _linked() -> Any:
    """What the code runs in; it must be kept as long as the code is."""
    import llvmlite.binding as llvm

    code = keeping.kept()
    if code is None:
        code = _built()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def _built() -> bytes:
    """The code made anew, and kept where that can be."""
    _log.warning("compiling the fast path for large logs, for some seconds")
    from runwatch.kernels.building import built

    code = built(KERNELS)
    if not keeping.keep(code):
        where = " or ".join(keeping.places()) or "an install without sources"
        _log.warning("the next process compiles it again: nothing can be kept in %s", where)
    return code


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
