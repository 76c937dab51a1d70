"""Bytes at addresses: unaligned loads, vector compares and wide products that numba does not have.

An address is an int64. Callers guarantee that `layout.PAD` bytes behind the last one may be read.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from runwatch.kernels.layout import RUN

_I8, _I64, _I128 = (ir.IntType(bits) for bits in (8, 64, 128))
_BLOCK = 64


def _load(builder, address, kind):
    return builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)


@intrinsic
def word_at(typingctx, address):
    """Eight bytes as a little-endian uint64."""

    def code(context, builder, signature, args):
        return _load(builder, args[0], _I64)

    return types.uint64(types.int64), code


@intrinsic
def byte_at(typingctx, address):
    """One byte as an int64."""

    def code(context, builder, signature, args):
        return builder.zext(_load(builder, args[0], _I8), _I64)

    return types.int64(types.int64), code


@intrinsic
def digits_at(typingctx, address):
    """Which of the next 32 bytes are digits, the first in the lowest bit."""

    def code(context, builder, signature, args):
        kind = ir.VectorType(_I8, RUN)
        above = builder.sub(_load(builder, args[0], kind), ir.Constant(kind, [48] * RUN))
        digits = builder.icmp_unsigned("<", above, ir.Constant(kind, [10] * RUN))
        return builder.zext(builder.bitcast(digits, ir.IntType(RUN)), _I64)

    return types.uint64(types.int64), code


@intrinsic
def differs_at(typingctx, address, block):
    """Whether one of the next 32 bytes is not from the least on that a block says for it, or
    further above than it says. A block is 32 bytes of the least, and 32 of how far above."""

    def code(context, builder, signature, args):
        kind = ir.VectorType(_I8, RUN)
        least, room = (
            _load(builder, builder.add(args[1], ir.Constant(_I64, n)), kind) for n in (0, RUN)
        )
        above = builder.sub(_load(builder, args[0], kind), least)
        name = f"llvm.usub.sat.v{RUN}i8"
        subtract = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, (kind, kind)), name
        )
        odd = builder.bitcast(builder.call(subtract, (above, room)), ir.IntType(8 * RUN))
        return builder.icmp_unsigned("!=", odd, ir.Constant(odd.type, 0))

    return types.boolean(types.int64, types.int64), code


@intrinsic
def ends_at(typingctx, address):
    """Which of the next 64 bytes are `\\n` or `\\r`, the first in the lowest bit."""

    def code(context, builder, signature, args):
        block = _load(builder, args[0], ir.VectorType(_I8, _BLOCK))
        feeds, returns = (
            builder.icmp_unsigned("==", block, ir.Constant(block.type, [byte] * _BLOCK))
            for byte in (10, 13)
        )
        return builder.bitcast(builder.or_(feeds, returns), _I64)

    return types.uint64(types.int64), code


@intrinsic
def trailing_zeros(typingctx, word):
    """Zero bits below the lowest set one; 64 where none is set."""

    def code(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), code


@intrinsic
def leading_zeros(typingctx, word):
    """Zero bits above the highest set one; 64 where none is set."""

    def code(context, builder, signature, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), code


@intrinsic
def product_high(typingctx, a, b):
    """The upper 64 bits of a 128-bit product."""

    def code(context, builder, signature, args):
        wide = builder.mul(builder.zext(args[0], _I128), builder.zext(args[1], _I128))
        return builder.trunc(builder.lshr(wide, ir.Constant(_I128, 64)), _I64)

    return types.uint64(types.uint64, types.uint64), code


@intrinsic
def as_double(typingctx, bits):
    """The double that these 64 bits are."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.uint64), code


@intrinsic
def whole_at(typingctx, address):
    """Eight bytes as an int64."""

    def code(context, builder, signature, args):
        return _load(builder, args[0], _I64)

    return types.int64(types.int64), code


@intrinsic
def double_at(typingctx, address):
    """Eight bytes as a double."""

    def code(context, builder, signature, args):
        return _load(builder, args[0], ir.DoubleType())

    return types.float64(types.int64), code


@intrinsic
def put_whole(typingctx, address, value):
    """Store an int64."""

    def code(context, builder, signature, args):
        builder.store(args[1], builder.inttoptr(args[0], _I64.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@intrinsic
def put_double(typingctx, address, value):
    """Store a double."""

    def code(context, builder, signature, args):
        builder.store(args[1], builder.inttoptr(args[0], ir.DoubleType().as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.float64), code
