"""The kernels of the parser as machine code that is kept: loaded without numba, which takes as long
to load as some hundred megabytes take to read.

They take and give whole numbers only, addresses most of them. The first call on a fresh install
builds them (`building`), which takes some seconds; later calls, of other processes too, load what
it left. The code counts as long as the files that it was made from and the processor are the same.
"""

import ctypes
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

_HERE = Path(__file__).parent
_OTHERS = 4  # sources whose code is kept in one folder
_DIGEST = 32  # bytes in front of the code, so that a torn file is seen
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
    return _kept() is not None


@cache
def stamp() -> str:
    """A digest of all that a kernel may be compiled from."""
    digest = sha256()
    for path in sorted(_HERE.glob("*.py")):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _engine() -> Any:
    with _lock:
        return _linked()


@cache
def _linked() -> Any:
    """What the code runs in; it must be kept as long as the code is."""
    import llvmlite.binding as llvm

    code = _kept()
    if code is None:
        logging.getLogger("runwatch").warning(
            "compiling the fast path for large logs: this once, for some seconds"
        )
        from runwatch.kernels.building import built

        code = built(KERNELS)
        _keep(code)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


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


def _name() -> str:
    """The name of the file for this source, this processor and this LLVM."""
    import llvmlite.binding as llvm

    what = (
        stamp(), llvm.get_default_triple(), llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(), str(llvm.llvm_version_info),
    )  # fmt: skip
    return f"native-{sha256(repr(what).encode()).hexdigest()[:32]}.o"


def _folders() -> Iterator[Path]:
    """Where the code may lie: where numba is told to keep its own, beside the source, or where the
    user keeps what can be made again."""
    if told := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(told)
        return
    yield _HERE / "__pycache__"
    with suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "runwatch"


def _kept() -> bytes | None:
    for folder in _folders():
        with suppress(OSError):
            whole = (folder / _name()).read_bytes()
            digest, code = whole[:_DIGEST], whole[_DIGEST:]
            if digest == sha256(code).digest():
                return code
    return None


def _keep(code: bytes) -> None:
    """Leave the code for later processes in the first place that can be written, whole or not at
    all; of what was made from other source there, the oldest goes."""
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="native-", dir=folder) as made:
                new = Path(made, "new")
                new.write_bytes(sha256(code).digest() + code)
                new.replace(folder / _name())
            kept = sorted(folder.glob("native-*.o"), key=lambda path: path.stat().st_mtime)
            for old in kept[:-_OTHERS]:
                old.unlink(missing_ok=True)
            return
