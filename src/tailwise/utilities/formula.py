"""User-defined formulas, compiled."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import FormulaError
from tailwise.inputs.matrices import as_dense
from tailwise.kernels.curvature import UNKNOWN
from tailwise.utilities.macro import FormulaUtility
from tailwise.utilities.utility import Batch, Formula

# Number of rows of parameters, spread over all labels, on which a formula is checked.
MOST_CHECKED = 5


class Custom(FormulaUtility):
    r"""The mean over labels of a user-defined formula: :math:`\frac1m \sum_j \psi(t_j, q_j, p_j)`.

    Parameters
    ----------
    function : callable
        psi(t, q, p) of one label, a function of three counts, 0 <= t <= min(q, p), that returns a number. It must be
        finite everywhere, including 0/0, and must not decrease as t grows. With ``parameters`` it is
        psi(t, q, p, a), where a is the row of the label.
    name : str, optional
        The name to print. Default: the function's name.
    compiled : bool
        Compile it with Numba (the default). False runs it as plain Python: slow and on one thread, but any code works.
    parameters : array_like of shape (m, r), optional
        r numbers for each label.
    weights : array_like of shape (m,) or mapping, optional
        Factor of each label's part, as for every macro utility.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> smoothed = tw.utilities.Utility.from_formula(lambda t, q, p: (t + 0.1) / (q + p - t + 0.1), name="smoothed")
    >>> tw.select(np.array([[0.9, 0.4], [0.8, 0.6]]), smoothed, k=1).labels.ravel()
    array([0, 1], dtype=int32)

    With a different cost of false positives for each label:

    >>> costs = np.array([[1.0], [0.1]])
    >>> cost = tw.utilities.Utility.from_formula(lambda t, q, p, a: t - a[0] * (q - t), parameters=costs, name="cost")
    >>> tw.select(np.array([[0.9, 0.4], [0.4, 0.3]]), cost, k=1).labels.ravel()
    array([0, 1], dtype=int32)
    """

    name = "formula"
    lowest, highest = -math.inf, math.inf

    def __init__(
        self,
        function: Callable,
        *,
        name: str | None = None,
        compiled: bool = True,
        parameters: Any = None,
        weights: Any = None,
    ) -> None:
        super().__init__(weights=weights)
        if not callable(function):
            msg = f"function must be callable as psi(t, q, p). Got {type(function).__name__}."
            raise FormulaError(msg)
        self.function = function
        self._name = name or str(getattr(function, "__name__", "formula"))
        self.compiled = compiled
        self._parameters = np.empty((1, 0)) if parameters is None else _check_parameters(parameters)
        n_parameters = self._parameters.shape[1]
        self._holder = (_compile if compiled else _PlainCallback)(function, n_parameters)
        call = _ignoring_parameters(function) if n_parameters == 0 else _with_parameters(function)
        own = self._parameters if parameters is not None else self._parameters[0]
        self.formula = Formula(call, lambda: self._holder.address, own, UNKNOWN)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave out compiled code; the function is compiled again where it is needed."""
        parameters = self._parameters if self._parameters.size else None
        return _rebuild, (_as_portable(self.function), self._name, self.compiled, parameters, self.weights)

    def __copy__(self) -> Custom:
        twin = object.__new__(Custom)
        twin.__dict__.update(self.__dict__)
        return twin

    def parameters(self) -> dict[str, Any]:
        return {"function": self.function, "parameters": self._parameters}

    def __repr__(self) -> str:
        return f"Utility.from_formula({self._name})"

    def text(self) -> str:
        return self._name

    def check(self, batch: Batch) -> None:
        """Refuse a formula that is not finite, or decreases as t grows, at some point of a grid of valid counts."""
        n, rows = int(batch.n_instances), self._parameters
        if self.formula.parameters.ndim == 2 and rows.shape[0] != batch.n_labels:
            msg = f"parameters must hold one row per label, {batch.n_labels} in all. Got {rows.shape[0]}."
            raise FormulaError(msg)
        counts = sorted({c for c in (0, 1, 2, 3, 5, 10, 100, n // 2, n) if c <= n})
        some = np.unique(np.linspace(0, rows.shape[0] - 1, MOST_CHECKED).astype(int))
        for row, q, p in itertools.product(rows[some], counts, counts):
            self._check_rise(row, q, p)

    def _check_rise(self, row: NDArray, q: int, p: int) -> None:
        previous = -math.inf
        for t in (min(q, p) * share for share in (0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 1.0)):
            value = self._value(float(t), float(q), float(p), row)
            if value < previous - 1e-12 * max(1.0, abs(previous)):
                msg = (
                    f"The formula {self._name} must not decrease as t grows. It decreases from {previous:g} to "
                    f"{value:g} at t={t:g}, q={q}, p={p}. Give a formula that rewards true positives."
                )
                raise FormulaError(msg)
            previous = value

    def raise_failure(self) -> None:
        """Raise, once, the exception that a plain Python formula raised while a kernel was calling it."""
        failure = getattr(self._holder, "failure", None)
        if failure is not None:
            self._holder.failure = None
            if not isinstance(failure, Exception):
                raise failure
            msg = f"The formula {self._name} raised {type(failure).__name__}: {failure}."
            raise FormulaError(msg) from failure

    def _value(self, t: float, q: float, p: float, row: NDArray) -> float:
        try:
            value = float(self.formula.function(t, q, p, 0.0, row))
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


def _rebuild(function: Callable, name: str, compiled: bool, parameters: Any, weights: Any) -> Custom:  # noqa: FBT001
    return Custom(function, name=name, compiled=compiled, parameters=parameters, weights=weights)


def _as_portable(function: Callable) -> Callable:
    """Return a function, such as a lambda, that no module holds by its name as one that pickle takes with its code."""
    found: Any = sys.modules.get(getattr(function, "__module__", ""))
    for name in getattr(function, "__qualname__", "").split("."):
        found = getattr(found, name, None)
    if found is function or not hasattr(function, "__code__"):
        return function
    import joblib  # type: ignore[import-untyped]

    return joblib.wrap_non_picklable_objects(function, keep_wrapper=False)


def _check_parameters(parameters: Any) -> NDArray:
    array = np.array(as_dense(parameters, "parameters"), order="C")  # a copy that nobody else changes
    if array.ndim != 2 or 0 in array.shape or not np.isfinite(array).all():
        msg = f"parameters must be finite numbers of shape (m, r), one row per label. Got shape {array.shape}."
        raise FormulaError(msg)
    return array


def _ignoring_parameters(function: Callable) -> Callable:
    return lambda t, q, p, n, parameters: function(t, q, p)


def _with_parameters(function: Callable) -> Callable:
    return lambda t, q, p, n, parameters: function(t, q, p, parameters)


def _compile(function: Callable, n_parameters: int) -> Any:
    from numba.core.errors import NumbaError

    from tailwise.kernels.psi import compile_formula

    try:
        return compile_formula(function, n_parameters)
    except (NumbaError, TypeError) as error:  # a TypeError if it does not take three numbers
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        msg = (
            f"function must be a formula of numbers that Numba can compile. Compiling failed: {reason} "
            "Use arithmetic and math functions only, or compiled=False to run it as plain Python, slowly."
        )
        raise FormulaError(msg) from error


class _PlainCallback:
    """A C function that calls plain Python. Errors cannot cross a kernel, so the first is kept for later."""

    def __init__(self, function: Callable, n_parameters: int) -> None:
        import ctypes

        from tailwise.kernels.psi import CALLBACK

        self.failure: BaseException | None = None

        def call(t: float, q: float, p: float, n: float, parameters: Any) -> float:
            try:
                more = () if n_parameters == 0 else (np.array(parameters[:n_parameters]),)
                return float(function(t, q, p, *more))
            except BaseException as error:  # including Ctrl-C, which cannot cross a kernel either
                self.failure = self.failure or error
                return math.nan

        self._callback = CALLBACK(call)  # must be kept alive as long as its address is in use
        self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
