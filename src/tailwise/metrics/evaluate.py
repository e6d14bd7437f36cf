"""`evaluate`, which compares a selection with true labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.checks import check_choice, is_integer
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.label_weights import load_label_weights
from tailwise.inputs.matrices import as_array
from tailwise.inputs.paths import is_path
from tailwise.inputs.priors import USUAL_PROPENSITY, LabelPriors
from tailwise.metrics.counts import InstanceCounts, LabelCounts, count
from tailwise.metrics.evaluation import Evaluation
from tailwise.metrics.evaluation_inputs import (
    read_filter,
    read_priors,
    read_selection,
    read_truth,
    without_pairs,
)
from tailwise.metrics.expected_metrics import check_comparable, expect_metrics
from tailwise.metrics.frequency import DEFAULT_EDGES, check_edges
from tailwise.metrics.joined import Joined, join
from tailwise.metrics.metric_formulas import INSTANCE_METRICS, average, ratio_for
from tailwise.metrics.metric_names import find_label_formula, resolve_names
from tailwise.utilities.by_label import as_weights
from tailwise.utilities.utility import Batch


def evaluate(
    truth: Any,
    selection: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    k: int | None = None,
    labels: str = "all",
    zero_division: float = 0.0,
    priors: Any = None,
    propensity: tuple[float, float] = USUAL_PROPENSITY,
    bins: Any = None,
    probabilities: Any = None,
    expectation: str = "exact",
    condition_positives: Any = None,
    filter: Any = None,
    label_names: Any = None,
    label_weights: Any = None,
    instances: str = "common",
    engine: Any = "threads",
    instance: str | None = None,
    label: str | None = None,
) -> Evaluation:
    r"""Compare a selection with true labels.

    With :math:`t_j, q_j, p_j` the true, predicted and condition positives of label j among n instances,
    :math:`y_{i1}, y_{i2}, \ldots` whether the first, second, ... chosen label of instance i is true, :math:`|y_i|` its
    number of true labels, :math:`s_i` its number of slots (k if given, else the number of labels chosen for it), and
    :math:`w_j` the inverse propensity of label j, the metrics are

    - averages over instances: ``precision`` :math:`\sum_r y_{ir} / s_i`, ``recall`` :math:`\sum_r y_{ir} / |y_i|`,
      ``ndcg`` :math:`\sum_r y_{ir} d_r / z_i` with :math:`d_r = 1 / \log_2(r + 1)` and
      :math:`z_i = \sum_{r \le \min(s_i, |y_i|)} d_r`, ``ps-precision`` :math:`\sum_r w_{ir} y_{ir} / s_i`;
    - quotients of two sums over instances, of this selection and of the best selection with the same number of slots:
      ``ps-precision-normalised`` :math:`\sum_i s_i^{-1} \sum_r w_{ir} y_{ir}` (PSP@k) and ``ps-ndcg``
      :math:`\sum_i z_i^{-1} \sum_r w_{ir} y_{ir} d_r` (PSnDCG@k), both as in the Extreme Classification Repository;
    - averages over labels: ``macro-precision`` :math:`t / q`, ``macro-recall`` :math:`t / p`, ``macro-f1``
      :math:`2t / (p + q)`, ``macro-fbeta(B)`` :math:`(1 + B^2) t / (B^2 p + q)` for any number B above 0,
      ``macro-jaccard`` :math:`t / (p + q - t)`, ``macro-accuracy`` :math:`(n - p - q + 2t) / n`; the arithmetic,
      geometric and harmonic mean of :math:`t / p` and :math:`(n - p - q + t) / (n - p)`: ``macro-balanced-accuracy``,
      ``macro-gmean``, ``macro-hmean``; ``coverage`` :math:`[t > 0]` and ``catalogue-coverage`` :math:`[q > 0]`;
    - one number: ``micro-f1`` :math:`2 \sum_j t_j / \sum_j (p_j + q_j)`.

    Parameters
    ----------
    truth : array_like, sparse matrix or path
        True labels as a 0/1 matrix of shape (n, m), a table of ids with a row for each true label, or a list of names
        for each instance, which are joined by name (or by ``label_names``).
    selection : Selection, array_like, sparse matrix or path
        A Selection, an (n, k) array of labels, best first (-1 for an empty slot), or a 0/1 matrix of shape (n, m),
        sparse or boolean; or a table of ids. Instances and labels of truth and selection are joined by id if both
        have ids, and by position otherwise.
    metrics : str or iterable of str, optional
        Names from the list above. Default: all metrics that the input allows, except ``macro-fbeta(B)`` (``ps-``
        metrics need priors, ``ndcg`` and ``ps-ndcg`` a ranked selection).
    k : int, optional
        Evaluate the first k labels of each instance, with k slots. Default: all labels chosen.
    labels : {"all", "present"}
        Average macro metrics and coverages over all m labels, or only over those with a true instance.
    zero_division : {0.0, 1.0, nan}
        The value of 0/0, also of an average of nothing. With nan, such labels and instances are excluded from averages.
    priors : LabelPriors, array_like, sparse matrix or path, optional
        Training labels, for inverse propensities and frequency bins.
    propensity : (float, float)
        The parameters a and b of the propensity model, :meth:`LabelPriors.inverse_propensities`.
    bins : sequence of float, optional
        Edges of training counts for :meth:`Evaluation.by_frequency`. Default: 10 and 100, that is
        tail <= 10 < torso <= 100 < head.
    probabilities : array_like or path, optional
        Label probabilities of the same instances, in any form that :func:`select` accepts. The evaluation then includes
        the expected values of precisions and of all averages over labels except ``catalogue-coverage``. A large
        difference from the realised values means that the probabilities are not calibrated: see :class:`Calibrator`.
        Requires ``labels="all"`` and ``zero_division=0``.
    expectation, condition_positives : optional
        Which expectation to use, as for :func:`expected_utility`.
    filter : array_like of shape (pairs, 2) or path, optional
        Pairs (instance, label) to remove from the true and the chosen labels; the chosen labels after them move up.
        Used, for instance, if a document must not be recommended for itself.
    label_names : LabelNames, sequence of str or path, optional
        The names of all labels in the order of their numbers, required if only some of the files name labels.
    label_weights : array_like of shape (m,), mapping or path, optional
        Weight of each label in averages over labels, as ``weights`` of macro utilities: one number per label, or a
        mapping by label number or name, in which labels that are not listed have weight 1.
    instances : {"common", "all"}
        If both inputs have ids: evaluate the instances in both, or also those in only one of them, with no true or no
        chosen labels. The printed evaluation states how many there are in each.
    engine : "threads" or Engine
        Where expected values are computed, as for :func:`select`; they do not depend on it.
    instance, label : str, optional
        The columns of ids in truth, if it is a table or a file with columns, and in selection and probabilities if they
        have columns of these names. Default: columns with usual names.

    Returns
    -------
    Evaluation
        A mapping from names to values, with ``expected`` if probabilities are given. Takes one pass over both inputs,
        at most O((n + nnz) k + m); an expected value takes as long as :func:`expected_utility`.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> truth = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]])
    >>> selection = np.array([[0, 1], [0, 1], [0, 2]])
    >>> tw.evaluate(truth, selection, ["precision", "recall", "macro-f1", "coverage"], k=1)
    Evaluation of 3 instances and 3 labels at k=1
      precision  0.6667
      recall     0.5000
      macro-f1   0.2667
      coverage   0.3333
    >>> probabilities = np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.1], [0.6, 0.2, 0.1]])
    >>> tw.evaluate(truth, selection, ["precision", "ndcg", "macro-f1"], probabilities=probabilities)
    Evaluation of 3 instances and 3 labels
                 realised  expected
      precision    0.6667    0.4833
      ndcg         0.8770
      macro-f1     0.8222    0.4144
    """
    _check_options(labels, zero_division, propensity)
    check_choice("expectation", expectation, ("exact", "semi"))
    if probabilities is not None:
        check_comparable(labels, zero_division, filter)
    check_choice("instances", instances, ("common", "all"))
    columns = {part: column for part, column in (("instance", instance), ("label", label)) if column is not None}
    source, chosen = read_selection(selection, read_truth(truth, label_names, columns or None), columns)
    joined = join(source, chosen, instances)
    true, chosen = joined.truth, joined.chosen
    label_priors = read_priors(priors, source, joined)
    excluded = read_filter(filter, source, joined)
    if excluded is not None:
        true, chosen = without_pairs(true, chosen, excluded)
    names = resolve_names(metrics, has_priors=label_priors is not None, is_ranked=chosen.is_ranked)
    edges = _choose_edges(bins, label_priors)
    weights = np.ones(true.shape[1]) if label_priors is None else label_priors.inverse_propensities(*propensity)

    judged = _first_labels(chosen, k)
    by_label, by_instance = count(true, judged, k, weights, zero_division)
    own_weights = _read_weights(label_weights, joined)
    by_label = replace(by_label, weights=own_weights)
    averaged = by_label if labels == "all" else by_label.where(by_label.condition_positives > 0)
    values = {name: _compute(name, averaged, by_instance) for name in names}
    expected = {}
    if probabilities is not None:
        given = joined.read_probabilities(probabilities, source, columns)
        options = {
            "expectation": expectation,
            "condition_positives": condition_positives,
            "label_weights": own_weights,
            "engine": engine,
        }
        judged_labels = Chosen(judged, true.shape[1])
        expected = expect_metrics(names, given, judged_labels, k, label_priors, propensity, by_instance.hits, **options)
    title = f"Evaluation of {true.shape[0]:,} instances and {true.shape[1]:,} labels" + (f" at k={k}" if k else "")
    counts = None if label_priors is None else label_priors.counts
    notes = (*_explain(joined, averaged, labels), *(() if label_priors is None else label_priors.messages))
    return Evaluation(values, averaged, title, counts, edges, expected, joined.instance_ids, joined.label_names, notes)


def _explain(joined: Joined, averaged: LabelCounts, labels: str) -> tuple[str, ...]:
    """Describe which instances are evaluated and how many labels are averaged, if that is not obvious."""
    m = joined.truth.shape[1]
    if labels == "present":
        return (
            *joined.notes,
            f"averages over labels include only the {averaged.label.size:,} labels with a true instance",
        )
    if not joined.notes:
        return ()
    n_present = int((averaged.condition_positives > 0).sum())
    over = f"averages over labels include all {m:,} labels, {n_present:,} of which have a true instance here"
    return (
        *joined.notes,
        over + ("; labels='present' (--labels present) averages over these only" if n_present < m else ""),
    )


def _read_weights(label_weights: Any, joined: Joined) -> NDArray | None:
    weights = as_weights(load_label_weights(label_weights) if is_path(label_weights) else label_weights)
    if weights is None:
        return None
    n, m = joined.truth.shape
    names = joined.label_names
    numbers = None if names is None else {name: j for j, name in enumerate(names.ids)}
    return weights.of(Batch(n, m, n, np.zeros(m), numbers))


def _compute(name: str, by_label: LabelCounts, by_instance: InstanceCounts) -> float:
    if name not in INSTANCE_METRICS:
        return by_label.average(find_label_formula(name))
    zero_division = by_label.zero_division
    return average(INSTANCE_METRICS[name](by_instance, ratio_for(zero_division)), zero_division)


def _check_options(labels: str, zero_division: float, propensity: tuple[float, float]) -> None:
    if not isinstance(labels, str) or labels not in ("all", "present"):
        msg = f"labels must be 'all' or 'present'. Got {labels!r}."
        raise InputError(msg)
    if not (isinstance(zero_division, Real) and (zero_division in (0, 1) or math.isnan(zero_division))):
        msg = f"zero_division must be 0.0, 1.0 or nan. Got {zero_division!r}."
        raise InputError(msg)
    check_propensity(propensity)


def check_propensity(propensity: tuple[float, float]) -> None:
    """Refuse what is not a pair of parameters of the propensity model."""
    parameters = as_array(propensity, "propensity")
    is_pair = parameters.shape == (2,) and parameters.dtype.kind in "fiu"
    if not is_pair or not ((parameters > 0) & (parameters < np.inf)).all():
        msg = f"propensity must be a pair (a, b) of numbers above 0. Got {propensity!r}. The default is (0.55, 1.5)."
        raise InputError(msg)


def _choose_edges(bins: Any, priors: LabelPriors | None) -> NDArray | None:
    if bins is not None and priors is None:
        msg = f"bins needs label priors. Got bins={bins!r} and priors=None. Use priors=training_labels (--priors FILE)."
        raise InputError(msg)
    return None if priors is None else check_edges(DEFAULT_EDGES if bins is None else bins)


def _first_labels(chosen: Chosen, k: int | None) -> NDArray:
    width = chosen.labels.shape[1]
    if k is None:
        return np.ascontiguousarray(chosen.labels)
    if not is_integer(k) or not 1 <= k <= width:
        msg = (
            f"k must be an integer between 1 and {width}, the largest number of labels chosen for an instance. "
            f"Got {k!r}. Use k=None (omit -k) to evaluate all of them."
        )
        raise InputError(msg)
    if k < width and not chosen.is_ranked:
        msg = (
            f"k={k} needs a ranked selection. Got a 0/1 matrix with up to {width} labels per instance, without an "
            "order. Give a Selection or an (n, k) array of labels, best first, or use k=None (omit -k)."
        )
        raise InputError(msg)
    return np.ascontiguousarray(chosen.labels[:, :k])
