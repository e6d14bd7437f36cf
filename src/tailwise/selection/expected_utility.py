"""The expected utility of any selection, of tailwise or of another tool."""

from __future__ import annotations

from typing import Any

from tailwise.engines.engine import MIN_SHARED_ENTRIES
from tailwise.expectations.terms import check_value
from tailwise.inputs.paths import Source
from tailwise.inputs.totals import Totals
from tailwise.selection.judging import judge
from tailwise.selection.resolve import choose_engine, name_columns
from tailwise.utilities import Utility


def expected_utility(
    probabilities: Any,
    utility: Utility | str,
    selection: Any,
    k: Any = None,
    *,
    expectation: str = "exact",
    context: Totals | None = None,
    priors: Any = None,
    condition_positives: Any = None,
    engine: Any = "threads",
    instance: str | None = None,
    label: str | None = None,
    probability: str | None = None,
) -> float:
    r"""The expected utility of a selection, :math:`E[\sum_j \psi_j(t_j, q_j, p_j)]`.

    Parameters
    ----------
    probabilities : array_like or path
        As for :func:`select`. Labels that are selected without being candidates have probability 0.
    utility : Utility or str
        What to expect.
    selection : Selection, array_like or path
        A Selection, an (n, k) array of labels with -1 for an empty slot, a 0/1 matrix, or a file.
    k : int or array_like of int, optional
        The budget, for utilities that divide by it. Default: that of the Selection, whose empty slots count, so that
        the value is its ``expected``; for other forms, the number of labels that the selection holds, so that empty
        slots do not count.
    expectation : {"exact", "semi"}
        E[psi], or psi of the expected counts. Exact values come from quadrature (relative error below 1e-6) or, for
        G-mean, H-mean, AUC and formulas of your own, from Poisson-binomial probabilities (absolute error below 1e-8).
    context, priors, condition_positives, instance, label, probability
        As for :func:`select`. What is excluded there does not change the value of a selection: excluded pairs count
        among the positives.
    engine : "threads" or Engine
        As for :func:`select`. The value does not depend on it.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> probabilities = np.array([[0.5, 0.2], [0.5, 0.4]])
    >>> tw.expected_utility(probabilities, "macro-recall", np.array([[0], [1]]), expectation="semi")
    0.5833333333333333
    >>> round(tw.expected_utility(probabilities, "macro-recall", np.array([[0], [1]])), 6)
    0.3675
    """
    columns = name_columns(instance, label, probability)
    source = Source.of(probabilities, columns=columns)
    more = {"context": context, "priors": priors, "condition_positives": condition_positives}
    judged = judge(source, utility, selection, k, expectation, columns=columns, **more)
    with choose_engine(engine, None, needs_one=judged.candidates.n_entries < MIN_SHARED_ENTRIES) as chosen:
        return check_value(judged.utility, judged.expect(expectation, chosen).value_of(judged.chosen))
