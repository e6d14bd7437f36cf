"""NamedTuples of arrays that compiled functions hand on by their address.

Numba hands a tuple on as all the numbers that its arrays consist of, takes it apart in every function, and counts
references to each array. LLVM spent more than half of its time on that. A bundle lies in the memory of the call from
Python, nobody changes it, and functions load what they need of it.
"""

import hashlib
from functools import cache

from llvmlite import ir
from llvmlite.binding import create_target_data
from numba.core import cgutils, types
from numba.core.datamodel import default_manager, register_default
from numba.core.datamodel.models import DataModel
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.core.pythonapi import NativeValue, unbox
from numba.core.typing.typeof import typeof_impl

__all__ = ["hand_on_by_address", "mark_addresses", "size_of"]


class _BundleType(types.NamedTuple):
    pass


@register_default(_BundleType)
class _BundleModel(DataModel):
    """An address in functions and calls, the fields themselves within another bundle."""

    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type)
        fields = [dmm.lookup(kind).get_data_type() for kind in fe_type]
        digest = hashlib.sha256(str(ir.LiteralStructType(fields)).encode()).hexdigest()[:16]
        self._struct = ir.global_context.get_identified_type(f"{fe_type.instance_class.__name__}.{digest}")
        if self._struct.is_opaque:
            self._struct.set_body(*fields)

    def get_value_type(self):
        return self._struct.as_pointer()

    def get_data_type(self):
        return self._struct

    def get_return_type(self):
        return self._struct

    def as_argument(self, builder, value):
        return value

    def from_argument(self, builder, value):
        return value

    def as_data(self, builder, value):
        return builder.load(value)

    def from_data(self, builder, value):
        return cgutils.alloca_once_value(builder, value)

    def load_from_data_pointer(self, builder, ptr, align=None):
        return ptr

    as_return, from_return = as_data, from_data


@lower_getattr_generic(_BundleType)
def _get_field(context, builder, kind, value, name):
    index = kind.fields.index(name)
    model, address = default_manager.lookup(kind[index]), cgutils.gep_inbounds(builder, value, 0, index)
    if isinstance(kind[index], types.Array):  # whole, for fewer instructions
        return impl_ret_borrowed(context, builder, kind[index], builder.load(address))
    return impl_ret_borrowed(context, builder, kind[index], model.load_from_data_pointer(builder, address))


@unbox(_BundleType)
def _unbox(kind, item, c):
    """Put what a tuple of Python holds to memory, with a reference to each array for the time of the call."""
    memory = cgutils.alloca_once(c.builder, default_manager.lookup(kind).get_data_type(), zfill=True)
    has_failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    arrays = list(_fill(kind, item, memory, has_failed, c))

    def cleanup():
        for array, address in arrays:
            c.context.nrt.decref(c.builder, array, c.builder.load(address))

    return NativeValue(memory, is_error=c.builder.load(has_failed), cleanup=cleanup)


def _fill(kind, item, memory, has_failed, c):
    """Store every field; the type and the address of each array."""
    for index, inner in enumerate(kind):
        value, address = c.pyapi.tuple_getitem(item, index), cgutils.gep_inbounds(c.builder, memory, 0, index)
        if isinstance(inner, _BundleType):
            yield from _fill(inner, value, address, has_failed, c)
        elif isinstance(inner, types.Array):
            code = c.pyapi.nrt_adapt_ndarray_from_python(value, c.builder.bitcast(address, c.pyapi.voidptr))
            _note_failure(cgutils.is_not_null(c.builder, code), has_failed, c)
            yield inner, address
        else:
            native = c.unbox(inner, value)
            _note_failure(native.is_error, has_failed, c)
            c.builder.store(default_manager.lookup(inner).as_data(c.builder, native.value), address)


def _note_failure(is_error, has_failed, c):
    c.builder.store(c.builder.or_(c.builder.load(has_failed), is_error), has_failed)


def mark_addresses(ir_module):
    """Tell LLVM that nobody writes to bundles, and that all fields exist: so it loads a field once, before a loop."""
    for function in ir_module.functions:
        for argument in function.args:
            struct = getattr(argument.type, "pointee", None)
            if isinstance(struct, ir.IdentifiedStructType):
                argument.add_attribute("noalias")
                argument.attributes.dereferenceable = size_of(struct, ir_module.data_layout)
                argument.attributes.align = _alignment_of(struct, ir_module.data_layout)


@cache
def size_of(kind, layout):
    """Bytes that a type of LLVM takes; llvmlite writes and parses a module each time it is asked."""
    return kind.get_abi_size(create_target_data(layout))


@cache
def _alignment_of(kind, layout):
    return kind.get_abi_alignment(create_target_data(layout))


def hand_on_by_address(cls):
    """Make instances of this NamedTuple bundles wherever compiled functions take them."""

    @typeof_impl.register(cls)
    def typeof(value, context):
        return _BundleType([typeof_impl(item, context) for item in value], cls)

    return cls
