"""The expected utility of any selection, of tailwise or of another tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import NumericalError
from tailwise.expectations import Exact, SemiEmpirical
from tailwise.expectations.distributions import expect_by_probabilities
from tailwise.expectations.exact import supports_exact
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.paths import load_both_if_paths, load_priors_if_path
from tailwise.selection.batch import describe_batch
from tailwise.selection.budget import check_budgets
from tailwise.utilities import as_utility
from tailwise.utilities.macro import FormulaUtility
from tailwise.utilities.utility import Batch, Mixture

if TYPE_CHECKING:
    from tailwise.utilities import Utility

__all__ = ["check_value", "expect", "expected_utility"]


def expected_utility(
    probabilities: Any,
    selection: Any,
    utility: Utility | str,
    k: Any = None,
    *,
    expectation: str = "exact",
    priors: Any = None,
    condition_positives: Any = None,
) -> float:
    r"""The expected utility of a selection, :math:`E[\sum_j \psi_j(t_j, q_j, p_j)]`.

    Parameters
    ----------
    probabilities : array_like or path
        As for :func:`select`. Labels that are selected without being candidates have probability 0.
    selection : Selection, array_like or path
        A Selection, an (n, k) array of labels with -1 for an empty slot, a 0/1 matrix, or a file.
    utility : Utility or str
        What to expect.
    k : int or array_like of int, optional
        The budget, for utilities that divide by it. Default: the number of labels that the selection holds.
    expectation : {"exact", "semi"}
        E[psi], or psi of the expected counts. Exact values come from quadrature (relative error below 1e-6) or, for
        G-mean, H-mean, AUC and formulas of your own, from Poisson-binomial probabilities (absolute error below 1e-8).
    priors, condition_positives
        As for :func:`select`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> probabilities = np.array([[0.5, 0.2], [0.5, 0.4]])
    >>> tw.expected_utility(probabilities, np.array([[0], [1]]), "macro-recall", expectation="semi")
    0.5833333333333333
    >>> round(tw.expected_utility(probabilities, np.array([[0], [1]]), "macro-recall"), 6)
    0.3675
    """
    check_choice("expectation", expectation, ("exact", "semi"))
    probabilities, selection = load_both_if_paths(probabilities, selection)
    candidates = Candidates.of(probabilities)
    n, m = candidates.shape
    chosen = Chosen.of(selection, m, n_instances=n, like="probabilities")
    priors = load_priors_if_path(priors)
    budgets = (chosen.labels != EMPTY).sum(axis=1) if k is None else check_budgets(k, *candidates.shape)
    batch = describe_batch(candidates, budgets, priors, condition_positives)
    return expect(as_utility(utility, priors), candidates, chosen, batch, expectation)


def expect(utility: Utility, candidates: Candidates, chosen: Chosen, batch: Batch, expectation: str) -> float:
    """The expected utility of a selection on a batch that is described already."""
    if expectation == "semi":
        semi = SemiEmpirical(utility, candidates, batch)
        semi.count_labels(chosen)
        return check_value(utility, semi.expected())
    by_laws = [(factor, term) for factor, term in utility.terms if not supports_exact(term)]
    exact = Exact(Mixture([part for part in utility.terms if part not in by_laws]), candidates, batch)
    exact.count_labels(chosen)
    value = exact.expected()
    formulas = [(factor / batch.n_labels, term.formula) for factor, term in by_laws if isinstance(term, FormulaUtility)]
    if formulas:
        value += float(expect_by_probabilities(formulas, candidates, chosen, batch)[0].sum())
    return check_value(utility, value)


def check_value(utility: Utility, value: float) -> float:
    """Refuse a value that the utility cannot have, which only rounding or overflow can lead to."""
    low, high = utility.range
    slack = 1e-6 * max(abs(low), abs(high), 1.0)
    if not (np.isfinite(value) and low - slack <= value <= high + slack):
        msg = (
            f"The expected {utility} must be a number between {low:g} and {high:g}. It came out as {value:.9g}: the "
            "input is too extreme to compute with, or condition_positives contradict the probabilities. "
            "Use less extreme factors, parameters or condition_positives."
        )
        raise NumericalError(msg)
    return value
