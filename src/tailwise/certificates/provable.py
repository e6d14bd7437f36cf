"""Which utilities have an upper bound: those whose value for a set of instances is linear once its size is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwise.errors import UtilityError
from tailwise.expectations import Exact
from tailwise.kernels.set_worth import AFFINE, CURVED, SHAPE, find_bend, find_rise
from tailwise.utilities.formula import Custom
from tailwise.utilities.macro import CONVEX, PROPORTIONAL

if TYPE_CHECKING:
    from tailwise.expectations import SemiEmpirical
    from tailwise.kernels.set_worth import Worth
    from tailwise.utilities import Utility
    from tailwise.utilities.macro import Formula

__all__ = ["check_formulas", "check_supported", "is_supported"]


def is_supported(utility: Utility) -> bool:
    """Whether there is an upper bound for every part of a utility, without a look at formulas of the user."""
    return all(formula is None or formula.curvature in (PROPORTIONAL, CONVEX) for formula in _formulas(utility))


def _formulas(utility: Utility) -> list[Formula | None]:
    return [getattr(term, "formula", None) for _, term in utility.terms]


def check_supported(utility: Utility, expectation: SemiEmpirical) -> None:
    """Refuse a utility without an upper bound; formulas of the user are still to be checked."""
    for _, term in utility.terms:
        formula = getattr(term, "formula", None)
        if formula is None or formula.curvature in (PROPORTIONAL, CONVEX):
            continue
        if not isinstance(term, Custom):
            msg = (
                f"certify needs a utility that is linear in the selection at fixed q, Jaccard or coverage. Got {term}. "
                "There is no upper bound for it yet."
            )
            raise UtilityError(msg)
        if isinstance(expectation, Exact):
            msg = f"certify takes formulas of your own by expectation='semi' only. Got 'exact' for {term}."
            raise UtilityError(msg)


def check_formulas(expectation: SemiEmpirical, *, fills: bool) -> Worth:
    """Refuse formulas of the user that are not on a line in t at fixed q and p; looked at for every label and size.

    Where slots are filled with labels of probability 0, these must not gain by it. Returns the worth of sets, now that
    all formulas are known to be lines or to bend upwards.
    """
    worth, columns = expectation.worth, expectation.columns
    factors = worth.factors.copy()
    for f, (_, formula) in enumerate(expectation.formulas):
        if formula.curvature in (PROPORTIONAL, CONVEX):
            continue
        j, q, t = find_bend(worth, columns.indptr, f)
        expectation.raise_failure()
        if j >= 0:
            msg = (
                f"certify needs a formula that is linear in t at fixed q and p. It bends at t={t:g}, q={q:g}, "
                f"p={worth.p[j]:g} (label {j}). Use expected_utility for its value; there is no upper bound for it."
            )
            raise UtilityError(msg)
        j, q, t = find_rise(worth, columns.indptr, f) if fills else (-1, 0.0, 0.0)
        if j >= 0:
            msg = (
                f"certify with fill='least-loss' needs a formula that does not rise with q at fixed t. It does at "
                f"t={t:g}, q={q:g}, p={worth.p[j]:g} (label {j}). Use fill='none' (--fill none)."
            )
            raise UtilityError(msg)
        factors[f, SHAPE] = AFFINE
    is_curved = bool((factors[:, SHAPE] == CURVED).any()) or worth.curves.shape[2] > 0
    return worth._replace(factors=factors, is_curved=is_curved)
