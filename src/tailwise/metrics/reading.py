"""What an evaluation reads: true labels, a selection and priors, checked against each other."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from tailwise.canonical import canonical_csr
from tailwise.chosen import Chosen
from tailwise.errors import InputError
from tailwise.utilities.priors import LabelPriors

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["read_priors", "read_selection", "read_truth"]


def read_truth(truth: Any) -> sp.csr_array:
    """The true labels as a canonical CSR without stored zeros."""
    if isinstance(truth, (str, PathLike)):
        from tailwise.datasets import load_labels

        truth = load_labels(truth)
    csr = canonical_csr(truth, "truth")
    wrong = (csr.data != 0) & (csr.data != 1)
    if wrong.any():
        msg = (
            f"truth must hold only 0 and 1. Got {csr.data[wrong][0]:g}. "
            "Give the true labels, not probabilities or scores; truth > 0 makes counts 0 and 1."
        )
        raise InputError(msg)
    if (csr.data == 0).any():
        # A copy first: the arrays may be the user's own.
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def read_selection(selection: Any, shape: tuple[int, int]) -> Chosen:
    """The chosen labels, for as many instances and labels as the true ones."""
    if isinstance(selection, (str, PathLike)):
        from tailwise.datasets import load_selection

        selection = load_selection(selection)
    chosen = Chosen.of(selection, shape[1])
    if chosen.n_instances != shape[0]:
        msg = f"selection must have the {shape[0]} instances of truth. Got {chosen.n_instances}."
        raise InputError(msg)
    return chosen


def read_priors(priors: Any, n_labels: int) -> LabelPriors | None:
    """The training frequencies of as many labels as the true ones, where given."""
    if priors is None:
        return None
    if isinstance(priors, (str, PathLike)):
        from tailwise.datasets import load_labels

        priors = load_labels(priors)
    label_priors = LabelPriors.from_labels(priors)
    if label_priors.n_labels != n_labels:
        msg = f"priors must be of the {n_labels} labels of truth. Got {label_priors.n_labels} labels."
        raise InputError(msg)
    return label_priors
