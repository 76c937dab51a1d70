"""What is translated together: functions, each for the kinds of arguments that it is called with,
and the tables that they look into."""

import ast
import builtins
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from runwatch.kernels.compiler.kinds import (
    BYTES,
    HALVES,
    REALS,
    UNSIGNEDS,
    WHOLES,
    Array,
    Cell,
    Value,
)

_CELLS = {"int64": WHOLES, "uint64": UNSIGNEDS, "float64": REALS, "int32": HALVES, "int8": BYTES}
_DECLARED = """\
declare double @log10(double)
declare double @pow(double, double)
declare double @llvm.sqrt.f64(double)
declare double @llvm.trunc.f64(double)
declare double @llvm.fabs.f64(double)
declare i64 @llvm.abs.i64(i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctlz.i64(i64, i1)
declare <32 x i8> @llvm.usub.sat.v32i8(<32 x i8>, <32 x i8>)
declare i32 @llvm.vector.reduce.add.v8i32(<8 x i32>)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


class Module:
    """Text of LLVM's that grows with each function asked for. `twins` are the functions that stand
    for others."""

    def __init__(self, twins: dict[Any, Any]) -> None:
        self._twins = twins
        self._functions: dict[tuple[Any, tuple[Any, ...]], tuple[str, Any]] = {}
        self._tables: dict[int, tuple[Any, Value]] = {}
        self._texts: list[str] = []

    def text(self) -> str:
        """All of it."""
        return "\n".join([_DECLARED, *self._texts])

    def add(self, text: str) -> None:
        """Put in a function that is written already."""
        self._texts.append(text)

    def instance(self, function: Callable[..., Any], kinds: tuple[Any, ...]) -> tuple[str, Any]:
        """The name of a function for arguments of these kinds, and the kind of what it gives."""
        from runwatch.kernels.compiler.statements import translated

        function = self._twins.get(function, function)
        key = (function, kinds)
        if key not in self._functions:
            code, cells = function.__code__, function.__closure__ or ()
            closure = dict(zip(code.co_freevars, (c.cell_contents for c in cells), strict=True))
            outer = {**vars(builtins), **function.__globals__, **closure}
            where, name = Path(code.co_filename), f"@{code.co_name}.{len(self._functions)}"
            definition = _functions(where)[code.co_firstlineno]
            try:
                text, result = translated(self, name, definition, outer, kinds)
            except TypeError as error:
                raise TypeError(f"{where.stem}.{code.co_name}: {error}") from error
            self._texts.append(text)
            self._functions[key] = name, result
        return self._functions[key]

    def table(self, array: np.ndarray) -> Value:
        """An array of the module's as it stands."""
        if id(array) not in self._tables:
            name, cell = f"@table.{len(self._tables)}", _CELLS[array.dtype.name]
            cells = ", ".join(f"{cell.stored} {_text(each)}" for each in array.ravel().tolist())
            kind = f"[{array.size} x {cell.stored}]"
            self._texts.append(f"{name} = internal constant {kind} [{cells}], align 32")
            columns = array.shape[1] if array.ndim == 2 else 0
            self._tables[id(array)] = array, Value(Array(cell, columns), (name, str(len(array))))
        return self._tables[id(array)][1]

    @staticmethod
    def cell_of(number: float) -> Cell:
        """The cell that a number lies in."""
        return WHOLES if isinstance(number, int) else REALS


def _text(number: float) -> str:
    from runwatch.kernels.compiler.code import constant, unsigned

    return (unsigned(number) if isinstance(number, int) else constant(number)).text


@cache
def _functions(path: Path) -> dict[int, ast.FunctionDef]:
    """The functions of a source file by their first lines. Raises OSError where it is not there."""
    tree = ast.parse(path.read_bytes())
    return {
        min([node.lineno, *(d.lineno for d in node.decorator_list)]): node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
