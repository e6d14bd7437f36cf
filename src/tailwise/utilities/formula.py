"""A formula of the user's own, at compiled speed."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from tailwise.errors import FormulaError
from tailwise.utilities.macro import Formula, FormulaUtility

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Custom"]


class Custom(FormulaUtility):
    r"""The mean over labels of your own formula: :math:`\frac1m \sum_j \psi(t_j, q_j, p_j)`.

    Parameters
    ----------
    function : callable
        psi(t, q, p) of one label, from numbers to a number; t, q and p are counts, 0 <= t <= min(q, p). It must be
        finite everywhere and never fall when t grows. Mind 0/0.
    name : str, optional
        How to call it in print. Default: the function's name.
    compiled : bool
        Compile it with Numba (the default). False runs it as plain Python: slow, one thread, anything goes.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> smoothed = tw.utilities.Utility.from_formula(lambda t, q, p: (t + 0.1) / (q + p - t + 0.1), name="smoothed")
    >>> tw.select(np.array([[0.9, 0.4], [0.8, 0.6]]), smoothed, k=1).labels.ravel()
    array([0, 1], dtype=int32)
    """

    name = "formula"
    range = (-math.inf, math.inf)

    def __init__(self, function: Callable, *, name: str | None = None, compiled: bool = True) -> None:
        if not callable(function):
            msg = f"function must be callable as psi(t, q, p). Got {type(function).__name__}."
            raise FormulaError(msg)
        self.function = function
        self._name = name or str(getattr(function, "__name__", "formula"))
        self.compiled = compiled
        self._holder = _compile(function) if compiled else _PlainCallback(function)
        self.formula = Formula(lambda t, q, p, n, parameter: function(t, q, p), lambda: self._holder.address)

    def parameters(self) -> dict[str, Any]:
        return {"function": self.function}

    def __repr__(self) -> str:
        return f"Utility.from_formula({self._name})"

    def __str__(self) -> str:
        return self._name

    def check(self, n_instances: int) -> None:
        """Refuse a formula that is not finite, or falls as t grows, at some point of a grid in range."""
        counts = sorted({c for c in (0, 1, 2, 3, 5, 10, 100, n_instances // 2, n_instances) if c <= n_instances})
        for q, p in itertools.product(counts, counts):
            largest = min(q, p)
            previous = -math.inf
            for t in (largest * share for share in (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 1.0)):
                value = self._value(float(t), float(q), float(p))
                if value < previous - 1e-12 * max(1.0, abs(previous)):
                    msg = (
                        f"The formula {self._name} must not fall as t grows. It falls from {previous:g} to {value:g} "
                        f"on the way to t={t:g}, q={q}, p={p}. Give a formula that rewards true positives."
                    )
                    raise FormulaError(msg)
                previous = value

    def raise_failure(self) -> None:
        """Raise, once, what a plain Python formula raised while a kernel was calling it."""
        failure = getattr(self._holder, "failure", None)
        if failure is not None:
            self._holder.failure = None
            msg = f"The formula {self._name} raised {type(failure).__name__}: {failure}."
            raise FormulaError(msg) from failure

    def _value(self, t: float, q: float, p: float) -> float:
        try:
            value = float(self.function(t, q, p))
        except ZeroDivisionError:
            value = math.nan
        except Exception as error:
            msg = f"The formula {self._name} raised {type(error).__name__} at t={t:g}, q={q:g}, p={p:g}: {error}."
            raise FormulaError(msg) from error
        if not math.isfinite(value):
            msg = (
                f"The formula {self._name} must be finite. It is not at t={t:g}, q={q:g}, p={p:g}. "
                "Say what 0/0 should be, for instance `t / q if q > 0 else 0.0`."
            )
            raise FormulaError(msg)
        return value


def _compile(function: Callable) -> Any:
    from numba.core.errors import NumbaError

    from tailwise.kernels.psi import compile_formula

    try:
        return compile_formula(function)
    except (NumbaError, TypeError) as error:  # a TypeError where it does not take three numbers
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        msg = (
            f"function must be a formula of numbers that Numba can compile. It said: {reason} "
            "Use arithmetic and math functions only, or compiled=False to run it as plain Python, slowly."
        )
        raise FormulaError(msg) from error


class _PlainCallback:
    """A C function that calls plain Python. Errors cannot cross a kernel, so the first is kept for later."""

    def __init__(self, function: Callable) -> None:
        import ctypes

        from tailwise.kernels.psi import CALLBACK

        self.failure: Exception | None = None

        def call(t: float, q: float, p: float, n: float, parameter: float) -> float:
            try:
                return float(function(t, q, p))
            except Exception as error:
                self.failure = self.failure or error
                return math.nan

        self._callback = CALLBACK(call)  # must live as long as its address is in use
        self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
