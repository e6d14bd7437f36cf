"""Trade-off curves between two utilities, from mixtures of both (paper, appendix on mixed utilities)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError, extra_needed
from tailwise.inputs.excluded_pairs import read_excluded
from tailwise.inputs.paths import Source
from tailwise.metrics import evaluate
from tailwise.selection import Selection, expected_utility, select
from tailwise.selection.resolve import find_candidates, name_columns, read_priors
from tailwise.selection.rules import check_budgets
from tailwise.utilities import Utility, as_utility

PAPER_ALPHAS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.995, 0.999)


@dataclass(frozen=True)
class CurvePoint:
    """One mixture: its alpha, the values of both utilities, and the selection."""

    alpha: float
    first: float
    second: float
    selection: Selection


@dataclass(frozen=True)
class Curve:
    """The trade-off between two utilities.

    Attributes
    ----------
    first, second : str
        Names of the two utilities; alpha is the weight of the second.
    points : tuple of CurvePoint
        In order of alpha.
    measured : {"expected", "realised"}
        Whether the values are expected, or realised on true labels.
    """

    first: str
    second: str
    points: tuple[CurvePoint, ...]
    measured: str

    @property
    def alphas(self) -> NDArray:
        return np.array([point.alpha for point in self.points])

    def best(self, max_drop: float) -> CurvePoint:
        """Return the point with the largest second utility whose first is at most `max_drop` below its maximum.

        `max_drop` is a fraction, for instance 0.05.

        Examples
        --------
        >>> import numpy as np, tailwise as tw
        >>> probabilities = np.random.default_rng(0).beta(0.2, 1, size=(60, 20))
        >>> curve = tw.trade_off(probabilities, "precision", "macro-f1", k=2)
        >>> point = curve.best(max_drop=0.05)
        >>> point.first >= 0.95 * curve.points[0].first
        True
        """
        if not 0 <= max_drop <= 1:
            msg = f"max_drop must be a fraction between 0 and 1. Got {max_drop}. Use 0.05 for five percent."
            raise InputError(msg)
        highest = max(point.first for point in self.points)
        floor = highest - max_drop * abs(highest)
        return max((point for point in self.points if point.first >= floor), key=lambda point: point.second)

    def to_dict(self, max_drop: float | None = None) -> dict[str, Any]:
        """Return the curve without its selections as a dict of plain values, with the point for `max_drop` if given."""
        rows = [{"alpha": point.alpha, "first": point.first, "second": point.second} for point in self.points]
        facts = {"first": self.first, "second": self.second, "measured": self.measured, "points": rows}
        return facts if max_drop is None else {**facts, "best": rows[self.points.index(self.best(max_drop))]}

    def to_frame(self) -> Any:
        """Return the curve as a pandas DataFrame with a row per point: alpha, and both utilities by name.

        Examples
        --------
        >>> import numpy as np, tailwise as tw
        >>> curve = tw.trade_off(np.array([[0.9, 0.4], [0.8, 0.1]]), "precision", "coverage", k=1, alphas=[0, 1])
        >>> list(curve.to_frame().columns)
        ['alpha', 'precision', 'coverage']
        """
        with extra_needed("to_frame needs pandas", "pandas"):
            import pandas as pd
        rows = [(point.alpha, point.first, point.second) for point in self.points]
        return pd.DataFrame(rows, columns=["alpha", self.first, self.second])

    def __str__(self) -> str:
        width = max(12, len(self.first), len(self.second))
        lines = [f"{'alpha':>7} {self.first:>{width}} {self.second:>{width}}   ({self.measured})"]
        rows = [f"{point.alpha:7.3f} {point.first:{width}.6f} {point.second:{width}.6f}" for point in self.points]
        return "\n".join(lines + rows)

    def plot(self, axes: Any = None) -> Any:
        """Draw the curve with matplotlib, and return the axes."""
        if axes is None:
            with extra_needed("plot needs matplotlib", "'tailwise[plot]'"):
                from matplotlib import pyplot
            axes = pyplot.figure(layout="constrained").add_subplot()
        values = np.array([(point.first, point.second) for point in self.points])
        axes.plot(*values.T, marker="o", markersize=4, label=f"{self.first} + {self.second}, mixed")
        axes.set_xlabel(f"{self.first} ({self.measured})")
        axes.set_ylabel(f"{self.second} ({self.measured})")
        return axes


def trade_off(
    probabilities: Any,
    first: Utility | str,
    second: Utility | str,
    k: Any,
    *,
    alphas: Sequence[float] | None = None,
    truth: Any = None,
    priors: Any = None,
    exclude: Any = None,
    on_done: Callable[[CurvePoint], object] = lambda point: None,
    **options: Any,
) -> Curve:
    r"""Maximise :math:`(1 - \alpha) U_1 + \alpha U_2` for alphas from 0 to 1.

    Parameters
    ----------
    probabilities : array_like
        Label probabilities, as for :func:`select`.
    first, second : Utility or str
        The two utilities, for instance ``"precision"`` and ``"macro-f1"``.
    k : int or array_like of int
        Labels per instance.
    alphas : sequence of float, optional
        Weights of the second utility. Default: 0, those of the paper, and 1.
    truth : 0/1 matrix of shape (n, m), table of ids or path, optional
        True labels, to compute realised values; joined by id as by :func:`evaluate`. Default: expected values.
    priors : LabelPriors or 0/1 matrix, optional
        For utilities that need them.
    exclude : table, 0/1 matrix, list of labels, selection or path, optional
        Pairs that must not be selected, as for :func:`select`, at any point of the curve.
    on_done : callable
        Called with each point when it is done, to show progress.
    **options
        Passed to :func:`select`.

    Returns
    -------
    Curve
    """
    columns = name_columns(*(options.pop(name, None) for name in ("instance", "label", "probability")))
    source = Source.of(probabilities, columns=columns)
    candidates = find_candidates(source, columns, options.get("context")).widened()
    priors = read_priors(priors, source, candidates)
    first, second = as_utility(first, priors), as_utility(second, priors)
    if exclude is not None:  # read once for all points
        options["exclude"] = read_excluded(exclude, candidates, columns)
    budgets = check_budgets(k, *candidates.shape)
    if budgets is None:
        msg = "k must be an integer, or one integer per instance, for a trade-off. Got None."
        raise InputError(msg)
    basis = {"priors": priors, "condition_positives": options.get("condition_positives")}
    points = []
    for alpha in check_alphas(alphas):
        selection = select(candidates, (1 - alpha) * first + alpha * second, budgets, priors=priors, **options)
        if truth is None:
            basis["expectation"] = selection.expectation
            values = [expected_utility(candidates, part, selection, budgets, **basis) for part in (first, second)]
        else:
            values = _realise((first, second), budgets, selection, truth)
        points.append(CurvePoint(alpha, values[0], values[1], selection))
        on_done(points[-1])
    return Curve(str(first), str(second), tuple(points), "expected" if truth is None else "realised")


def check_alphas(alphas: Sequence[float] | None) -> list[float]:
    """Return the weights of the second utility in ascending order, by default 0, those of the paper, and 1."""
    values = sorted({0.0, *PAPER_ALPHAS, 1.0} if alphas is None else {float(alpha) for alpha in alphas})
    if not values or not all(0 <= value <= 1 for value in values):
        msg = f"alphas must hold at least one number, all between 0 and 1. Got {alphas}."
        raise InputError(msg)
    return values


def _realise(utilities: tuple[Utility, ...], budgets: NDArray, selection: Selection, truth: Any) -> list[float]:
    evaluation = evaluate(truth, selection, ["precision"])
    table, n = evaluation.per_label(), evaluation.n_instances
    counts = [table[name] for name in ("true_positives", "predicted_positives", "condition_positives")]
    return [float(utility.psi(*counts, n_instances=n, k=budgets.mean()).sum()) for utility in utilities]
