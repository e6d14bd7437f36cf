"""Features of two kinds side by side: sparse ones, such as words, and dense ones, such as embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.checks import check_choice
from tailwise.inputs.matrices import check_matrix

PARTS = ("all", "sparse", "dense")


class SideBySide:
    """Sparse and dense features of the same instances.

    Models that can use them apart, like :class:`Neighbours`, do so; others see the columns of both, sparse ones first.

    Parameters
    ----------
    sparse : sparse matrix of shape (n, s)
        For instance TF-IDF weights.
    dense : array_like of shape (n, d)
        For instance embeddings of the texts.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, tailwise as tw
    >>> X = tw.SideBySide(sp.eye_array(3, format="csr"), np.ones((3, 2)))
    >>> X.shape, X[[0, 2]].shape
    ((3, 5), (2, 5))
    """

    def __init__(self, sparse: Any, dense: Any) -> None:
        if not sp.issparse(sparse):
            msg = f"sparse must be a sparse matrix of scipy. Got {type(sparse).__name__}. Use scipy.sparse.csr_array."
            raise InputError(msg)
        check_matrix(dense, "dense")
        self.sparse, self.dense = sp.csr_array(sparse), np.asarray(dense)
        if self.dense.ndim != 2 or self.dense.shape[0] != self.sparse.shape[0]:
            msg = (
                "dense must be a matrix with the rows of sparse. "
                f"Got shapes {self.dense.shape} and {self.sparse.shape}. Use features of the same instances."
            )
            raise InputError(msg)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns of both parts."""
        return self.sparse.shape[0], self.sparse.shape[1] + self.dense.shape[1]

    ndim = 2

    def __getitem__(self, rows: Any) -> SideBySide:
        """Return some rows."""
        return SideBySide(self.sparse[rows], self.dense[rows])

    def joined(self) -> sp.csr_array:
        """Return one matrix with the columns of both parts."""
        return sp.csr_array(sp.hstack([self.sparse, sp.csr_array(self.dense)], format="csr"))


def part_of(X: Any, part: str) -> Any:
    """Return "sparse", "dense" or "all" features; a plain matrix is "all", and any part of itself if of that kind."""
    check_choice("part", part, PARTS)
    if part == "all" or not isinstance(X, SideBySide):
        if (part == "sparse" and not sp.issparse(X)) or (part == "dense" and sp.issparse(X)):
            msg = f"X must have {part} features. Got {type(X).__name__}. Use tailwise.SideBySide(sparse, dense)."
            raise InputError(msg)
        return X
    return X.sparse if part == "sparse" else X.dense
