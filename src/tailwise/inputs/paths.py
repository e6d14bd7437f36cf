"""Files in the place of matrices and selections."""

from __future__ import annotations

import os
from typing import Any

from tailwise.datasets import load, load_all_labels, load_like, load_priors, load_selection
from tailwise.datasets.formats.prior_files import is_priors_file
from tailwise.inputs.priors import LabelPriors

__all__ = ["load_both_if_paths", "load_if_path", "load_priors_if_path", "load_selection_if_path"]


def load_if_path(source: Any) -> Any:
    """The matrix in a file where a path is given; anything else as it is."""
    return load(source) if isinstance(source, (str, os.PathLike)) else source


def load_selection_if_path(source: Any) -> Any:
    """The selection in a file where a path is given; anything else as it is."""
    return load_selection(source) if isinstance(source, (str, os.PathLike)) else source


def load_both_if_paths(probabilities: Any, selection: Any) -> tuple[Any, Any]:
    """Both, from files where paths are given; where both are, labels and instances are matched by their names."""
    if isinstance(probabilities, (str, os.PathLike)) and isinstance(selection, (str, os.PathLike)):
        contents = load_all_labels(probabilities)
        return contents.matrix, load_like(selection, contents, probabilities).chosen(selection)
    return load_if_path(probabilities), load_selection_if_path(selection)


def load_priors_if_path(source: Any) -> LabelPriors | None:
    """Training frequencies from a file of them or of training labels, from a matrix of these, or as they are."""
    if source is None:
        return None
    if isinstance(source, (str, os.PathLike)) and is_priors_file(source):
        return load_priors(source)
    return LabelPriors.from_labels(load_if_path(source))
