"""The expected utility of a selection in plain numpy: one judge for every program, sharing no code with any of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

__all__ = ["check_budget", "score"]


def score(probabilities: sp.csr_array, chosen: sp.csr_array, utility: str) -> float:
    """Semi-empirical macro-F1 or macro-precision, or the expected coverage, over all labels, with 0/0 = 0."""
    m = probabilities.shape[1]
    hits = sp.coo_array(probabilities.astype(np.float64).multiply(chosen))
    labels, values = hits.coords[1], hits.data
    if utility == "coverage":
        with np.errstate(divide="ignore"):  # a certain hit: log(0), and a failure probability of exp(-inf) = 0
            return float(np.mean(1 - np.exp(np.bincount(labels, weights=np.log1p(-values), minlength=m))))
    t = np.bincount(labels, weights=values, minlength=m)
    q = np.bincount(chosen.indices, minlength=m)
    p = np.bincount(probabilities.indices, weights=probabilities.data.astype(np.float64), minlength=m)
    above, below = {"macro-f1": (2 * t, q + p), "macro-precision": (t, q)}[utility]
    return float(np.mean(np.divide(above, below, out=np.zeros(m), where=below > 0)))


def check_budget(chosen: sp.csr_array, k: int) -> None:
    """Refuse a selection that has not exactly k distinct labels in every row: its utility compares with none."""
    distinct = sp.csr_array(chosen, copy=True)
    distinct.sum_duplicates()
    if not (np.diff(distinct.indptr) == k).all() or not (distinct.data == 1).all():
        msg = f"a selection must hold exactly {k} distinct labels in every row."
        raise ValueError(msg)
