"""Numba's compiler with less work for the same machine code. All use of its private parts for compiling is here.

Numba optimises every compiled function and turns it into machine code, with all that it calls linked in; a step five
calls deep is optimised six times. Here a step stays as it was lowered, and only the kernel is optimised, as a whole.
"""

import gc
from contextlib import contextmanager
from functools import partial

import numba
from llvmlite.binding import Linkage
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.environment import lookup_environment

from tailwise.kernels.bundles import mark_addresses, size_of

__all__ = ["IS_TRIED", "KernelCompiler", "StepCompiler", "widened"]

# Versions of Numba with which this file was tried. With others, kernels are compiled as usual.
OLDEST, NEWEST = (0, 62), (0, 68)
IS_TRIED = OLDEST <= tuple(int(part) for part in numba.__version__.split(".")[:2]) <= NEWEST


class _QuickFlags(Flags):
    """Flags that are hashed and compared by what is set.

    Numba gives all flags the same hash, and compares them with all their defaults; type inference looks them up in its
    caches, and spent a fifth of its time on that.
    """

    def __hash__(self):
        get = self._values.get
        return hash((get("forceinline"), get("nrt"), get("no_cfunc_wrapper"), len(self._values)))

    def __eq__(self, other):
        return self is other or (isinstance(other, Flags) and self._values == other._values)


class _NoEngine:
    """The code generator of a step, which has no address yet."""

    def set_env(self, name, environment):
        """Nothing to set: the kernel that the step is linked into does it."""


class _BundlesLibrary(JITCodeLibrary):
    """A function that may take bundles."""

    def add_ir_module(self, ir_module):
        mark_addresses(ir_module)
        super().add_ir_module(ir_module)


class _StepLibrary(_BundlesLibrary):
    """A function that is only linked into others."""

    codegen = _NoEngine()

    def finalize(self):
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        return 0

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout
        manager, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                manager.run(function, builder)


class _KernelLibrary(_BundlesLibrary):
    """A function with all the steps that it calls, directly or not."""

    def finalize(self):
        self._linking_libraries = list(self._find_steps())
        super().finalize()
        for variable in self._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv") and (found := lookup_environment(variable.name)) is not None:
                self._codegen.set_env(variable.name, found)

    def _find_steps(self):
        waiting, seen = [*self._linking_libraries], {}
        while waiting:
            library = waiting.pop(0)
            if library not in seen:
                seen[library] = None
                if isinstance(library, _StepLibrary):
                    waiting.extend(library._linking_libraries)
        return seen

    def _optimize_final_module(self):
        # Nobody else calls the steps here, so they may be changed, or dropped once they are inlined.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


class StepCompiler(Compiler):
    """Compiles a function that kernels and other steps call."""

    library_class = _StepLibrary

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, _QuickFlags(flags), locals)
        context = self.state.targetctx  # of this function alone
        context.get_abi_sizeof = partial(size_of, layout=str(context.target_data))

    def define_pipelines(self):
        if self.state.library is None:
            library = self.library_class(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            library.enable_object_caching()
            self.state.library = library
        return super().define_pipelines()


class KernelCompiler(StepCompiler):
    """Compiles a function that Python calls."""

    library_class = _KernelLibrary

    def compile_extra(self, func):
        with _without_collection():
            return super().compile_extra(func)


@contextmanager
def _without_collection():
    """Without garbage collection, which looks at everything that the compiler holds again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def widened(dispatcher):
    """Let a step take all whole numbers as int64, whatever its callers have, so that it is compiled once."""
    template_for = dispatcher.get_call_template

    def get_call_template(args, kws):
        return template_for([_widen(kind) for kind in args], {name: _widen(kind) for name, kind in kws.items()})

    dispatcher.get_call_template = get_call_template
    return dispatcher


def _widen(kind):
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.bitwidth < 64 else kind
