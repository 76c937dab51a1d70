"""Statements of kernels, put into LLVM's instructions."""

import ast
from typing import Any

from runwatch.kernels.compiler.code import constant
from runwatch.kernels.compiler.expressions import Expressions, packed
from runwatch.kernels.compiler.kinds import WHOLE, Value, common
from runwatch.kernels.compiler.module import Module

_PASSES = 4  # until all that a name is assigned is known


class Statements(Expressions):
    """Those of one function."""

    def __init__(self, module: Module, outer: dict[str, Any], known: dict[str, Any]) -> None:
        super().__init__(module, outer)
        self.kinds.update(known)
        self.result: Any = None
        self.widened = False  # a name turned out to mean more than it was made for
        self._loops: list[tuple[str, str]] = []  # where `continue` and `break` go

    def body(self, statements: list[ast.stmt]) -> None:
        """Put statements one after the other. Raises TypeError for one that is of no use here."""
        for node in statements:
            put = getattr(self, f"_do_{type(node).__name__.lower()}", None)
            if put is None:
                raise TypeError(f"no kernel does {ast.unparse(node)}")
            put(node)

    # Names

    def assign(self, name: str, value: Value) -> None:
        """Let a name of the function mean a value."""
        kind = common(self.kinds.get(name, value.kind), value.kind)
        if self.kinds.get(name) not in (None, kind):
            self.widened = True
            self.rooms.pop(name, None)
        self.kinds[name] = kind
        if name not in self.rooms:
            self.rooms[name] = tuple(map(self.code.room, kind.registers))
        texts = self.code.convert(value, kind).texts
        for register, text, room in zip(kind.registers, texts, self.rooms[name], strict=True):
            self.code.put(f"store {register} {text}, ptr {room}")

    def _set(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple):
            for each, part in zip(target.elts, value.parts(), strict=True):
                self._set(each, part)
        elif isinstance(target, ast.Attribute):
            self.code.store(*self.address_of_field(target), value)
        elif isinstance(target, ast.Subscript):
            self.code.store(*self.address_of_cell(target), value)
        else:
            raise TypeError(f"no kernel sets {ast.unparse(target)}")

    def _do_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._set(target, value)

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._set(node.target, self.value(node.value))

    def _do_augassign(self, node: ast.AugAssign) -> None:
        value = self.operation(node.op, self.value(node.target), self.value(node.value), node)
        self._set(node.target, value)

    def _do_expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.called(node.value)

    def _do_pass(self, node: ast.Pass) -> None:
        pass

    # Ways

    def _do_return(self, node: ast.Return) -> None:
        if node.value is None:
            self.code.end("ret void")
            return
        value = self.value(node.value)
        kind = value.kind if self.result is None else common(self.result, value.kind)
        self.widened |= self.result not in (None, kind)
        self.result = kind
        value = self.code.convert(value, kind)
        if len(value.texts) == 1:
            self.code.end(f"ret {kind.registers[0]} {value.text}")
            return
        whole, made = packed(kind), "poison"
        for i, (register, text) in enumerate(zip(kind.registers, value.texts, strict=True)):
            made = self.code.take(f"insertvalue {whole} {made}, {register} {text}, {i}")
        self.code.end(f"ret {whole} {made}")

    def _do_if(self, node: ast.If) -> None:
        settled = self.settled(node.test)
        if settled is not None:
            self.body(node.body if settled else node.orelse)
            return
        yes, no, behind = (self.code.name(hint) for hint in ("then", "else", "behind"))
        self.code.branch(self.value(node.test), yes, no)
        for label, statements in ((yes, node.body), (no, node.orelse)):
            self.code.begin(label)
            self.body(statements)
            self.code.go_on(behind)
        self.code.begin(behind)

    def _do_while(self, node: ast.While) -> None:
        again, inside, behind = (self.code.name(hint) for hint in ("again", "inside", "behind"))
        self.code.begin(again)
        self.code.branch(self.value(node.test), inside, behind)
        self._repeat(node.body, inside, again, behind)
        self.code.go_on(again)
        self.code.begin(behind)

    def _do_for(self, node: ast.For) -> None:
        """Over a `range`, which is the only thing that kernels go over."""
        call = node.iter
        if not (isinstance(call, ast.Call) and self.meant(call.func) is range):
            raise TypeError(f"no kernel goes over {ast.unparse(call)}")
        code, bounds = self.code, [self.code.convert(self.value(a), WHOLE) for a in call.args]
        first, last = (constant(0), *bounds) if len(bounds) == 1 else bounds
        room = code.room("i64")
        again, inside, next_, behind = map(code.name, ("again", "inside", "next", "behind"))
        code.put(f"store i64 {first.text}, ptr {room}")
        code.begin(again)
        now = Value(WHOLE, (code.take(f"load i64, ptr {room}"),))
        code.branch(code.compare("Lt", now, last), inside, behind)
        code.begin(inside)
        self._set(node.target, now)
        self._repeat(node.body, "", next_, behind)
        code.begin(next_)
        code.put(f"store i64 {code.arithmetic('Add', now, constant(1)).text}, ptr {room}")
        code.go(again)
        code.begin(behind)

    def _repeat(self, body: list[ast.stmt], inside: str, again: str, behind: str) -> None:
        if inside:
            self.code.begin(inside)
        self._loops.append((again, behind))
        self.body(body)
        self._loops.pop()

    def _do_break(self, node: ast.Break) -> None:
        self.code.go(self._loops[-1][1])

    def _do_continue(self, node: ast.Continue) -> None:
        self.code.go(self._loops[-1][0])


def translated(
    module: Module, name: str, definition: ast.FunctionDef, outer: dict[str, Any],
    kinds: tuple[Any, ...],
) -> tuple[str, Any]:  # fmt: skip
    """A function for arguments of these kinds as LLVM's, and the kind of what it gives."""
    names = [argument.arg for argument in definition.args.args]
    given = list(zip(names, kinds, strict=True))
    known: dict[str, Any] = {}
    result: Any = None
    for _ in range(_PASSES):
        function = Statements(module, outer, known)
        function.result = result
        parameters = []
        for argument, kind in given:
            texts = tuple(f"%{argument}.{i}" for i in range(len(kind.registers)))
            parameters += [f"{r} {t}" for r, t in zip(kind.registers, texts, strict=True)]
            function.assign(argument, Value(kind, texts))
        function.body(definition.body)
        known, result = dict(function.kinds), function.result
        if not function.widened:
            break
    gives = "void" if result is None else packed(result)
    function.code.close("ret void" if result is None else f"ret {gives} zeroinitializer")
    body = "\n".join(["entry:", *function.code.kept, *function.code.lines])
    return (
        f"define internal {gives} {name}({', '.join(parameters)}) nounwind {{\n{body}\n}}",
        result,
    )
