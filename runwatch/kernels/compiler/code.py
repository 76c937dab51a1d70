"""LLVM's instructions for one function, as text, and the arithmetic of Python on its values."""

import math
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from runwatch.kernels.compiler.kinds import (
    REAL,
    TRUTH,
    UNSIGNED,
    WHOLE,
    Array,
    Cell,
    Kind,
    Several,
    Value,
    common,
    several,
)

_WHOLE_OPERATIONS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "BitAnd": "and", "BitOr": "or", "BitXor": "xor",
    "LShift": "shl",
}  # fmt: skip
_REAL_OPERATIONS = {"Add": "fadd", "Sub": "fsub", "Mult": "fmul", "Div": "fdiv"}
_COMPARED = {
    "Eq": ("eq", "oeq"), "NotEq": ("ne", "une"), "Lt": ("lt", "olt"), "LtE": ("le", "ole"),
    "Gt": ("gt", "ogt"), "GtE": ("ge", "oge"),
}  # fmt: skip


def constant(value: Any) -> Value:
    """A number that is known."""
    if isinstance(value, bool):
        return Value(TRUTH, (str(value).lower(),), value)
    if isinstance(value, int):
        return Value(WHOLE, (str(value),), value)
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return Value(REAL, (f"0x{bits:016X}",), None if math.isnan(value) else float(value))


def unsigned(value: int) -> Value:
    """A number that is known and has no sign."""
    return Value(UNSIGNED, (str(value - (1 << 64) if value >> 63 else value),), value)


class Code:
    """The instructions of a function, block after block."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.kept: list[str] = []  # room for variables, which is made at the start
        self._count = 0
        self._ended = False

    def name(self, hint: str = "v") -> str:
        """A name that nothing else has."""
        self._count += 1
        return f"{hint}.{self._count}"

    def put(self, line: str) -> None:
        """Add an instruction that gives nothing."""
        if self._ended:  # nobody gets here
            self.begin(self.name("dead"))
        self.lines.append(f"  {line}")

    def take(self, line: str) -> str:
        """Add an instruction; the name of what it gives."""
        name = f"%{self.name()}"
        self.put(f"{name} = {line}")
        return name

    def room(self, of: str) -> str:
        """Room for a variable of the function."""
        name = f"%{self.name('room')}"
        self.kept.append(f"  {name} = alloca {of}, align 8")
        return name

    # Blocks

    def begin(self, label: str) -> None:
        """What follows is a block of this name; the one before leads to it where it has no end."""
        if not self._ended and self.lines:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self._ended = False

    def end(self, line: str) -> None:
        """End the block."""
        self.put(line)
        self._ended = True

    def branch(self, on: Value, yes: str, no: str) -> None:
        """Go on in one block or the other."""
        self.end(f"br i1 {self.truth(on).text}, label %{yes}, label %{no}")

    def go(self, label: str) -> None:
        """Go on in a block."""
        self.end(f"br label %{label}")

    def go_on(self, label: str) -> None:
        """Go on in a block, where the one before has no end."""
        if not self._ended:
            self.go(label)

    def close(self, line: str) -> None:
        """End the function where its last block has no end."""
        if not self._ended:
            self.end(line)

    @contextmanager
    def aside(self) -> Iterator[list[str]]:
        """What is added meanwhile stands apart, to be put in later."""
        before, self.lines = self.lines, ["; aside"]
        ended, self._ended = self._ended, False
        try:
            yield self.lines
        finally:
            self.lines, self._ended = before, ended

    # Memory

    def load(self, cell: Cell, address: str) -> Value:
        """The number in a cell."""
        found = self.take(f"load {cell.stored}, ptr {address}, align {cell.width}")
        if cell.width < 8:
            found = self.take(f"sext {cell.stored} {found} to i64")
        return Value(cell.kind, (found,))

    def store(self, cell: Cell, address: str, value: Value) -> None:
        """Put a number into a cell."""
        text = self.convert(value, cell.kind).text
        if cell.width < 8:
            text = self.take(f"trunc i64 {text} to {cell.stored}")
        self.put(f"store {cell.stored} {text}, ptr {address}, align {cell.width}")

    def place(self, base: str, index: Value, width: str) -> str:
        """The address of the cell, as wide as `width`, with this index."""
        return self.take(f"getelementptr inbounds {width}, ptr {base}, i64 {index.text}")

    def cell(self, array: Value, indices: Sequence[Value]) -> str:
        """The address of a cell of an array, or of a table."""
        kind: Array = array.kind
        at = self.convert(indices[0], WHOLE)
        if len(indices) == 2:
            at = self.arithmetic("Add", self.arithmetic("Mult", at, constant(kind.columns)),
                                 self.convert(indices[1], WHOLE))  # fmt: skip
        return self.place(array.texts[0], at, kind.cell.stored)

    # Kinds

    def convert(self, value: Value, kind: Any) -> Value:
        """The same as another kind. Raises TypeError where it has no such form."""
        if value.kind == kind:
            return value
        if isinstance(kind, Several):
            pairs = zip(value.parts(), kind.kinds, strict=True)
            return several([self.convert(part, k) for part, k in pairs])
        if value.known is not None and kind == REAL:
            return constant(float(value.known))
        if value.known is not None and kind in (WHOLE, UNSIGNED) and value.kind != REAL:
            return constant(int(value.known)) if kind == WHOLE else unsigned(int(value.known))
        how = {
            (TRUTH, WHOLE): "zext", (TRUTH, REAL): "uitofp", (WHOLE, REAL): "sitofp",
            (UNSIGNED, REAL): "uitofp",
        }.get((value.kind, kind))  # fmt: skip
        if how is None:
            raise TypeError(f"{value.kind} is no {kind}")
        made = self.take(f"{how} {value.kind.register} {value.text} to {kind.register}")
        return Value(kind, (made,))

    def cast(self, value: Value, kind: Kind) -> Value:
        """The same as `numpy.int64` and its like make of it."""
        if kind in (WHOLE, UNSIGNED) and value.kind == REAL:
            return Value(kind, (self.take(f"fptosi double {value.text} to i64"),))
        if {value.kind, kind} == {WHOLE, UNSIGNED} and value.known is None:
            return Value(kind, value.texts)
        return self.convert(value, kind)

    def truth(self, value: Value) -> Value:
        """Whether it counts as true."""
        if value.kind == TRUTH:
            return value
        if value.kind == REAL:
            return Value(TRUTH, (self.take(f"fcmp une double {value.text}, 0.0"),))
        return Value(TRUTH, (self.take(f"icmp ne i64 {value.text}, 0"),))

    def _alike(self, a: Value, b: Value) -> tuple[Kind, str, str]:
        """Both as one kind; a number that is known takes the kind of the other."""
        if UNSIGNED in (a.kind, b.kind) and REAL not in (a.kind, b.kind):
            kind: Any = UNSIGNED
        else:
            kind = common(a.kind, b.kind)
        return kind, self.convert(a, kind).text, self.convert(b, kind).text

    # Arithmetic

    def arithmetic(self, operation: str, a: Value, b: Value) -> Value:
        """What Python's operation of this name gives."""
        if operation in ("FloorDiv", "Mod"):
            return self._divided(operation, a, b)
        kind, left, right = self._alike(a, b)
        if operation in ("Div", "Pow"):
            kind, left, right = REAL, self.convert(a, REAL).text, self.convert(b, REAL).text
        if operation == "Pow":
            return Value(REAL, (self.take(f"call double @pow(double {left}, double {right})"),))
        if kind == REAL:
            how = f"{_REAL_OPERATIONS[operation]} double"
        elif operation == "RShift":
            how = "lshr i64" if kind == UNSIGNED else "ashr i64"
        elif kind == TRUTH and operation.startswith("Bit"):
            how = f"{_WHOLE_OPERATIONS[operation]} i1"
        else:
            kind = WHOLE if kind == TRUTH else kind
            left, right = self.convert(a, kind).text, self.convert(b, kind).text
            how = f"{_WHOLE_OPERATIONS[operation]} i64"
        return Value(kind, (self.take(f"{how} {left}, {right}"),))

    def _divided(self, operation: str, a: Value, b: Value) -> Value:
        """Rounded down, by a number above 0 that is known: no other is divided by."""
        by = b.known
        if not isinstance(by, int) or by <= 0 or a.kind not in (WHOLE, TRUTH):
            raise TypeError("whole numbers are divided by such as are known, and above 0")
        left = self.convert(a, WHOLE).text
        rest = self.take(f"srem i64 {left}, {by}")
        below = self.take(f"icmp slt i64 {rest}, 0")
        if operation == "Mod":
            more = self.take(f"add i64 {rest}, {by}")
            return Value(WHOLE, (self.take(f"select i1 {below}, i64 {more}, i64 {rest}"),))
        whole = self.take(f"sdiv i64 {left}, {by}")
        return Value(WHOLE, (self.take(f"sub i64 {whole}, {self._extended(below)}"),))

    def _extended(self, truth: str) -> str:
        return self.take(f"zext i1 {truth} to i64")

    def compare(self, operation: str, a: Value, b: Value) -> Value:
        """Whether two numbers stand so; a NaN stands in no order, and differs from all."""
        kind, left, right = self._alike(a, b)
        whole, real = _COMPARED[operation]
        if kind == REAL:
            return Value(TRUTH, (self.take(f"fcmp {real} double {left}, {right}"),))
        if whole not in ("eq", "ne"):
            if kind == TRUTH:
                raise TypeError("truths have no order")
            whole = f"{'u' if kind == UNSIGNED else 's'}{whole}"
        return Value(TRUTH, (self.take(f"icmp {whole} {kind.register} {left}, {right}"),))

    def choose(self, on: Value, yes: Value, no: Value) -> Value:
        """One of two numbers, both of which are there."""
        kind, left, right = self._alike(yes, no)
        of = kind.register
        made = self.take(f"select i1 {self.truth(on).text}, {of} {left}, {of} {right}")
        return Value(kind, (made,))

    def least(self, values: Sequence[Value], operation: str) -> Value:
        """`min` (by Lt) or `max` (by Gt): the first of those that no other one is beyond."""
        found = values[0]
        for value in values[1:]:
            found = self.choose(self.compare(operation, value, found), value, found)
        return found

    def negated(self, operation: str, a: Value) -> Value:
        """What Python's operation of one number gives."""
        if operation == "Not":
            return Value(TRUTH, (self.take(f"xor i1 {self.truth(a).text}, true"),))
        if operation == "Invert":
            return Value(a.kind, (self.take(f"xor i64 {a.text}, -1"),))
        if a.kind == REAL:
            return Value(REAL, (self.take(f"fneg double {a.text}"),))
        return Value(a.kind, (self.take(f"sub i64 0, {self.convert(a, WHOLE).text}"),))

    def intrinsic(self, name: str, kind: Kind, *values: Value) -> Value:
        """What a function of LLVM's gives, of numbers of its own kind."""
        of = kind.register
        given = ", ".join(f"{of} {self.convert(value, kind).text}" for value in values)
        if name == "abs":
            given += ", i1 false"
        suffix = "f64" if kind == REAL else of
        return Value(kind, (self.take(f"call {of} @llvm.{name}.{suffix}({given})"),))
