"""Matrices, labels and selections from files and to files; the suffix says which format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from tailwise.chosen import Chosen
from tailwise.datasets.formats import find_format
from tailwise.datasets.matrices import tidy_csr
from tailwise.datasets.writing import check_place, written_beside
from tailwise.errors import FileError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_writable_target", "load", "load_labels", "load_selection", "save", "save_selection"]


def load(path: str | os.PathLike[str]) -> sp.csr_array:
    """Read a sparse matrix, for instance the probabilities of a batch.

    Parameters
    ----------
    path : str or path
        A file written by :func:`save`, or by ``scipy.sparse.save_npz`` in any layout.

    Returns
    -------
    csr_array of shape (n, m)
        Labels ascending and distinct within a row; the numbers as the file holds them (half precision as float32).

    Raises
    ------
    FileError
        A file that is missing, may not be read, is damaged, has an unknown suffix or holds no sparse matrix.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from tailwise.datasets import load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "probabilities.npz")
    ...     save(path, np.array([[0.9, 0.0, 0.2], [0.0, 0.4, 0.0]]))
    ...     load(path).toarray()
    array([[0.9, 0. , 0.2],
           [0. , 0.4, 0. ]])
    """
    return _read(path)[0]


def save(path: str | os.PathLike[str], matrix: Any) -> None:
    """Write a matrix, sparse or dense, so that :func:`load` and ``scipy.sparse.load_npz`` read it.

    The file appears whole or not at all, in place of one of the same name, and equal matrices give equal bytes.

    Parameters
    ----------
    path : str or path
        Where to; the suffix says which format.
    matrix : array_like or sparse matrix of shape (n, m)
        Real numbers. Zeros of a dense array are left out, those stored in a sparse matrix are kept.
    """
    _write(path, tidy_csr(matrix, "matrix"), None)


def load_labels(path: str | os.PathLike[str]) -> sp.csr_array:
    """Read true labels: a 0/1 matrix as a CSR array of int8 that stores only the ones."""
    matrix = load(path)
    is_wrong = (matrix.data != 0) & (matrix.data != 1)
    if is_wrong.any():
        came = matrix.data[np.argmax(is_wrong)]
        msg = f"{path} must hold only 0 and 1, as labels are. Got {came:g}. Is this a file of probabilities?"
        raise FileError(msg)
    matrix.eliminate_zeros()
    return matrix.astype(np.int8)


def load_selection(path: str | os.PathLike[str]) -> Chosen:
    """Read a selection: ranked where the file holds the order of the labels, unranked where it is a 0/1 matrix only."""
    matrix, ranking = _read(path)
    try:
        unranked = Chosen.of(matrix, name=f"the selection in {path}")
        if ranking is None:
            return unranked
        ranked = Chosen.of(ranking, matrix.shape[1], name=f"labels in {path}")
    except InputError as error:
        raise FileError(str(error)) from error
    if ranked.shape != unranked.shape or (ranked.to_csr() != unranked.to_csr()).nnz:
        msg = f"{path} must hold the same selection in its matrix and in its array labels. They differ. Write it again."
        raise FileError(msg)
    return ranked


def save_selection(path: str | os.PathLike[str], chosen: Chosen) -> None:
    """Write a selection as the 0/1 matrix that ``scipy.sparse.load_npz`` reads, with the order of the labels beside it.

    Parameters
    ----------
    path : str or path
        Where to; the suffix says which format.
    chosen : Chosen
        A Selection, or ``Chosen.of(labels, n_labels)``. The order, ``labels`` of int32 ``(n, k)`` with -1 for an
        empty slot, is stored only where it means something.

    Examples
    --------
    >>> import os, tempfile
    >>> from tailwise.chosen import Chosen
    >>> from tailwise.datasets import load_selection, save_selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "selection.npz")
    ...     save_selection(path, Chosen.of([[2, 0], [1, -1]], n_labels=4))
    ...     load_selection(path).labels
    array([[ 2,  0],
           [ 1, -1]], dtype=int32)
    """
    if not isinstance(chosen, Chosen):
        msg = f"chosen must be a Selection or Chosen. Got {type(chosen).__name__}. Use Chosen.of(labels, n_labels)."
        raise InputError(msg)
    ranking = chosen.labels.astype(np.int32, copy=False) if chosen.is_ranked else None
    _write(path, tidy_csr(chosen.to_csr(), "chosen"), ranking)


def check_writable_target(path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Refuse a path that :func:`save` could not, or without `overwrite` should not, write; for before long work."""
    find_format(path)
    check_place(path)
    if not overwrite and os.path.exists(path):
        msg = f"The output must not exist yet. Got {path}, which does. Use --overwrite to replace it."
        raise FileError(msg)


def _read(path: str | os.PathLike[str]) -> tuple[sp.csr_array, NDArray | None]:
    with _open(path) as file:
        return find_format(path).read(file)


def _write(path: str | os.PathLike[str], matrix: sp.csr_array, ranking: NDArray | None) -> None:
    write = find_format(path).write
    with written_beside(path) as file:
        write(file, matrix, ranking)


def _open(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        msg = f"path must name a file that exists. Got {path}. Check the spelling and the folder."
        raise FileError(msg) from error
    except IsADirectoryError as error:
        msg = f"path must name a file. Got the directory {path}. Give the name of a file in it."
        raise FileError(msg) from error
    except OSError as error:
        msg = f"path must name a file that may be read. Got {path}: {error.strerror}. Check its name and permissions."
        raise FileError(msg) from error
