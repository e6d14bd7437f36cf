"""Sixteen numbers at once: the rows of a table with sixteen columns, added up and added to; 64 at once, by bits.

The classifiers of sixteen siblings learn in step from the same instances, one column of their table each. Numba's own
loops over such rows store every partial sum to memory, as two arrays might overlap, and take seven times as long; so
these loops are spelled out for the compiler with vectors of sixteen, which it maps to what the processor has.
"""

import math

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = [
    "LANES",
    "WIDE",
    "add_rows",
    "add_to_rows",
    "as_float_bits",
    "lowest_bit",
    "mask_above",
    "mask_reaching",
    "prefetch",
]

LANES, WIDE = 16, 64
_FLOAT, _INT32, _INT64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, LANES)
_BYTES, _SHORTS, _FLOATS = (ir.VectorType(kind, WIDE) for kind in (ir.IntType(8), ir.IntType(16), _FLOAT))
# Sums that do not wait for each other: an addition takes four cycles, and four can be under way.
_SUMS = 4


@intrinsic
def add_rows(typing_context, columns, values, first, last, table, sums):
    """sums[:] = the rows table[columns[x]] times values[x], added up over x from first to last.

    Shapes: columns int32, values float32 (nnz,); table float32 (any, 16); sums float32 (16,), all contiguous.
    """
    signature = types.void(columns, values, types.int64, types.int64, table, sums)

    def generate(context, builder, signature, arguments):
        columns, values, table, sums = _data_of(context, builder, signature, arguments, (0, 1, 4, 5))
        first, last = arguments[2], arguments[3]
        partial = [cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES)) for _ in range(_SUMS)]

        def add(position, total):
            row = _row_of(builder, columns, table, position)
            product = builder.fmul(_spread(builder, values, position), _load(builder, row), flags=["contract"])
            builder.store(builder.fadd(builder.load(total), product, flags=["contract"]), total)

        whole = builder.sub(last, builder.srem(builder.sub(last, first), _INT64(_SUMS)))
        with cgutils.for_range_slice(builder, first, whole, _INT64(_SUMS), _INT64) as (position, _):
            for s in range(_SUMS):
                add(builder.add(position, _INT64(s)), partial[s])
        with cgutils.for_range_slice(builder, whole, last, _INT64(1), _INT64) as (position, _):
            add(position, partial[0])
        a, b, c, d = (builder.load(total) for total in partial)
        _store(builder, builder.fadd(builder.fadd(a, b), builder.fadd(c, d)), sums)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def add_to_rows(typing_context, columns, values, first, last, table, steps):
    """Add values[x] * steps[:] to the row table[columns[x]], for x from first to last.

    Shapes: as for add_rows; steps float32 (16,). Writes: table.
    """
    signature = types.void(columns, values, types.int64, types.int64, table, steps)

    def generate(context, builder, signature, arguments):
        columns, values, table, steps = _data_of(context, builder, signature, arguments, (0, 1, 4, 5))
        step = _load(builder, steps)
        with cgutils.for_range_slice(builder, *arguments[2:4], _INT64(1), _INT64) as (position, _):
            row = _row_of(builder, columns, table, position)
            product = builder.fmul(_spread(builder, values, position), step, flags=["contract"])
            _store(builder, builder.fadd(_load(builder, row), product, flags=["contract"]), row)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def mask_above(typing_context, columns, factors, first, last, table, sums, start, unit, least, bounds):
    """Which of 64 rows exceed a number: a bit each, the first row's is the lowest.

    The bound of row y is sums[start + y] + unit * (table[columns[x], y] times factors[x], added up over x from first
    to last); a sum of at least 65535 exceeds everything.
    Shapes: columns int32, factors uint16 (nnz,), at most 255; table uint8 (any, 64); sums, bounds float32, all
    contiguous. Writes: the bounds of the rows, bounds[start + y].
    """
    numbers = (types.int64, types.float32, types.float32)
    signature = types.uint64(columns, factors, types.int64, types.int64, table, sums, *numbers, bounds)

    def generate(context, builder, signature, arguments):
        columns, factors, table, sums, found = _data_of(context, builder, signature, arguments, (0, 1, 4, 5, 9))
        start, unit, least = arguments[6:9]
        total = cgutils.alloca_once_value(builder, ir.Constant(_SHORTS, [0] * WIDE))
        kind = ir.FunctionType(_SHORTS, [_SHORTS, _SHORTS])
        add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.uadd.sat.v{WIDE}i16")
        with cgutils.for_range_slice(builder, *arguments[2:4], _INT64(1), _INT64) as (position, _):
            column = builder.sext(builder.load(builder.gep(columns, [position])), _INT64)
            codes = builder.zext(
                _load(builder, builder.gep(table, [builder.mul(column, _INT64(WIDE))]), _BYTES), _SHORTS
            )
            factor = builder.load(builder.gep(factors, [position]))
            builder.store(
                builder.call(add, [builder.load(total), builder.mul(codes, _in_all(builder, factor, _SHORTS))]), total
            )
        whole = builder.load(total)
        heads = builder.fmul(builder.uitofp(whole, _FLOATS), _in_all(builder, unit, _FLOATS))
        bounds = builder.fadd(_load(builder, builder.gep(sums, [start]), _FLOATS), heads)
        is_full = builder.icmp_unsigned("==", whole, ir.Constant(_SHORTS, [2**16 - 1] * WIDE))
        bounds = builder.select(is_full, ir.Constant(_FLOATS, [math.inf] * WIDE), bounds)
        place = builder.bitcast(builder.gep(found, [start]), _FLOATS.as_pointer())
        builder.store(bounds, place).align = 4
        return builder.bitcast(builder.fcmp_ordered(">", bounds, _in_all(builder, least, _FLOATS)), _INT64)

    return signature, generate


@intrinsic
def mask_reaching(typing_context, numbers, first, bar):
    """Which of the 64 numbers from `first` reach the bar: a bit each, the first number's is the lowest.

    Shapes: numbers float32, contiguous, 64 of them from `first`.
    """
    signature = types.uint64(numbers, types.int64, types.float32)

    def generate(context, builder, signature, arguments):
        (data,) = _data_of(context, builder, signature, arguments, (0,))
        found = _load(builder, builder.gep(data, [arguments[1]]), _FLOATS)
        does_reach = builder.fcmp_ordered(">=", found, _in_all(builder, arguments[2], _FLOATS))
        return builder.bitcast(does_reach, _INT64)

    return signature, generate


@intrinsic
def lowest_bit(typing_context, bits):
    """The place of the lowest bit that is set."""
    return types.int64(types.uint64), lambda context, builder, signature, values: builder.cttz(
        values[0], ir.IntType(1)(1)
    )


@intrinsic
def prefetch(typing_context, array, position):
    """Begin to fetch an entry of an array, which is needed soon."""

    def generate(context, builder, signature, arguments):
        (data,) = _data_of(context, builder, signature, arguments, (0,))
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), *[_INT32] * 3])
        begin = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        builder.call(begin, [place, _INT32(0), _INT32(3), _INT32(1)])  # to read, to all caches, as data
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@intrinsic
def as_float_bits(typing_context, bits):
    """The float32 number with these 32 bits."""
    return types.float32(types.int32), lambda context, builder, signature, values: builder.bitcast(values[0], _FLOAT)


def _data_of(context, builder, signature, arguments, positions):
    """Pointers to the first element of those arguments that are arrays."""
    return (context.make_array(signature.args[p])(context, builder, arguments[p]).data for p in positions)


def _row_of(builder, columns, table, position):
    row = builder.sext(builder.load(builder.gep(columns, [position])), _INT64)
    return builder.gep(table, [builder.mul(row, _INT64(LANES))])


def _spread(builder, values, position):
    """One value in all lanes."""
    return _in_all(builder, builder.load(builder.gep(values, [position])))


def _in_all(builder, value, kind=_VECTOR):
    undefined = ir.Constant(kind, ir.Undefined)
    first_lane = ir.Constant(ir.VectorType(_INT32, kind.count), [0] * kind.count)
    return builder.shuffle_vector(builder.insert_element(undefined, value, _INT32(0)), undefined, first_lane)


def _load(builder, pointer, kind=_VECTOR):
    vector = builder.load(builder.bitcast(pointer, kind.as_pointer()))
    vector.align = 1 if kind is _BYTES else 4
    return vector


def _store(builder, vector, pointer):
    builder.store(vector, builder.bitcast(pointer, _VECTOR.as_pointer())).align = 4
