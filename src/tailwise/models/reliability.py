"""Reliability diagrams and the expected calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError, extra_needed
from tailwise.inputs.checks import check_choice, check_size
from tailwise.models.candidate_truth import find_true, read_pair

STRATEGIES = ("quantile", "uniform")


class ReliabilityBin(NamedTuple):
    """Candidates of similar probability: their number, their mean probability and the fraction that is true."""

    lowest: float
    highest: float
    n_candidates: int
    mean_probability: float
    share_true: float


@dataclass(frozen=True, repr=False)
class Reliability:
    """A reliability diagram, as :func:`tailwise.reliability` returns it.

    Attributes
    ----------
    bins : tuple of ReliabilityBin
        ``lowest``, ``highest``, ``n_candidates``, ``mean_probability``, ``share_true`` of each non-empty bin, in
        ascending order.
    k : int or None
        Number of candidates used of each instance; None for all.
    """

    bins: tuple[ReliabilityBin, ...]
    k: int | None

    @property
    def n_candidates(self) -> int:
        """Number of candidates in all bins."""
        return sum(each.n_candidates for each in self.bins)

    @property
    def error(self) -> float:
        """Expected calibration error: the distance of mean probability and true fraction, averaged over candidates."""
        return self._average([abs(each.mean_probability - each.share_true) for each in self.bins])

    @property
    def largest_error(self) -> float:
        """The largest distance of mean probability and true fraction in a bin."""
        return max(abs(each.mean_probability - each.share_true) for each in self.bins)

    @property
    def chance_error(self) -> float:
        """Approximate error, due to chance alone, of perfectly calibrated probabilities."""
        spreads = [each.mean_probability * (1 - each.mean_probability) / each.n_candidates for each in self.bins]
        return self._average([np.sqrt(2 / np.pi * spread) for spread in spreads])

    @property
    def mean_probability(self) -> float:
        """Mean probability of the candidates."""
        return self._average([each.mean_probability for each in self.bins])

    @property
    def share_true(self) -> float:
        """Fraction of the candidates that is true."""
        return self._average([each.share_true for each in self.bins])

    def _average(self, values: list[float]) -> float:
        return float(np.average(values, weights=[each.n_candidates for each in self.bins]))

    def plot(self, axes: Any = None, *, label: str | None = None) -> Any:
        """Draw the reliability diagram with matplotlib, and return the axes.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Axes to draw on, which several curves may share. Default: a new figure with the diagonal.
        label : str, optional
            Name in the legend, to which the error is added. Default: "model".
        """
        if axes is None:
            axes = _new_diagram()
        axes.plot(
            [each.mean_probability for each in self.bins],
            [each.share_true for each in self.bins],
            marker="o",
            markersize=4,
            label=f"{label or 'model'} (error {100 * self.error:.2f} %)",
        )
        axes.set_xlabel("probability, mean of a bin")
        axes.set_ylabel("fraction that is true")
        axes.legend(frameon=False, loc="upper left")
        return axes

    def __repr__(self) -> str:
        which = "all candidates" if self.k is None else f"the {self.k} most probable candidates of each instance"
        lines = [
            f"Reliability of {which}, {self.n_candidates:,} in all",
            f"  expected calibration error {self.error:.4f} ({self.chance_error:.4f} by chance alone), "
            f"largest {self.largest_error:.4f}",
            f"  predicted {self.mean_probability:.4f}, true {self.share_true:.4f}",
            "        probability  candidates  predicted    true",
        ]
        for each in self.bins:
            span = f"{each.lowest:.4f} - {each.highest:.4f}"
            lines.append(
                f"  {span:>17}  {each.n_candidates:>10,}  {each.mean_probability:>9.4f}  {each.share_true:>6.4f}"
            )
        return "\n".join(lines)


def reliability(
    probabilities: Any, truth: Any, k: int | None = 5, *, bins: int = 15, strategy: str = "quantile"
) -> Reliability:
    r"""Measure how well probabilities are calibrated.

    The k most probable candidates of each instance (ties go to the smaller label; all, if there are fewer) are sorted
    into bins B by their probability :math:`\eta`. With the mean probability :math:`\bar\eta_B` and the fraction
    :math:`\bar y_B` of true labels in a bin, and N candidates in all, the expected calibration error at k is

    .. math:: \sum_B \frac{|B|}{N} \, | \bar\eta_B - \bar y_B | .

    Parameters
    ----------
    probabilities : array_like or path
        Label probabilities in any form that :meth:`Candidates.of` accepts, or a file.
    truth : array_like, sparse matrix or path
        True labels as a 0/1 matrix of shape (n, m).
    k : int or None
        Number of candidates to use of each instance; None for all.
    bins : int
        Number of bins. Empty bins are omitted.
    strategy : {"quantile", "uniform"}
        Bins with equal numbers of candidates (equal probabilities stay together), or of equal width on [0, 1].

    Returns
    -------
    Reliability
        ``error``, ``chance_error``, ``largest_error``, ``bins``, ``plot()``; prints as a table.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> rng = np.random.default_rng(0)
    >>> probabilities = rng.random((5000, 4))
    >>> truth = rng.random((5000, 4)) < probabilities**2  # an overconfident model
    >>> tw.reliability(probabilities, truth, k=2, bins=3)
    Reliability of the 2 most probable candidates of each instance, 10,000 in all
      expected calibration error 0.1638 (0.0056 by chance alone), largest 0.2321
      predicted 0.7037, true 0.5399
            probability  candidates  predicted    true
        0.0188 - 0.6292       3,333     0.4631  0.2310
        0.6292 - 0.8269       3,333     0.7334  0.5419
        0.8269 - 1.0000       3,334     0.9145  0.8467
    """
    check_choice("strategy", strategy, STRATEGIES)
    check_size("bins", bins)
    candidates, true = read_pair(probabilities, truth)
    if k is not None:
        candidates = candidates.keep_top(check_size("k", k, remedy="Use k=None for all candidates."))
    if candidates.n_entries == 0:
        msg = "probabilities must hold at least one candidate. Got none."
        raise InputError(msg)
    values = candidates.rows.values.astype(np.float64)
    return Reliability(_fill_bins(values, find_true(candidates, true), bins, strategy), k)


def calibration_error(probabilities: NDArray, is_true: NDArray, bins: int = 15) -> float:
    """Return the expected calibration error of pairs, in bins of equal size; NaN without any."""
    if probabilities.size == 0:
        return float("nan")
    return Reliability(_fill_bins(probabilities.astype(np.float64), is_true, bins, "quantile"), None).error


def _fill_bins(values: NDArray, is_true: NDArray, n_bins: int, strategy: str) -> tuple[ReliabilityBin, ...]:
    order = np.argsort(values)  # equal ones in any order, as they share a bin
    values, is_true = values[order], is_true[order]
    if strategy == "quantile":
        wanted = np.arange(n_bins) * values.size // n_bins
        starts = np.searchsorted(values, values[wanted], side="left")  # equal probabilities share a bin
    else:
        starts = np.searchsorted(values, np.arange(n_bins) / n_bins, side="left")
    starts = np.unique(starts[starts < values.size])
    ends = np.append(starts[1:], values.size)
    return tuple(
        ReliabilityBin(
            float(values[first]),
            float(values[last - 1]),
            int(last - first),
            float(values[first:last].mean()),
            float(is_true[first:last].mean()),
        )
        for first, last in zip(starts, ends, strict=True)
    )


def _new_diagram() -> Any:
    with extra_needed("plot needs matplotlib", "'tailwise[plot]'"):
        from matplotlib import pyplot
    axes = pyplot.figure(figsize=(5, 5), layout="constrained").add_subplot()
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, label="perfect calibration")
    return axes
