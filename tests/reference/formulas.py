"""Formulas that a user might write. Tests share them, for each is compiled only once."""

import functools
import math

from tailwise.utilities import Utility


def smoothed(t, q, p):
    """Bends in t."""
    return (t + 0.1) / (q + p - t + 0.1)


def shrunk(t, q, p):
    """Linear in t at fixed q and p."""
    return t / (q + 1.0)


def rooted(t, q, p):
    """Neither bounded by 1, nor 0 where t is."""
    return math.sqrt(t + 0.5) * 3 / (1.0 + q) - 0.01 * p


@functools.cache
def compiled(function):
    return Utility.from_formula(function)
