"""Training frequencies of the labels, from which priors, propensities and frequency bins are derived."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.checks import check_size
from tailwise.inputs.id_tables import read_table
from tailwise.inputs.matrices import as_dense, as_indicator
from tailwise.inputs.table_columns import is_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.label_names import LabelNames

__all__ = ["USUAL_PROPENSITY", "LabelPriors"]

USUAL_PROPENSITY = (0.55, 1.5)  # the default a and b of the propensity model


class LabelPriors:
    r"""Training frequencies of the labels.

    With :math:`N_j` training instances of label j among :math:`n'`, the prior is :math:`\hat\pi_j = \max(N_j, 1) / n'`:
    a label that never occurred counts as if it occurred once, so that weights like :math:`1 / \hat\pi_j` stay finite.

    Parameters
    ----------
    counts : array_like of shape (m,)
        Number of training instances of each label.
    n_instances : int
        Number of training instances n'.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> priors = tw.LabelPriors.from_labels(np.array([[1, 0], [1, 1], [1, 0], [0, 0]]))
    >>> priors
    LabelPriors(2 labels, 4 training instances)
    >>> priors.probabilities
    array([0.75, 0.25])
    """

    label_names: LabelNames | None = None  # the ids of the labels, if known
    messages: tuple[str, ...] = ()  # how many labels were not known on either side, where they were joined by id

    def __init__(self, counts: Any, n_instances: int) -> None:
        self.counts: NDArray = as_dense(counts, "counts")
        self.n_instances = check_size("n_instances", n_instances)
        if self.counts.ndim != 1 or self.counts.size == 0:
            msg = f"counts must hold one number per label. Got shape {self.counts.shape}."
            raise InputError(msg)
        if not (np.isfinite(self.counts).all() and self.counts.min() >= 0 and self.counts.max() <= self.n_instances):
            msg = (
                f"counts must lie between 0 and n_instances={self.n_instances}. "
                f"Got values from {self.counts.min():g} to {self.counts.max():g}."
            )
            raise InputError(msg)

    @classmethod
    def from_labels(cls, training_labels: Any) -> LabelPriors:
        """Count the columns of a 0/1 training matrix of shape (n', m), or the labels of a table of ids."""
        if isinstance(training_labels, cls):
            return training_labels
        if is_table(training_labels):
            found = read_table(training_labels, name="priors", needs_values=False, may_repeat=True)
            return cls.from_labels(found.matrix).with_names(found.label_names)
        csr = as_indicator(training_labels, "priors", "Give the training labels, or LabelPriors(counts, n_instances).")
        return cls(np.bincount(csr.indices, minlength=csr.shape[1]), csr.shape[0])

    def with_names(self, label_names: LabelNames | None) -> LabelPriors:
        """Return the same frequencies with the ids of their labels."""
        if label_names is not None and len(label_names) != self.n_labels:
            msg = f"label_names must hold one name for each of the {self.n_labels} labels. Got {len(label_names)}."
            raise InputError(msg)
        priors = LabelPriors(self.counts, self.n_instances)
        priors.label_names, priors.messages = label_names, self.messages
        return priors

    @property
    def n_labels(self) -> int:
        return self.counts.size

    @property
    def probabilities(self) -> NDArray:
        """The prior of each label; never zero."""
        return np.maximum(self.counts, 1) / self.n_instances

    def inverse_propensities(self, a: float = USUAL_PROPENSITY[0], b: float = USUAL_PROPENSITY[1]) -> NDArray:
        r"""Weights :math:`1 + (\log n' - 1)(b + 1)^a (N_j + b)^{-a}` (paper, eq. for the propensity model)."""
        # (b + 1)^a alone may overflow where the ratio does not.
        return 1 + (np.log(self.n_instances) - 1) * np.exp(a * (np.log(b + 1) - np.log(self.counts + b)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelPriors):
            return NotImplemented
        return self.n_instances == other.n_instances and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash((self.n_instances, self.counts.tobytes()))

    def __repr__(self) -> str:
        return f"LabelPriors({self.n_labels:,} labels, {self.n_instances:,} training instances)"
