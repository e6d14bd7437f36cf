"""The nonlinear utilities of one label, psi(t, q, p), and how a kernel calls one that it does not know.

A kernel receives formulas as addresses of C functions. Addresses are data, so one compiled and cached kernel serves
every built-in formula, every mixture and every user's formula.
"""

import ctypes
from functools import cache

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, njit, types
from numba.extending import intrinsic

from tailwise.kernels.compiling import c_function
from tailwise.kernels.whole_compiling import signals_deferred

# t, q, p, n, and a pointer to the parameters that the formula has for a label.
N_NUMBERS = 4
SIGNATURE = types.float64(*[types.float64] * N_NUMBERS, types.CPointer(types.float64))
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * N_NUMBERS, ctypes.POINTER(ctypes.c_double))


@intrinsic
def call_formula(typing_context, address, t, q, p, n, parameters):
    """Call the C function at an address, with the parameters at another one."""
    signature = types.float64(types.int64, *[types.float64] * N_NUMBERS, types.int64)

    def generate(context, builder, signature, arguments):
        double = ir.DoubleType()
        function_type = ir.FunctionType(double, [double] * N_NUMBERS + [double.as_pointer()])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        return builder.call(function, [*arguments[1:5], builder.inttoptr(arguments[5], double.as_pointer())])

    return signature, generate


@cache
def compile_built_in(function):
    """The C function of a formula of this module, compiled once and cached on disk."""
    return c_function(SIGNATURE, function)


@signals_deferred()
def compile_formula(function, n_parameters):
    """The C function of a user's psi(t, q, p), or psi(t, q, p, a) with an array of parameters of the label."""
    psi = njit(error_model="numpy")(function)
    numbers = (types.float64, types.float64, types.float64)
    if n_parameters == 0:
        psi.compile(numbers)

        def formula(t, q, p, n, parameters):
            return np.float64(psi(t, q, p))
    else:
        psi.compile((*numbers, types.Array(types.float64, 1, "C", readonly=True, aligned=True)))

        def formula(t, q, p, n, parameters):
            return np.float64(psi(t, q, p, carray(parameters, n_parameters)))

    return cfunc(SIGNATURE, error_model="numpy")(formula)


# With fewer expected negatives, n - p is mostly what rounding left of it, and the label counts as one without any.
FEW_NEGATIVES, FEW_NEGATIVES_SHARE = 1e-6, 1e-9


def precision(t, q, p, n, parameters):
    return t / q if q > 0 else 0.0


def f_beta(t, q, p, n, parameters):
    beta = parameters[0]
    denominator = q + beta * beta * p
    return (1 + beta * beta) * t / denominator if denominator > 0 else 0.0


def recall(t, q, p, n, parameters):
    return t / p if p > 0 else 0.0


def balanced_accuracy(t, q, p, n, parameters):
    has_negatives = n - p > FEW_NEGATIVES + FEW_NEGATIVES_SHARE * n
    specificity = (n - q - p + t) / (n - p) if has_negatives else 0.0
    return 0.5 * (t / p if p > 0 else 0.0) + 0.5 * specificity


def jaccard(t, q, p, n, parameters):
    union = q + p - t
    return t / union if union > 0 else 0.0


def geometric_mean(t, q, p, n, parameters):
    if p <= 0 or n - p <= FEW_NEGATIVES + FEW_NEGATIVES_SHARE * n:
        return 0.0
    # Poisson hits elsewhere can outnumber the predictions, here and in the next two; no negative is wrong then.
    true_negatives = min(n - p, n - q - p + t)
    return (max(0.0, t * true_negatives) / (p * (n - p))) ** 0.5


def harmonic_mean(t, q, p, n, parameters):
    if p <= 0 or n - p <= FEW_NEGATIVES + FEW_NEGATIVES_SHARE * n:
        return 0.0
    recall = t / p
    specificity = min(1.0, max(0.0, (n - q - p + t) / (n - p)))
    return 2 * recall * specificity / (recall + specificity) if recall + specificity > 0 else 0.0


def pair_order(t, q, p, n, parameters):
    """Share of the pairs of a positive and a negative instance that the selection does not put in the wrong order."""
    if p <= 0 or n - p <= FEW_NEGATIVES + FEW_NEGATIVES_SHARE * n:
        return 0.0
    return min(1.0, max(0.0, 1 - (q - t) * (p - t) / (p * (n - p))))
