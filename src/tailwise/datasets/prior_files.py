"""Training frequencies in a file: how often each label was seen, and among how many instances."""

from __future__ import annotations

import io
import os
import zipfile

import numpy as np

from tailwise.datasets.opening import opened
from tailwise.datasets.writing import written_beside
from tailwise.errors import FileError, InputError
from tailwise.utilities.priors import LabelPriors

__all__ = ["is_priors_file", "load_priors", "save_priors"]

ARRAYS = {"counts.npy", "n_instances.npy"}


def save_priors(path: str | os.PathLike[str], priors: LabelPriors) -> None:
    """Write an .npz with the arrays ``counts`` of shape (m,) and ``n_instances``.

    Examples
    --------
    >>> import os, tempfile
    >>> import tailwise as tw
    >>> from tailwise.datasets import load_priors, save_priors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "priors.npz")
    ...     save_priors(path, tw.LabelPriors([3, 1, 0], n_instances=4))
    ...     load_priors(path)
    LabelPriors(3 labels, 4 training instances)
    """
    with written_beside(path) as file:
        np.savez(file, counts=priors.counts, n_instances=np.array(priors.n_instances))


def is_priors_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of :func:`save_priors`, by the arrays that it holds."""
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist()) == ARRAYS
    except (OSError, zipfile.BadZipFile):  # whoever reads it as a matrix says what is wrong with it
        return False


def load_priors(path: str | os.PathLike[str]) -> LabelPriors:
    """Read what :func:`save_priors` wrote."""
    with opened(path) as file:
        content = io.BytesIO(file.read())
    try:
        with np.load(content, allow_pickle=False) as archive:
            return LabelPriors(archive["counts"], archive["n_instances"].item())
    except (ValueError, KeyError, AttributeError, TypeError, EOFError, zipfile.BadZipFile) as error:
        reason = error if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        msg = f"{path} must hold the counts of labels that tailwise run wrote. Reading it failed: {reason}."
        raise FileError(msg) from error
