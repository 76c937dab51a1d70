"""Compiles the kernels of a library: their text as Python has it, put into LLVM's, and that into
machine code.

Kernels are written in little of Python: whole numbers of 64 bits, doubles, truths, records, arrays
and tuples; `if`, `while`, `for` over a range; calls of each other. All kinds are known from the
arguments on, so every function is compiled once for each kind of argument that it meets.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from threading import Thread
from typing import Any

import llvmlite.binding as llvm

from runwatch.kernels.compiler.kinds import (
    BYTES,
    HALVES,
    REAL,
    REALS,
    WHOLE,
    WHOLES,
    Array,
    Record,
    Records,
)
from runwatch.kernels.compiler.module import Module
from runwatch.kernels.native import Library, Native, judging, machine, parsing
from runwatch.kernels.stand_ins import TWINS

_SERIES = (
    "spike", "divergence", "plateau", "throughput", "gradient", "learning_rate", "vanished",
    "nonfinite", "straggler", "loss_scale", "named",
)  # fmt: skip
_NEEDED = {"log10", "pow"}  # of the C library, as Python itself needs them
_LEVEL = 3
_KINDS = {
    "n": WHOLE, "x": REAL, "i": Array(WHOLES), "w": Array(WHOLES), "h": Array(HALVES),
    "b": Array(BYTES), "f": Array(REALS),
}  # fmt: skip


def built(library: Library) -> bytes:
    """An object file with the kernels under their names. Raises TypeError for a kernel that is
    written in more of Python than there is, RuntimeError where it needs what is not there."""
    target = machine()
    whole = llvm.parse_assembly(written(library))
    whole.triple = llvm.get_default_triple()
    whole.verify()
    optimise(whole, target)
    if missing := foreign(whole):
        raise RuntimeError(f"kernels need what is not theirs: {', '.join(missing)}")
    return bytes(target.emit_object(whole))


def written(library: Library) -> str:
    """The library as LLVM's text."""
    module = Module(TWINS)
    if library is judging:
        for name in (*_SERIES, "arranging", "agreement", "runaway"):
            import_module(f"runwatch.kernels.{name}")
    for kernel in library.kernels:
        function, kinds = _source(kernel)
        _export(module, kernel, function, kinds)
    return module.text()


def _source(kernel: Native) -> tuple[Callable[..., int], tuple[Any, ...]]:
    """The function of a kernel and the kinds that it takes."""
    function = kernel.function
    if function is None:
        module, _, name = kernel.name.partition(".")
        function = getattr(import_module(f"runwatch.kernels.{module}"), name)
    kinds = _KINDS | {"r": Records(Record.of(kernel.fields))}
    return function, tuple(kinds[letter] for letter in kernel.takes)


def _export(
    module: Module, kernel: Native, function: Callable[..., int], kinds: tuple[Any, ...]
) -> None:
    """A function that is called from outside with whole numbers for addresses."""
    name, result = module.instance(function, kinds)
    if result != WHOLE:
        raise TypeError(f"{kernel.name} gives {result}")
    parameters, lines, given = [], [], []
    for i, register in enumerate(r for kind in kinds for r in kind.registers):
        if register == "ptr":
            lines.append(f"  %p{i} = inttoptr i64 %a{i} to ptr")
        parameters.append(f"{'i64' if register == 'ptr' else register} %a{i}")
        given.append(f"{register} %{'p' if register == 'ptr' else 'a'}{i}")
    lines += [f"  %found = call i64 {name}({', '.join(given)})", "  ret i64 %found"]
    head = f'define i64 @"{kernel.name}"({", ".join(parameters)}) nounwind'
    module.add("\n".join([f"{head} {{", *lines, "}"]))


def optimise(whole: llvm.ModuleRef, target: llvm.TargetMachine) -> None:
    """What LLVM does to make code fast."""
    options = llvm.create_pipeline_tuning_options(speed_level=_LEVEL)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(whole, builder)


def foreign(module: llvm.ModuleRef) -> list[str]:
    """The functions and variables that a module wants from elsewhere, but for LLVM's own and the C
    library's. To run code that lacks one ends the process."""
    wanted = [w.name for w in (*module.functions, *module.global_variables) if w.is_declaration]
    return [name for name in wanted if not name.startswith("llvm.") and name not in _NEEDED]


def serve(name: str, pipe: int, urgency: int) -> None:
    """Write the library of this name to standard output, less urgently by so much; end where the
    other end of the pipe is closed."""
    Thread(target=_end_with, args=(pipe,), daemon=True).start()
    os.nice(urgency)
    [library] = (each for each in (parsing, judging) if each.name == name)
    sys.stdout.buffer.write(built(library))


def _end_with(pipe: int) -> None:
    os.read(pipe, 1)
    os._exit(1)
