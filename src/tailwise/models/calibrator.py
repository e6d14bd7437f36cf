"""Calibration of probabilities on labelled data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice, check_size
from tailwise.inputs.paths import Source
from tailwise.metrics.evaluation_inputs import read_priors, read_truth
from tailwise.metrics.frequency import DEFAULT_EDGES, check_edges
from tailwise.metrics.joined import Joined
from tailwise.metrics.placed_truth import check_n_labels
from tailwise.models.adapters.shortlists import own_csr
from tailwise.models.calibration_curves import FITTERS, CalibrationCurve, InContext, describe_context
from tailwise.models.calibrator_file import FITTED, load_fitted, save_fitted
from tailwise.models.candidate_truth import find_true, read_candidates, read_pair
from tailwise.models.out_of_fold import predict_out_of_fold
from tailwise.utilities import LabelPriors

GROUPINGS = ("all", "frequency")
# A frequency bin with fewer true or false candidates than this has too little data for its own curve.
FEWEST_OF_A_KIND = 10


class Calibrator(BaseEstimator):
    r"""Calibrate the probabilities of a model, using a batch with known labels.

    For the candidates (i, j) of the batch, with probabilities :math:`\eta_{ij}` and truth
    :math:`y_{ij} \in \{0, 1\}`, fit an increasing curve c, for all candidates or per frequency bin of the labels:

    - ``"isotonic"``: minimise :math:`\sum_{ij} (c(\eta_{ij}) - y_{ij})^2` over all increasing curves, and connect the
      steps by lines;
    - ``"platt"``: maximise the likelihood of :math:`c(\eta) = \sigma(a \operatorname{logit} \eta + b)`, a > 0;
    - ``"temperature"``: the same with b = 0, where a is the inverse temperature;
    - ``"context"``: the isotonic curve of :math:`\sigma(a \operatorname{logit} \eta + b + c \log(1 + r) + d \log s +
      e \log(1 + N))`, with the rank r of the candidate in its instance (from 0), the sum s of the probabilities there,
      and the training count N of its label (omitted without priors); a > 0, c <= 0.

    The curves preserve the order of candidates of the same bin or, with ``"context"``, of candidates of the same
    instance with equally frequent labels.

    Parameters
    ----------
    method : {"isotonic", "platt", "temperature", "context"}
        The kind of curve. Isotonic fits any shape and needs a few thousand true candidates; Platt needs about a
        hundred; temperature only makes a model more or less confident. Context uses more information and gave the
        largest gain in macro-F1 in our experiments; shortlists must have the same length in fit and transform.
    by : {"all", "frequency"}
        One curve for all candidates, or one for each frequency bin of the labels: models often underestimate rare
        labels. A bin with fewer than 10 true or 10 false candidates uses the curve for all.
    bins : sequence of float
        Edges on training counts for ``by="frequency"``; by default tail <= 10 < torso <= 100 < head.
    random_state : int
        Seed of the folds of :meth:`fit_cross_validated`.

    Attributes
    ----------
    n_labels_ : int
        Number of labels m of the batch used in fit.
    curves_ : tuple of callable
        The map from probabilities to calibrated ones: one, or one per frequency bin, from rare to frequent labels.
    label_bins_ : ndarray of int, shape (m,), or None
        Frequency bin of each label; None if there is one curve for all.
    label_counts_ : ndarray of shape (m,), or None
        Training count of each label, if given and used.
    label_names_ : LabelNames or None
        The names of the labels, if bins or counts of labels are used and probabilities named their labels.

    Examples
    --------
    A model that predicts 0.2 for labels with true probability 0.4:

    >>> import numpy as np, tailwise as tw
    >>> truth = np.random.default_rng(0).random((2000, 5)) < 0.4
    >>> calibrator = tw.Calibrator("platt").fit(np.full((2000, 5), 0.2), truth)
    >>> calibrator.transform(np.array([[0.2, 0.0, 0.0, 0.0, 0.0]])).toarray().round(1)
    array([[0.4, 0. , 0. , 0. , 0. ]])
    """

    def __init__(
        self,
        method: str = "isotonic",
        *,
        by: str = "all",
        bins: Any = DEFAULT_EDGES,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.by = by
        self.bins = bins
        self.random_state = random_state

    def fit(self, probabilities: Any, truth: Any, *, priors: Any = None) -> Calibrator:
        """Fit the curves to labels that the model was not trained on.

        Parameters
        ----------
        probabilities : array_like or path
            Label probabilities of a held-out batch, in any form that :meth:`Candidates.of` accepts, or a file.
        truth : array_like, sparse matrix or path
            Its true labels as a 0/1 matrix of shape (n, m). True labels that are not candidates are ignored. Where
            both have ids, as tables and many files do, they are joined by id: instances that only one of them holds
            are left out, as are labels that only truth has. Otherwise rows and columns must be in the same order.
        priors : LabelPriors, array_like, sparse matrix or path, optional
            Training labels: required for ``by="frequency"``, optional for ``method="context"``.

        Returns
        -------
        Calibrator
            This calibrator. Fitting takes O(nnz log nnz) time.
        """
        check_parameters(self)
        candidates, true = read_pair(probabilities, truth)
        label_priors = read_priors(priors, Source(true), Joined(true, label_names=candidates.label_names))
        label_bins = self._find_label_bins(label_priors)
        is_true = find_true(candidates, true)
        if not is_true.any():
            msg = (
                "truth must contain at least one candidate of probabilities. Got none. "
                "Check that the rows of both are in the same order, or have the same ids."
            )
            raise InputError(msg)
        label_counts = None if label_priors is None or self.method != "context" else label_priors.counts
        curves = self._fit_curves(candidates, is_true, label_bins, label_counts)
        names = None if label_bins is None and label_counts is None else candidates.label_names
        # Assigned at once, so that Ctrl-C leaves the calibrator unchanged.
        self.n_labels_, self.curves_, self.label_bins_, self.label_counts_, self.label_names_ = (
            candidates.n_labels,
            curves,
            label_bins,
            label_counts,
            names,
        )
        return self

    def fit_cross_validated(
        self, estimator: Any, X: Any, Y: Any, *, folds: int = 5, progress: bool = False, **options: Any
    ) -> Calibrator:
        """Fit the curves by cross-validation of the model, if no labels can be held out.

        Copies of the model are trained on all folds but one and predict the remaining one; the curves are fitted to
        the predictions for all folds. Train the model that you will use on all of X and Y yourself.

        Parameters
        ----------
        estimator : estimator
            A :class:`LabelTree`, or any multi-label estimator that :func:`tailwise.models.adapters.from_sklearn`
            supports. Only copies of it are fitted.
        X : array_like or sparse matrix of shape (n, n_features)
            Training features.
        Y : 0/1 matrix of shape (n, m)
            Training labels, dense or sparse; also the priors for ``by="frequency"``.
        folds : int
            Number of folds.
        progress : bool
            Whether to show a progress bar on standard error, one step per fold.
        **options
            Passed to ``predict_proba`` of the model, for instance ``top=100``.

        Returns
        -------
        Calibrator
            This calibrator.
        """
        check_parameters(self)
        true = read_truth(Y).matrix
        predicted = predict_out_of_fold(estimator, X, Y, folds, self.random_state, options, progress=progress)
        return self.fit(predicted, true, priors=true)

    def transform(self, probabilities: Any) -> sp.csr_array | Candidates:
        """Calibrate probabilities.

        Parameters
        ----------
        probabilities : array_like or path
            Label probabilities in any form that :meth:`Candidates.of` accepts, or a file; the input is not changed.

        Returns
        -------
        csr_array of shape (n, m), or Candidates
            The same candidates with calibrated probabilities, in the precision of the input; Candidates with its ids
            if the input is a table, Candidates or a file with ids.
        """
        check_is_fitted(self)
        candidates = read_candidates(probabilities, self.n_labels_)
        rows, after = candidates.rows, np.empty_like(candidates.rows.values)
        bins, counts = (self._of_labels(each, candidates) for each in (self.label_bins_, self.label_counts_))
        context = describe_context(rows, counts) if isinstance(self.curves_[0], InContext) else None
        for curve, own in zip(self.curves_, _find_members(rows.labels, bins, len(self.curves_)), strict=True):
            after[own] = curve(rows.values[own], None if context is None else context[own])
        calibrated = candidates.with_entries(rows.indptr, rows.labels, after)
        has_ids = candidates.label_names is not None or candidates.instance_ids is not None
        return calibrated if has_ids else own_csr(calibrated)

    def _of_labels(self, values: NDArray | None, candidates: Candidates) -> NDArray | None:
        """Values of the fitted labels for those of other candidates; labels that are new never occurred in training."""
        own, given = self.label_names_, candidates.label_names
        if values is None:
            return None
        if own is None or given is None:
            check_n_labels(candidates, values.size)
            return values
        numbers = own.positions_of(given)
        return np.where(numbers >= 0, values[numbers], values.dtype.type(0))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted calibrator to an .npz file."""
        check_is_fitted(self)
        save_fitted(path, self.get_params(), {name: getattr(self, name) for name in FITTED})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Calibrator:
        """Read a calibrator that :meth:`save` wrote; nothing in the file is executed."""
        parameters, fitted = load_fitted(path, lambda parameters: check_parameters(cls(**parameters)))
        calibrator = cls(**parameters)
        for name in FITTED:
            setattr(calibrator, name, fitted[name])
        return calibrator

    def _find_label_bins(self, priors: LabelPriors | None) -> NDArray | None:
        if self.by == "all":
            return None
        if priors is None:
            msg = 'by="frequency" needs label priors. Got priors=None. Use fit(..., priors=training_labels).'
            raise InputError(msg)
        return np.searchsorted(check_edges(self.bins), priors.counts, side="left").astype(np.int32)

    def _fit_curves(
        self, candidates: Candidates, is_true: NDArray, label_bins: NDArray | None, label_counts: NDArray | None
    ) -> tuple[CalibrationCurve, ...]:
        fit, rows = FITTERS[self.method], candidates.rows
        context = describe_context(rows, label_counts) if self.method == "context" else None
        overall = fit(rows.values, is_true, context)
        if label_bins is None:
            return (overall,)
        return tuple(
            fit(rows.values[own], is_true[own], None if context is None else context[own])
            if _is_enough(is_true[own])
            else overall
            for own in _find_members(rows.labels, label_bins, check_edges(self.bins).size + 1)
        )


def check_parameters(calibrator: Calibrator) -> None:
    """Refuse invalid parameters."""
    check_choice("method", calibrator.method, tuple(FITTERS))
    check_choice("by", calibrator.by, GROUPINGS)
    check_edges(calibrator.bins)
    check_size("random_state", calibrator.random_state, 0)


def _is_enough(is_true: NDArray) -> bool:
    n_true = int(is_true.sum())
    return min(n_true, is_true.size - n_true) >= FEWEST_OF_A_KIND


def _find_members(labels: NDArray, label_bins: NDArray | None, n_curves: int) -> Iterator[Any]:
    """Yield an index of the candidates of each curve."""
    if label_bins is None:
        yield slice(None)
    else:
        bins = label_bins[labels]
        yield from (bins == b for b in range(n_curves))
