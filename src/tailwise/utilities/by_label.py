"""Weights per label, and different utilities for different groups of labels: the paper's psi^j."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import UtilityError
from tailwise.inputs.matrices import as_dense
from tailwise.utilities.utility import Batch, LabelWeights, Mixture, SingleUtility, Utility

# With larger weights, sums and products could overflow.
LARGEST_WEIGHT = 1e100
COMPARED = 50_000  # names, at most, to suggest one


class GivenWeights(LabelWeights):
    """Weights for all labels, from an array; or for some, from a mapping by label number or name."""

    def __init__(self, weights: Any, rest: float = 1.0) -> None:
        self.rest = rest
        if type(weights).__module__.startswith("pandas") and hasattr(weights, "to_dict"):
            weights = weights.to_dict()  # a Series, whose index gives the label of each weight
        self.keys = tuple(weights) if isinstance(weights, Mapping) else None
        values = list(weights.values()) if isinstance(weights, Mapping) else weights
        self.values = np.array(
            as_dense(values, "weights")
        )  # a copy, so that later changes by the caller have no effect
        if self.values.ndim != 1:
            msg = f"weights must be one number per label. Got shape {self.values.shape}."
            raise UtilityError(msg)
        is_wrong = ~((self.values >= 0) & (self.values <= LARGEST_WEIGHT))
        if is_wrong.any():
            msg = f"weights must be numbers from 0 to {LARGEST_WEIGHT:g}. Got {self.values[is_wrong][0]:g}."
            raise UtilityError(msg)

    @property
    def largest(self) -> float:
        return max(float(self.values.max(initial=0.0)), self.rest if self.keys is not None else 0.0)

    def of(self, batch: Batch) -> NDArray:
        if self.keys is None:
            if self.values.size != batch.n_labels:
                msg = f"weights must hold one number per label, {batch.n_labels} in all. Got {self.values.size}."
                raise UtilityError(msg)
            return self.values
        weights = np.full(batch.n_labels, float(self.rest))
        numbers = [_number_of(key, batch) for key in self.keys]
        if len(set(numbers)) < len(numbers):
            twice = next(key for key, number in zip(self.keys, numbers, strict=True) if numbers.count(number) > 1)
            msg = f"A label must have one weight, and be in one group. Got {twice!r} twice, by number and by name."
            raise UtilityError(msg)
        weights[numbers] = self.values
        return weights

    def identity(self) -> tuple[Any, ...]:
        return self.keys, self.values.tobytes(), self.rest

    def __repr__(self) -> str:
        return f"<{self.values.size} values>"


class _Product(LabelWeights):
    """A product of weights: those of a utility inside a group of labels, times those of the group."""

    def __init__(self, first: LabelWeights, second: LabelWeights) -> None:
        self.first, self.second = first, second

    @property
    def largest(self) -> float:
        return self.first.largest * self.second.largest

    def of(self, batch: Batch) -> NDArray:
        return self.first.of(batch) * self.second.of(batch)

    def identity(self) -> tuple[Any, ...]:
        return self.first.identity(), self.second.identity()

    def __repr__(self) -> str:
        return f"{self.first!r} * {self.second!r}"


def as_weights(weights: Any) -> LabelWeights | None:
    """Convert weights as the user gave them: None, an array, a mapping, or LabelWeights."""
    return weights if weights is None or isinstance(weights, LabelWeights) else GivenWeights(weights)


def weighted(utility: Utility, weights: Any) -> Utility:
    """Return a macro utility or coverage, or a mixture of these, with each label's part multiplied by its weight."""
    factors = as_weights(weights)
    assert factors is not None
    terms = []
    for factor, term in utility.terms:
        if not term.is_macro:
            msg = (
                f"Weights per label are for macro utilities and coverage. Got {term}. "
                "Use utilities.WeightedInstance for a weighted precision."
            )
            raise UtilityError(msg)
        term = copy.copy(term)
        term.weights = factors if term.weights is None else _Product(term.weights, factors)
        terms.append((factor, term))
    return _sum(terms)


def weighted_macro(utility: Utility, weights: Any) -> Utility:
    """Return a utility with weights on its macro parts and coverage, if any; other parts do not change."""
    if weights is None:
        return utility
    macro = Mixture([part for part in utility.terms if part[1].is_macro])
    return _sum([*(part for part in utility.terms if not part[1].is_macro), *weighted(macro, weights).terms])


def ByLabel(groups: Sequence[tuple[Any, Utility]], *, rest: Utility | None) -> Utility:
    r"""Different utilities for different groups of labels: :math:`\frac1m \sum_j \psi^{g(j)}(t_j, q_j, p_j)`.

    The average is still over all m labels, so a group counts in proportion to its size.

    Parameters
    ----------
    groups : sequence of (labels, utility)
        Label numbers, or names if the input has names, and the macro utility or coverage, or a mixture of these, for
        these labels. No label may be in two groups.
    rest : Utility or None
        The utility for all other labels; None if they should not count.

    Returns
    -------
    Utility
        The sum of the utilities, each with weight 1 on its own labels and 0 on the others.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> from tailwise.utilities import ByLabel, Coverage, MacroF1
    >>> utility = ByLabel([([0], Coverage())], rest=MacroF1())
    >>> tw.select(np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7]]), utility, k=1).labels.ravel()
    array([0, 2], dtype=int32)
    """
    groups = list(groups)
    if any(isinstance(labels, str) for labels, _ in groups):
        msg = "Labels of a group must be a list of numbers or names. Got text. Write (['physics'], MacroF1())."
        raise UtilityError(msg)
    members = [np.ravel(labels).tolist() for labels, _ in groups]
    listed = [label for labels in members for label in labels]
    if len(set(listed)) < len(listed):
        twice = Counter(listed).most_common(1)[0][0]
        msg = f"groups must not share labels. Got label {twice!r} more than once. Keep it in one group only."
        raise UtilityError(msg)
    parts = [(dict.fromkeys(labels, 1.0), 0.0, each) for labels, (_, each) in zip(members, groups, strict=True)]
    if rest is not None:
        parts.append((dict.fromkeys(listed, 0.0), 1.0, rest))
    for _, _, each in parts:
        if not isinstance(each, Utility):
            msg = f"groups and rest must hold utilities. Got {type(each).__name__}. Use as_utility('macro-f1')."
            raise UtilityError(msg)
    terms = [term for weights, others, each in parts for term in weighted(each, GivenWeights(weights, others)).terms]
    return _sum(terms)


def _sum(terms: list[tuple[float, SingleUtility]]) -> Utility:
    """Return a mixture, or a single utility if there is only one."""
    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1.0 else Mixture(terms)


def _suggest_label(key: Any, batch: Batch) -> str:
    """Say what to do about an unknown label."""
    if not batch.label_names:
        return "Use label numbers, or give the names of all labels in a labels.txt next to the probabilities."
    known = [str(name) for name in islice(batch.label_names, COMPARED)]
    near = get_close_matches(str(key), known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"They name {', '.join(map(repr, known[:3]))}, for instance."


def _number_of(key: Any, batch: Batch) -> int:
    """Return the number of a label that is given by its id or, if that is unknown, by number."""
    if (number := batch.number_of(key)) is not None:
        return number
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if not 0 <= key < batch.n_labels:
            msg = f"Labels of a utility must be numbers from 0 to {batch.n_labels - 1}. Got {key}."
            raise UtilityError(msg)
        return int(key)
    number = batch.number_of(str(key))
    if number is None:
        msg = f"The utility names the label {key!r}, which the probabilities do not name. {_suggest_label(key, batch)}"
        raise UtilityError(msg)
    return number
