"""The nonlinear utilities of one label, psi(t, q, p), and how a kernel calls one that it does not know.

A kernel receives formulas as addresses of C functions. Addresses are data, so one compiled and cached kernel serves
every built-in formula, every mixture and every user's formula.
"""

import ctypes
from functools import cache

import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.extending import intrinsic

from tailwise.kernels.compiling import c_function

# t, q, p, n and the formula's parameter.
N_ARGUMENTS = 5
SIGNATURE = types.float64(*[types.float64] * N_ARGUMENTS)
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * N_ARGUMENTS)


@intrinsic
def call_formula(typing_context, address, t, q, p, n, parameter):
    """Call the C function at an address."""
    signature = types.float64(types.int64, *[types.float64] * N_ARGUMENTS)

    def generate(context, builder, signature, arguments):
        double = ir.DoubleType()
        function_type = ir.FunctionType(double, [double] * N_ARGUMENTS)
        return builder.call(builder.inttoptr(arguments[0], function_type.as_pointer()), arguments[1:])

    return signature, generate


@cache
def compile_built_in(function):
    """The C function of a formula of this module, compiled once and cached on disk."""
    return c_function(SIGNATURE, function)


def compile_formula(function):
    """The C function of a user's psi(t, q, p)."""
    psi = njit(error_model="numpy")(function)
    psi.compile((types.float64, types.float64, types.float64))

    def formula(t, q, p, n, parameter):
        return np.float64(psi(t, q, p))

    return cfunc(SIGNATURE, error_model="numpy")(formula)


# With fewer expected negatives, n - p is mostly what rounding left of it, and the label counts as one without any.
FEW_NEGATIVES, FEW_NEGATIVES_SHARE = 1e-6, 1e-9


def precision(t, q, p, n, parameter):
    return t / q if q > 0 else 0.0


def f_beta(t, q, p, n, beta):
    denominator = q + beta * beta * p
    return (1 + beta * beta) * t / denominator if denominator > 0 else 0.0


def jaccard(t, q, p, n, parameter):
    union = q + p - t
    return t / union if union > 0 else 0.0


def geometric_mean(t, q, p, n, parameter):
    if p <= 0 or n - p <= FEW_NEGATIVES + FEW_NEGATIVES_SHARE * n:
        return 0.0
    return (max(0.0, t * (n - q - p + t)) / (p * (n - p))) ** 0.5


def harmonic_mean(t, q, p, n, parameter):
    if p <= 0 or n - p <= FEW_NEGATIVES + FEW_NEGATIVES_SHARE * n:
        return 0.0
    recall = t / p
    specificity = max(0.0, (n - q - p + t) / (n - p))
    return 2 * recall * specificity / (recall + specificity) if recall + specificity > 0 else 0.0


def pair_order(t, q, p, n, parameter):
    """Share of the pairs of a positive and a negative instance that the selection does not put in the wrong order."""
    if p <= 0 or n - p <= FEW_NEGATIVES + FEW_NEGATIVES_SHARE * n:
        return 0.0
    return 1 - (q - t) * (p - t) / (p * (n - p))
