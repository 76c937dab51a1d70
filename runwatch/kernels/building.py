"""Builds the machine code of the parser's kernels. Importing it loads numba."""

from collections.abc import Iterable
from importlib import import_module

import llvmlite.binding as llvm
from numba import cfunc, int64

from runwatch.kernels.native import Native, machine


def built(kernels: Iterable[Native]) -> bytes:
    """An object file with the kernels under their names, and nothing that numba has to be there
    for. Raises RuntimeError where numba makes functions of another kind than it did."""
    target = machine()
    whole = llvm.parse_assembly("")
    whole.triple = llvm.get_default_triple()
    for kernel in kernels:
        source = import_module(f"runwatch.kernels.{kernel.module}")
        signature = int64(*[int64] * kernel.arguments)
        made = cfunc(signature, error_model="numpy")(getattr(source, kernel.name).py_func)
        part = llvm.parse_assembly(made.inspect_llvm())
        function = part.get_function(made.native_name.removeprefix("cfunc."))
        kind = f"i32 (ptr, ptr{', i64' * kernel.arguments})"
        if str(function.global_value_type) != kind:
            raise RuntimeError(f"{kernel.name} is compiled to {function.global_value_type}")
        function.name = kernel.name
        for other in (*part.functions, *part.global_variables):
            if not other.is_declaration and other.name != kernel.name:
                other.linkage = "internal"
        whole.link_in(part)
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(whole, llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options()))
    if missing := foreign(whole):
        raise RuntimeError(f"kernels need what is not theirs: {', '.join(missing)}")
    return bytes(target.emit_object(whole))


def foreign(module: llvm.ModuleRef) -> list[str]:
    """The functions and variables that a module wants from elsewhere, but for LLVM's own. To run
    code that lacks one ends the process."""
    wanted = [*module.functions, *module.global_variables]
    return [w.name for w in wanted if w.is_declaration and not w.name.startswith("llvm.")]
