"""The kinds of values that kernels are translated with, and how each lies in registers and memory.

A value is one or several registers: an array is its address and its length, a tuple the registers
of its parts, one after the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Described(Protocol):
    """What a record has under a name: one number, or an array of `size` of them."""

    name: str
    size: int
    start: float | int


@dataclass(frozen=True)
class Kind:
    """A number in one register."""

    name: str
    register: str

    @property
    def registers(self) -> tuple[str, ...]:
        """What each of the registers holds, as LLVM calls it."""
        return (self.register,)


WHOLE = Kind("int64", "i64")
UNSIGNED = Kind("uint64", "i64")
REAL = Kind("float64", "double")
TRUTH = Kind("bool", "i1")


@dataclass(frozen=True)
class Cell:
    """A number in memory: what it is once it is loaded, and how it lies there."""

    kind: Kind
    stored: str
    width: int


WHOLES = Cell(WHOLE, "i64", 8)
UNSIGNEDS = Cell(UNSIGNED, "i64", 8)
REALS = Cell(REAL, "double", 8)
HALVES = Cell(WHOLE, "i32", 4)  # int32
BYTES = Cell(WHOLE, "i8", 1)  # int8


@dataclass(frozen=True)
class Array:
    """Cells side by side; `columns` of them are a row where it is a table."""

    cell: Cell
    columns: int = 0
    registers = ("ptr", "i64")


@dataclass(frozen=True)
class Record:
    """Fields at fixed places, each of them numbers of eight bytes, and nothing between them."""

    fields: tuple[tuple[str, int, Cell, int], ...]  # name, place in bytes, cell, size or 0
    width: int
    registers = ("ptr",)

    @classmethod
    def of(cls, fields: Iterable[Described]) -> "Record":
        """The record with these fields in this order."""
        rows, at = [], 0
        for field in fields:
            cell = WHOLES if isinstance(field.start, int) else REALS
            rows.append((field.name, at, cell, field.size))
            at += cell.width * max(field.size, 1)
        return cls(tuple(rows), at)

    def field(self, name: str) -> tuple[int, Cell, int]:
        """Where a field is, its cell, and its size. Raises KeyError where there is none."""
        for known, at, cell, size in self.fields:
            if known == name:
                return at, cell, size
        raise KeyError(name)


@dataclass(frozen=True)
class Records:
    """Records side by side."""

    record: Record
    registers = ("ptr",)


@dataclass(frozen=True)
class Several:
    """A tuple."""

    kinds: tuple[Any, ...]

    @property
    def registers(self) -> tuple[str, ...]:
        """Those of its parts."""
        return tuple(r for kind in self.kinds for r in kind.registers)


@dataclass(frozen=True)
class Value:
    """What an expression is: its kind, what LLVM calls it, and itself where that is known."""

    kind: Any
    texts: tuple[str, ...]
    known: Any = None

    @property
    def text(self) -> str:
        """The name of a value in one register."""
        [text] = self.texts
        return text

    def parts(self) -> list["Value"]:
        """What a tuple is made of."""
        found, at = [], 0
        for kind in self.kind.kinds:
            count = len(kind.registers)
            found.append(Value(kind, self.texts[at : at + count]))
            at += count
        return found


def several(values: Sequence[Value]) -> Value:
    """A tuple of values."""
    texts = tuple(text for value in values for text in value.texts)
    return Value(Several(tuple(value.kind for value in values)), texts)


def common(a: Any, b: Any) -> Any:
    """The kind that holds what either does. Raises TypeError where none does."""
    if a == b:
        return a
    if isinstance(a, Several) and isinstance(b, Several) and len(a.kinds) == len(b.kinds):
        return Several(tuple(map(common, a.kinds, b.kinds)))
    order = (TRUTH, WHOLE, REAL)
    if a in order and b in order:
        return max(a, b, key=order.index)
    if UNSIGNED in (a, b) and REAL in (a, b):
        return REAL
    raise TypeError(f"{getattr(a, 'name', a)} and {getattr(b, 'name', b)} do not go together")
