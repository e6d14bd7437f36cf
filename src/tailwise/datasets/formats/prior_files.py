"""Files of training frequencies: the count of each label, and the number of training instances."""

from __future__ import annotations

import os
import zipfile

import numpy as np

from tailwise.datasets.formats.disk import written_beside
from tailwise.datasets.formats.npz import read_archive
from tailwise.errors import FileError, InputError
from tailwise.inputs.priors import LabelPriors

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
    """Whether a file was written by :func:`save_priors`, judged by the arrays in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist()) == ARRAYS
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False  # reading it as a matrix will report the problem


def load_priors(path: str | os.PathLike[str]) -> LabelPriors:
    """Read what :func:`save_priors` wrote."""
    rule = "hold the label counts that save_priors (tailwise run) wrote"
    arrays = read_archive(path, rule, "Copy it again, or write it again.")
    counts, n_instances = arrays.get("counts"), arrays.get("n_instances")
    if counts is None or n_instances is None or n_instances.size != 1 or {counts.dtype.kind} - set("fiu"):
        came = ", ".join(f"{name} ({array.dtype}, {array.shape})" for name, array in arrays.items()) or "no arrays"
        msg = f"{path} must {rule}, the arrays counts and n_instances. Got {came}. Write it again."
        raise FileError(msg)
    try:
        return LabelPriors(counts, n_instances.item())
    except InputError as error:
        msg = f"{path} must {rule}. {error}"
        raise FileError(msg) from error
