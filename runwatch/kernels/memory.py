"""Bytes of memory by their addresses, and what is done to their bits: what kernels are made of
that Python has no words for. Each is known by the name of what it does, and put into words of LLVM.

An address is a whole number. Callers guarantee that `layout.PAD` bytes behind the last one may be
read.
"""

from collections.abc import Callable
from typing import Any

from runwatch.kernels.compiler.code import Code
from runwatch.kernels.compiler.kinds import REAL, TRUTH, UNSIGNED, WHOLE, Kind, Value
from runwatch.kernels.layout import RUN

_BLOCK = 64
_AGAIN = ", ".join


class Primitive:
    """A function that kernels call and Python cannot: the kinds of its numbers, and its code."""

    def __init__(
        self, gives: Kind | None, takes: tuple[Kind, ...], words: Callable[..., str | None]
    ) -> None:
        self.gives, self.takes, self._words = gives, takes, words
        self.__doc__ = words.__doc__

    def __call__(self, *numbers: Any) -> Any:
        """For those who read, and for linters. Raises NotImplementedError."""
        raise NotImplementedError("this is for kernels, which are compiled")

    def put(self, code: Code, *values: Value) -> Value | None:
        """Add its instructions; what they give."""
        texts = (
            code.convert(value, kind).text for value, kind in zip(values, self.takes, strict=True)
        )
        found = self._words(code, *texts)
        return None if self.gives is None or found is None else Value(self.gives, (found,))


def _primitive(gives: Kind | None, *takes: Kind) -> Callable[[Callable[..., Any]], Primitive]:
    return lambda words: Primitive(gives, takes, words)


def _load(code: Code, address: str, kind: str) -> str:
    place = code.take(f"inttoptr i64 {address} to ptr")
    return code.take(f"load {kind}, ptr {place}, align 1")


def _store(code: Code, address: str, kind: str, value: str) -> None:
    place = code.take(f"inttoptr i64 {address} to ptr")
    code.put(f"store {kind} {value}, ptr {place}, align 1")


def _all(count: int, byte: int) -> str:
    """A vector of the same byte."""
    return f"<{_AGAIN([f'i8 {byte}'] * count)}>"


@_primitive(UNSIGNED, WHOLE)
def word_at(code: Code, address: str) -> str:
    """Eight bytes, the first of them the lowest."""
    return _load(code, address, "i64")


@_primitive(WHOLE, WHOLE)
def byte_at(code: Code, address: str) -> str:
    """One byte."""
    return code.take(f"zext i8 {_load(code, address, 'i8')} to i64")


@_primitive(UNSIGNED, WHOLE)
def digits_at(code: Code, address: str) -> str:
    """Which of the next 32 bytes are digits, the first in the lowest bit."""
    kind = f"<{RUN} x i8>"
    above = code.take(f"sub {kind} {_load(code, address, kind)}, {_all(RUN, 48)}")
    digits = code.take(f"icmp ult {kind} {above}, {_all(RUN, 10)}")
    return code.take(f"zext i{RUN} {code.take(f'bitcast <{RUN} x i1> {digits} to i{RUN}')} to i64")


@_primitive(TRUTH, WHOLE, WHOLE)
def differs_at(code: Code, address: str, block: str) -> str:
    """Whether one of the next 32 bytes is not from the least on that a block says for it, or
    further above than it says. A block is 32 bytes of the least, and 32 of how far above."""
    kind, bits = f"<{RUN} x i8>", f"i{8 * RUN}"
    least = _load(code, block, kind)
    room = _load(code, code.take(f"add i64 {block}, {RUN}"), kind)
    above = code.take(f"sub {kind} {_load(code, address, kind)}, {least}")
    odd = code.take(f"call {kind} @llvm.usub.sat.v{RUN}i8({kind} {above}, {kind} {room})")
    return code.take(f"icmp ne {bits} {code.take(f'bitcast {kind} {odd} to {bits}')}, 0")


@_primitive(UNSIGNED, WHOLE)
def ends_at(code: Code, address: str) -> str:
    r"""Which of the next 64 bytes are `\n` or `\r`, the first in the lowest bit."""
    kind = f"<{_BLOCK} x i8>"
    block = _load(code, address, kind)
    feeds, returns = (
        code.take(f"icmp eq {kind} {block}, {_all(_BLOCK, byte)}") for byte in b"\n\r"
    )
    either = code.take(f"or <{_BLOCK} x i1> {feeds}, {returns}")
    return code.take(f"bitcast <{_BLOCK} x i1> {either} to i64")


@_primitive(WHOLE, WHOLE, WHOLE)
def weighed_at(code: Code, address: str, weights: str) -> str:
    """The sum of the next 8 bytes, each as often as its weight of 32 bits says."""
    wide = "<8 x i32>"
    text = code.take(f"zext <8 x i8> {_load(code, address, '<8 x i8>')} to {wide}")
    products = code.take(f"mul {wide} {text}, {_load(code, weights, wide)}")
    found = code.take(f"call i32 @llvm.vector.reduce.add.v8i32({wide} {products})")
    return code.take(f"zext i32 {found} to i64")


@_primitive(WHOLE, UNSIGNED)
def trailing_zeros(code: Code, word: str) -> str:
    """Zero bits below the lowest set one; 64 where none is set."""
    return code.take(f"call i64 @llvm.cttz.i64(i64 {word}, i1 false)")


@_primitive(WHOLE, UNSIGNED)
def leading_zeros(code: Code, word: str) -> str:
    """Zero bits above the highest set one; 64 where none is set."""
    return code.take(f"call i64 @llvm.ctlz.i64(i64 {word}, i1 false)")


@_primitive(UNSIGNED, UNSIGNED, UNSIGNED)
def product_high(code: Code, a: str, b: str) -> str:
    """The upper 64 bits of a 128-bit product."""
    wide = [code.take(f"zext i64 {factor} to i128") for factor in (a, b)]
    product = code.take(f"mul i128 {wide[0]}, {wide[1]}")
    return code.take(f"trunc i128 {code.take(f'lshr i128 {product}, 64')} to i64")


@_primitive(REAL, UNSIGNED)
def as_double(code: Code, bits: str) -> str:
    """The double that these 64 bits are."""
    return code.take(f"bitcast i64 {bits} to double")


@_primitive(WHOLE, WHOLE)
def whole_at(code: Code, address: str) -> str:
    """Eight bytes as an int64."""
    return _load(code, address, "i64")


@_primitive(REAL, WHOLE)
def double_at(code: Code, address: str) -> str:
    """Eight bytes as a double."""
    return _load(code, address, "double")


@_primitive(None, WHOLE, WHOLE)
def put_whole(code: Code, address: str, value: str) -> None:
    """Store an int64."""
    _store(code, address, "i64", value)


@_primitive(None, WHOLE, WHOLE)
def put_half(code: Code, address: str, value: str) -> None:
    """Store the low four bytes of an int64."""
    _store(code, address, "i32", code.take(f"trunc i64 {value} to i32"))


@_primitive(None, WHOLE, WHOLE)
def put_byte(code: Code, address: str, value: str) -> None:
    """Store the lowest byte of an int64."""
    _store(code, address, "i8", code.take(f"trunc i64 {value} to i8"))


@_primitive(None, WHOLE, REAL)
def put_double(code: Code, address: str, value: str) -> None:
    """Store a double."""
    _store(code, address, "double", value)
