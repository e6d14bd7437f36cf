"""Sixteen numbers at once: the rows of a table with sixteen columns, added up and added to; sums compared.

The classifiers of sixteen siblings learn in step from the same instances, one column of their table each. Numba's own
loops over such rows store every partial sum to memory, as two arrays might overlap, and take seven times as long; so
these loops are spelled out for the compiler with vectors of sixteen, which it maps to what the processor has.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["LANES", "add_rows", "add_to_rows", "any_above", "as_float_bits"]

LANES = 16
_FLOAT, _INT32, _INT64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, LANES)
_UNDEFINED = ir.Constant(_VECTOR, ir.Undefined)
_FIRST_LANE = ir.Constant(ir.VectorType(_INT32, LANES), [0] * LANES)
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
def any_above(typing_context, sums, lengths, first, rest, least):
    """Whether sums[x] + rest * lengths[x] > least for any of the sixteen x from `first` on.

    Shapes: sums, lengths float32, contiguous, the same.
    """
    signature = types.boolean(sums, lengths, types.int64, types.float32, types.float32)

    def generate(context, builder, signature, arguments):
        sums, lengths = _data_of(context, builder, signature, arguments, (0, 1))
        first, rest, least = arguments[2:]
        gains = builder.fmul(_in_all(builder, rest), _load(builder, builder.gep(lengths, [first])))
        totals = builder.fadd(_load(builder, builder.gep(sums, [first])), gains)
        is_above = builder.bitcast(builder.fcmp_ordered(">", totals, _in_all(builder, least)), ir.IntType(LANES))
        return builder.icmp_unsigned("!=", is_above, ir.IntType(LANES)(0))

    return signature, generate


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


def _in_all(builder, value):
    return builder.shuffle_vector(builder.insert_element(_UNDEFINED, value, _INT32(0)), _UNDEFINED, _FIRST_LANE)


def _load(builder, pointer):
    vector = builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()))
    vector.align = 4
    return vector


def _store(builder, vector, pointer):
    builder.store(vector, builder.bitcast(pointer, _VECTOR.as_pointer())).align = 4
