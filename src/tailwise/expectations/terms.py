"""From a utility to what kernels read: its terms. One that declares nothing an expectation knows is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.errors import UtilityError
from tailwise.kernels.label_state import Terms
from tailwise.utilities.formula import Custom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tailwise.utilities.utility import Batch, SingleUtility, Utility

__all__ = ["Weighted", "check_terms", "make_terms", "raise_failure", "sum_coefficients", "supports_exact"]

# A factor, and the utility that it multiplies.
Weighted = tuple[float, "SingleUtility"]


def supports_exact(utility: Utility) -> bool:
    """Whether every part of a utility has an exact expectation that costs little more than the semi-empirical."""
    return all(term.linear_in_labels or term.is_coverage or term.ratios for _, term in utility.terms)


def check_terms(utility: Utility, batch: Batch) -> None:
    """Refuse terms that no expectation knows, and formulas of the user that do not hold on this batch."""
    for _, term in utility.terms:
        if isinstance(term, Custom):
            term.check(batch)
        elif not (term.formula is not None or term.is_coverage or term.linear(batch) is not None):
            msg = (
                f"{type(term).__name__} declares neither linear coefficients nor a formula nor coverage, so that it "
                "cannot be expected. Use Utility.from_formula(psi), or give its class `linear` or `formula`."
            )
            raise UtilityError(msg)


def make_terms(parts: Sequence[Weighted], batch: Batch) -> tuple[Terms, float]:
    """The terms of parts whose psi is taken at the totals, and what no selection changes in them."""
    m = batch.n_labels
    linear, constant = sum_coefficients(parts, batch)
    formulas = [(factor / m, term) for factor, term in parts if term.formula is not None]
    terms = Terms(
        linear,
        np.array([_address(term) for _, term in formulas], dtype=np.int64).reshape(-1, 3),
        np.array([(factor, _formula(term).curvature) for factor, term in formulas], dtype=np.float64).reshape(-1, 2),
        _weights([term for _, term in formulas], batch),
        _coverage(parts, batch),
        float(batch.n_instances),
    )
    return terms, constant


def sum_coefficients(parts: Sequence[Weighted], batch: Batch) -> tuple[NDArray, float]:
    """The factors of t and q of each label, and the part of the utility that no selection changes."""
    linear, constant = np.zeros((batch.n_labels, 2)), 0.0
    for factor, term in parts:
        coefficients = term.linear(batch)
        if coefficients is not None:
            linear[:, 0] += factor * coefficients.on_t
            linear[:, 1] += factor * coefficients.on_q
            constant += factor * float(coefficients.constant.sum())
    return linear, constant


def raise_failure(utility: Utility) -> None:
    """Raise, once, what a plain Python formula raised while a kernel was calling it."""
    for _, term in utility.terms:
        if isinstance(term, Custom):
            term.raise_failure()


def _formula(term: SingleUtility):  # type: ignore[no-untyped-def]
    assert term.formula is not None
    return term.formula


def _address(term: SingleUtility) -> tuple[int, int, int]:
    """Addresses of the formula and of its parameters, and the bytes from those of a label to those of the next."""
    formula = _formula(term)
    parameters = formula.parameters
    return formula.address(), parameters.ctypes.data, parameters.strides[0] if parameters.ndim == 2 else 0


def _weights(terms: list[SingleUtility], batch: Batch) -> NDArray:
    weights = [term.weights_in(batch) for term in terms]
    if all(each is None for each in weights):
        return np.empty((len(terms), 0))
    return np.array([np.ones(batch.n_labels) if each is None else each for each in weights])


def _coverage(parts: Sequence[Weighted], batch: Batch) -> NDArray:
    """The factor of coverage of each label; no array where nothing is covered."""
    covers = [(factor, term) for factor, term in parts if term.is_coverage]
    if not covers:
        return np.empty(0)
    weights = [(factor, term.weights_in(batch)) for factor, term in covers]
    total = sum(np.full(batch.n_labels, factor) if each is None else factor * each for factor, each in weights)
    return np.asarray(total) / batch.n_labels
