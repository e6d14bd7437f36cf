"""The expected utility of a selection compared with its value on labels drawn from their own probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import Result
from matrices import zipf_matrix

import tailwise as tw

N_INSTANCES, N_LABELS, TOP = 5_000, 40_000, 100
BUDGETS, COMPARED_K, N_DRAWS = (1, 3, 5), 3, 50
UTILITIES = ("macro-f1", "macro-recall")
ASKED_DIFFERENCE = 0.01
ASKED_RATIOS = {"macro-f1": 1.01, "macro-recall": 1.8}


class Realised(NamedTuple):
    """The values of a selection in the draws, which are the same for every selection."""

    values: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(self.values.std(ddof=1) / np.sqrt(self.values.size))


def run() -> Iterator[Result]:
    matrix = zipf_matrix(N_INSTANCES, N_LABELS, TOP)
    for utility in UTILITIES:
        for k in BUDGETS:
            exact = select(matrix, utility, k, "exact")
            yield compare_expected(utility, k, exact.expected, realise(matrix, exact, utility))
    for utility in UTILITIES:
        exact, semi = (select(matrix, utility, COMPARED_K, expectation) for expectation in ("exact", "semi"))
        came_true = realise(matrix, semi, utility)
        yield compare_realised(utility, realise(matrix, exact, utility), came_true)
        yield state_semi(utility, semi.expected, came_true)


def select(matrix: sp.csr_array, utility: str, k: int, expectation: str) -> Any:
    method = "instance" if utility == "macro-recall" else "ascent"
    return tw.select(matrix, utility, k=k, method=method, expectation=expectation)


def realise(matrix: sp.csr_array, selection: Any, utility: str) -> Realised:
    """Draw the labels again and again and score the selection in plain numpy."""
    rng = np.random.default_rng(1)
    is_chosen = find_chosen(matrix, selection.labels)
    draws = (rng.random(matrix.nnz) < matrix.data for _ in range(N_DRAWS))
    return Realised(np.array([score(matrix, is_chosen, is_true, utility) for is_true in draws]))


def find_chosen(matrix: sp.csr_array, labels: np.ndarray) -> np.ndarray:
    """For each candidate whether it is chosen; here every instance has more candidates than slots."""
    n, m = matrix.shape
    entries = np.repeat(np.arange(n), np.diff(matrix.indptr)) * m + matrix.indices
    is_chosen = np.isin(entries, (np.arange(n)[:, None] * m + labels).ravel())
    if is_chosen.sum() != labels.size:
        msg = "a selection must hold distinct labels, all of them candidates."
        raise ValueError(msg)
    return is_chosen


def score(matrix: sp.csr_array, is_chosen: np.ndarray, is_true: np.ndarray, utility: str) -> float:
    """Macro-F1 or macro-recall over all labels, with 0/0 = 0."""
    m = matrix.shape[1]
    t, q, p = (np.bincount(matrix.indices[mask], minlength=m) for mask in (is_chosen & is_true, is_chosen, is_true))
    above, below = {"macro-f1": (2 * t, q + p), "macro-recall": (t, p)}[utility]
    return float(np.mean(np.divide(above, below, out=np.zeros(m), where=below > 0)))


def compare_expected(utility: str, k: int, expected: float, realised: Realised) -> Result:
    difference = expected / realised.mean - 1
    return Result(
        f"{utility} at {k}: expected against realised",
        f"within {ASKED_DIFFERENCE:.0%}",
        f"{difference:+.2%}: {expected:.5f} expected, {realised.mean:.5f} realised in {N_DRAWS} draws "
        f"(standard error {realised.error / realised.mean:.2%})",
        abs(difference) <= ASKED_DIFFERENCE,
        {"expected": expected, "realised": realised.mean, "difference": difference},
    )


def compare_realised(utility: str, exact: Realised, semi: Realised) -> Result:
    ratio, asked = exact.mean / semi.mean, ASKED_RATIOS[utility]
    error = Realised(exact.values - ratio * semi.values).error / semi.mean
    return Result(
        f"{utility} at {COMPARED_K}: realised by exact over semi-empirical selection",
        f"at least {asked:g} times",
        f"{ratio:.4f} times (standard error {error:.4f}): {exact.mean:.5f} and {semi.mean:.5f}",
        ratio >= asked,
        {"ratio": ratio, "standard_error": error, "exact": exact.mean, "semi": semi.mean},
    )


def state_semi(utility: str, expected: float, realised: Realised) -> Result:
    difference = expected / realised.mean - 1
    return Result(
        f"{utility} at {COMPARED_K}: semi-empirical claim against realised",
        "for information",
        f"{difference:+.1%}: {expected:.5f} claimed, {realised.mean:.5f} realised",
        is_met=True,
        figures={"expected": expected, "realised": realised.mean, "difference": difference},
    )
