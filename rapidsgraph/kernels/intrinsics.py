"""Operations that Numba lacks, or compiles slowly: prefetching, atomic operations, bits, minima.

They are the instructions llvm.prefetch, cmpxchg, atomicrmw, store atomic, llvm.ctlz and llvm.ctpop
of LLVM [1]_, and a multiplication of 128 bits.

References
----------
.. [1] LLVM Language Reference Manual. https://llvm.org/docs/LangRef.html
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.ufunc.parallel import _launch_threads


def _pointer(context, builder, array_type, array, index):
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


@intrinsic
def prefetch(typing, array, index):
    """Prefetch array[index] into the caches."""

    def generate(context, builder, signature, arguments):
        address = _pointer(context, builder, signature.args[0], *arguments)
        address = builder.bitcast(address, ir.IntType(8).as_pointer())
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, flag(0), flag(3), flag(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def exchange_if(typing, array, index, expected, value):
    """Atomically set array[index] to `value` if it is `expected`, and return the old value."""
    element = array.dtype

    def generate(context, builder, signature, arguments):
        address = _pointer(context, builder, signature.args[0], *arguments[:2])
        values = [
            context.cast(builder, argument, kind, element)
            for argument, kind in zip(arguments[2:], signature.args[2:], strict=True)
        ]
        done = builder.cmpxchg(address, *values, "acq_rel", "monotonic")
        return builder.extract_value(done, 0)

    return element(array, index, expected, value), generate


@intrinsic
def add_at(typing, array, index, value):
    """Atomically add `value` to array[index], and return the old value."""
    element = array.dtype

    def generate(context, builder, signature, arguments):
        address = _pointer(context, builder, signature.args[0], *arguments[:2])
        term = context.cast(builder, arguments[2], signature.args[2], element)
        return builder.atomic_rmw("add", address, term, "monotonic")

    return element(array, index, value), generate


@intrinsic
def add_float_at(typing, array, index, value):
    """Atomically add a floating-point number to array[index]."""
    element = array.dtype

    def generate(context, builder, signature, arguments):
        address = _pointer(context, builder, signature.args[0], *arguments[:2])
        term = context.cast(builder, arguments[2], signature.args[2], element)
        builder.atomic_rmw("fadd", address, term, "monotonic")
        return context.get_dummy_value()

    return types.void(array, index, value), generate


@intrinsic
def release(typing, array, index):
    """Atomically set array[index] to 0, after all earlier writes of this thread."""
    element = array.dtype

    def generate(context, builder, signature, arguments):
        address = _pointer(context, builder, signature.args[0], *arguments)
        zero = ir.Constant(context.get_value_type(element), 0)
        builder.store_atomic(zero, address, "release", element.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, index), generate


@intrinsic
def high_product(typing, one, other):
    """Return the upper 64 bits of the 128-bit product of two uint64."""

    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)
        factors = [builder.zext(argument, wide) for argument in arguments]
        high = builder.lshr(builder.mul(*factors), ir.Constant(wide, 64))
        return builder.trunc(high, ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def bit_length(typing, value):
    """Return the number of bits of a uint64 without leading zeros."""

    def generate(context, builder, signature, arguments):
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 64), zeros)

    return types.int64(types.uint64), generate


@intrinsic
def count_bits(typing, value):
    """Return the number of bits of a uint64 that are 1."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _select(typing, comparison, one, other):
    """Return the type and the code of ``other if other <comparison> one else one``."""
    kind = typing.unify_types(types.unliteral(one), types.unliteral(other))
    if not isinstance(kind, types.Integer):
        raise TypingError(f"no type of integers has the values of both {one} and {other}")

    def generate(context, builder, signature, arguments):
        first, second = (
            context.cast(builder, argument, given, kind)
            for argument, given in zip(arguments, signature.args, strict=True)
        )
        compare = builder.icmp_signed if kind.signed else builder.icmp_unsigned
        return builder.select(compare(comparison, second, first), second, first)

    return kind(one, other), generate


@intrinsic
def minimum(typing, one, other):
    """Return the smaller of two integers; `min` takes longer to compile, for each caller."""
    return _select(typing, "<", one, other)


@intrinsic
def maximum(typing, one, other):
    """Return the larger of two integers, as `minimum` does the smaller."""
    return _select(typing, ">", one, other)


@intrinsic
def get_num_threads(typing):
    """Return the number of threads; code that calls Numba's function cannot be cached."""

    def generate(context, builder, signature, arguments):
        _launch_threads()  # defines the symbol
        context.active_code_library._reload_init.add(_launch_threads)  # of cached code
        kind = ir.FunctionType(ir.IntType(64), [])
        function = cgutils.get_or_insert_function(builder.module, kind, "get_num_threads")
        return builder.call(function, [])

    return types.int64(), generate
