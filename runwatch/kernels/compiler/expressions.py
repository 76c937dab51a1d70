"""Expressions of kernels, put into LLVM's instructions."""

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from runwatch.kernels.compiler.code import Code, constant, unsigned
from runwatch.kernels.compiler.kinds import (
    REAL,
    TRUTH,
    UNSIGNED,
    WHOLE,
    Array,
    Record,
    Records,
    Several,
    Value,
    common,
    several,
)
from runwatch.kernels.compiler.module import Module
from runwatch.kernels.memory import Primitive

_CASTS = {
    np.int64: WHOLE, np.uint64: UNSIGNED, np.float64: REAL, float: REAL, int: WHOLE, bool: TRUTH,
}  # fmt: skip
_OF_LLVM = {math.sqrt: "sqrt", np.sqrt: "sqrt", np.trunc: "trunc"}


class Expressions:
    """Those of one function, whose names mean what they mean in `outer`, but for its own."""

    def __init__(self, module: Module, outer: dict[str, Any]) -> None:
        self.module, self.code = module, Code()
        self.kinds: dict[str, Any] = {}  # of the function's own names
        self.rooms: dict[str, tuple[str, ...]] = {}
        self._outer = outer

    def value(self, node: ast.expr) -> Value:
        """What an expression gives. Raises TypeError for one that kernels have no use of."""
        put = getattr(self, f"_put_{type(node).__name__.lower()}", None)
        if put is None:
            raise TypeError(f"no kernel says {ast.unparse(node)}")
        found: Value = put(node)
        return found

    def meant(self, node: ast.expr) -> Any:
        """The object that a name of the module means. Raises TypeError where it is no such name."""
        if isinstance(node, ast.Name) and node.id in self._outer and node.id not in self.kinds:
            return self._outer[node.id]
        if isinstance(node, ast.Attribute):
            return getattr(self.meant(node.value), node.attr)
        raise TypeError(f"{ast.unparse(node)} is known only when the kernel runs")

    def settled(self, node: ast.expr) -> bool | None:
        """The answer of a question that is known before: whether a name means None."""
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
            return (self.meant(node.left) is None) == isinstance(node.ops[0], ast.Is)
        return None

    # Names

    def _put_constant(self, node: ast.Constant) -> Value:
        return _known(node.value, node)

    def _put_name(self, node: ast.Name) -> Value:
        if node.id in self.kinds:
            kind = self.kinds[node.id]
            rooms = zip(kind.registers, self.rooms[node.id], strict=True)
            return Value(kind, tuple(self.code.take(f"load {r}, ptr {at}") for r, at in rooms))
        return self._of(self.meant(node), node)

    def _put_attribute(self, node: ast.Attribute) -> Value:
        if isinstance(node.value, ast.Name) and node.value.id not in self.kinds:
            return self._of(self.meant(node), node)
        base = self.value(node.value)
        return self._field(base, node.attr)

    def _of(self, meant: Any, node: ast.expr) -> Value:
        if isinstance(meant, np.ndarray):
            return self.module.table(meant)
        return _known(meant, node)

    def _field(self, record: Value, name: str) -> Value:
        kind: Record = record.kind
        at, cell, size = kind.field(name)
        address = self.code.place(record.text, constant(at), "i8")
        if size:
            return Value(Array(cell), (address, str(size)))
        return self.code.load(cell, address)

    def address_of_field(self, node: ast.Attribute) -> tuple[Any, str]:
        """The cell and the address of a record's field."""
        record = self.value(node.value)
        at, cell, _ = record.kind.field(node.attr)
        return cell, self.code.place(record.text, constant(at), "i8")

    def address_of_cell(self, node: ast.Subscript) -> tuple[Any, str]:
        """The cell and the address of an array's element."""
        array = self.value(node.value)
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return array.kind.cell, self.code.cell(array, [self.value(each) for each in index])

    def _put_subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base.kind, Several):
            return base.parts()[int(self.value(node.slice).known)]
        if isinstance(base.kind, Records):
            record = base.kind.record
            at = self.code.arithmetic("Mult", self.value(node.slice), constant(record.width))
            return Value(record, (self.code.place(base.text, at, "i8"),))
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        address = self.code.cell(base, [self.value(each) for each in index])
        return self.code.load(base.kind.cell, address)

    # Operations

    def _put_tuple(self, node: ast.Tuple) -> Value:
        return several([self.value(each) for each in node.elts])

    def _put_unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.USub) and value.known is not None:
            return constant(-value.known)
        return self.code.negated(type(node.op).__name__, value)

    def _put_binop(self, node: ast.BinOp) -> Value:
        if isinstance(node.left, ast.List):
            return self._zeros(node)
        return self.operation(node.op, self.value(node.left), self.value(node.right), node)

    def operation(self, op: ast.operator, a: Value, b: Value, node: ast.AST) -> Value:
        """What Python's operation of two numbers gives."""
        if a.known is not None and b.known is not None and UNSIGNED not in (a.kind, b.kind):
            words = ast.BinOp(ast.Constant(a.known), op, ast.Constant(b.known))
            whole = ast.fix_missing_locations(ast.Expression(words))
            return constant(eval(compile(whole, "kernel", "eval")))  # noqa: S307  two numbers
        return self.code.arithmetic(type(op).__name__, a, b)

    def _zeros(self, node: ast.BinOp) -> Value:
        """`[0.0] * n`: an array that the function has for itself."""
        count = self.value(node.right).known
        array = Array(self.module.cell_of(0.0))
        room = self.code.room(f"[{count} x {array.cell.stored}]")
        self.code.put(f"call void @llvm.memset.p0.i64(ptr {room}, i8 0, i64 {8 * count}, i1 false)")
        return Value(array, (room, str(count)))

    def _put_compare(self, node: ast.Compare) -> Value:
        if (settled := self.settled(node)) is not None:
            return constant(settled)
        left, found = self.value(node.left), None
        for op, each in zip(node.ops, node.comparators, strict=True):
            right = self.value(each)
            more = self.code.compare(type(op).__name__, left, right)
            found = more if found is None else self.code.arithmetic("BitAnd", found, more)
            left = right
        assert found is not None
        return found

    def _put_boolop(self, node: ast.BoolOp) -> Value:
        """A truth: kernels use `and` and `or` as such only. What need not be asked is not."""
        code, room, done = self.code, self.code.room("i1"), self.code.name("asked")
        for i, each in enumerate(node.values):
            answer = code.truth(self.value(each))
            code.put(f"store i1 {answer.text}, ptr {room}")
            if i < len(node.values) - 1:
                more = code.name("more")
                ways = (more, done) if isinstance(node.op, ast.And) else (done, more)
                code.branch(answer, *ways)
                code.begin(more)
        code.begin(done)
        return Value(TRUTH, (code.take(f"load i1, ptr {room}"),))

    def _put_ifexp(self, node: ast.IfExp) -> Value:
        code = self.code
        labels = [code.name(hint) for hint in ("yes", "no", "chosen")]
        code.branch(self.value(node.test), labels[0], labels[1])
        ways = []
        for each in (node.body, node.orelse):
            with code.aside() as lines:
                ways.append((self.value(each), lines))
        kind = common(ways[0][0].kind, ways[1][0].kind)
        rooms = [code.room(register) for register in kind.registers]
        for label, (value, lines) in zip(labels, ways, strict=False):
            code.begin(label)
            code.lines += lines
            for text, register, room in zip(
                code.convert(value, kind).texts, kind.registers, rooms, strict=True
            ):
                code.put(f"store {register} {text}, ptr {room}")
            code.go(labels[2])
        code.begin(labels[2])
        loads = zip(kind.registers, rooms, strict=True)
        return Value(kind, tuple(code.take(f"load {r}, ptr {room}") for r, room in loads))

    # Calls

    def _put_call(self, node: ast.Call) -> Value:
        found = self.called(node)
        if found is None:
            raise TypeError(f"{ast.unparse(node)} gives nothing")
        return found

    def called(self, node: ast.Call) -> Value | None:
        """What a call gives; None where that is nothing."""
        function, values = self.meant(node.func), [self.value(each) for each in node.args]
        if isinstance(function, Primitive):
            return function.put(self.code, *values)
        if (own := _own(function)) is not None:
            return own(self.code, values)
        name, result = self.module.instance(function, tuple(value.kind for value in values))
        given = ", ".join(
            f"{register} {text}"
            for value in values
            for register, text in zip(value.kind.registers, value.texts, strict=True)
        )
        if result is None:
            self.code.put(f"call void {name}({given})")
            return None
        return _unpacked(
            self.code, result, self.code.take(f"call {packed(result)} {name}({given})")
        )


def packed(kind: Any) -> str:
    """How a function gives a value of a kind."""
    registers = kind.registers
    return registers[0] if len(registers) == 1 else f"{{ {', '.join(registers)} }}"


def _unpacked(code: Code, kind: Any, name: str) -> Value:
    if len(kind.registers) == 1:
        return Value(kind, (name,))
    whole = packed(kind)
    count = range(len(kind.registers))
    return Value(kind, tuple(code.take(f"extractvalue {whole} {name}, {i}") for i in count))


def _known(value: Any, node: ast.expr) -> Value:
    if isinstance(value, np.uint64):
        return unsigned(int(value))
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, int | float):
        raise TypeError(f"{ast.unparse(node)} is no number")
    return constant(value)


def _own(function: Any) -> Callable[[Code, list[Value]], Value] | None:
    """How a function that comes with Python or NumPy is put into instructions."""
    if isinstance(function, type) and function in _CASTS:
        kind = _CASTS[function]
        if kind == TRUTH:
            return lambda code, values: code.truth(values[0])
        return lambda code, values: code.cast(values[0], kind)
    if function in _OF_LLVM:
        name = _OF_LLVM[function]
        return lambda code, values: code.intrinsic(name, REAL, values[0])
    if function is math.log10:
        return lambda code, values: Value(
            REAL, (code.take(f"call double @log10(double {code.convert(values[0], REAL).text})"),)
        )
    return _OF_PYTHON.get(function)


def _absolute(code: Code, values: list[Value]) -> Value:
    if values[0].kind == REAL:
        return code.intrinsic("fabs", REAL, values[0])
    return code.intrinsic("abs", WHOLE, values[0])


_OF_PYTHON: dict[Any, Callable[[Code, list[Value]], Value]] = {
    abs: _absolute,
    len: lambda code, values: Value(WHOLE, (values[0].texts[1],)),
    min: lambda code, values: code.least(values, "Lt"),
    max: lambda code, values: code.least(values, "Gt"),
}
