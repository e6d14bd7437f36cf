"""Which utilities have an upper bound: those whose value for a set of instances is linear once its size is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwise.errors import UtilityError
from tailwise.expectations.terms import raise_failure, with_terms
from tailwise.kernels.curvature import AFFINE, CONCAVE, CONVEX
from tailwise.kernels.label_state import CURVATURE
from tailwise.kernels.set_worth import P0, find_bend, find_rise
from tailwise.utilities.formula import Custom

if TYPE_CHECKING:
    from tailwise.expectations.expectation import Expectation
    from tailwise.kernels.set_worth import Worth
    from tailwise.selection.problem import Problem
    from tailwise.utilities import Utility


def is_provable(utility: Utility) -> bool:
    """Whether there is an upper bound for every part of a utility, without a look at formulas of the user."""
    return all(term.formula is None or term.formula.curvature <= CONVEX for _, term in utility.terms)


def check_provable(utility: Utility, expectation: Expectation) -> None:
    """Refuse a utility without an upper bound; formulas of the user are still to be checked."""
    for _, term in utility.terms:
        if term.formula is None or term.formula.curvature <= CONVEX:
            continue
        if not isinstance(term, Custom):
            msg = (
                f"certify needs a utility that is linear in the selection at fixed q, Jaccard or coverage. Got {term}. "
                "There is no upper bound for it yet."
            )
            raise UtilityError(msg)
        if expectation.name == "exact":
            msg = f"certify takes formulas of your own by expectation='semi' only. Got 'exact' for {term}."
            raise UtilityError(msg)


def check_formulas(problem: Problem) -> Worth:
    """Refuse formulas of the user that are not on a line in t at fixed q and p; looked at for every label and size.

    Where slots are filled with labels of probability 0, these must not gain by it. Returns the worth of sets, now that
    all formulas are known to be lines or to bend upwards.
    """
    worth, columns = problem.expectation.worth, problem.candidates.columns(problem.engine)
    factors = worth.terms.factors.copy()
    for f in range(factors.shape[0]):
        if factors[f, CURVATURE] < CONCAVE:
            continue
        j, q, t = find_bend(worth, columns.indptr, f)
        raise_failure(problem.utility)
        if j >= 0:
            msg = (
                f"certify needs a formula that is linear in t at fixed q and p. It bends at t={t:g}, q={q:g}, "
                f"p={worth.base[j, P0]:g} (label {j}). expected_utility tells its value; there is no upper bound."
            )
            raise UtilityError(msg)
        j, q, t = find_rise(worth, columns.indptr, f) if problem.rules.fills else (-1, 0.0, 0.0)
        if j >= 0:
            msg = (
                f"certify with fill='least-loss' needs a formula that does not rise with q at fixed t. It does at "
                f"t={t:g}, q={q:g}, p={worth.base[j, P0]:g} (label {j}). Use fill='none' (--fill none)."
            )
            raise UtilityError(msg)
        factors[f, CURVATURE] = AFFINE
    return with_terms(worth, worth.terms._replace(factors=factors))
