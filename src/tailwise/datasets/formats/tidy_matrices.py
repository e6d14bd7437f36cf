"""The one form of a matrix that is read from a file, written to one, or drawn: canonical CSR with small indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.errors import FileError, InputError
from tailwise.inputs.checks import check_numbering
from tailwise.inputs.matrices import canonical_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["build_csr", "check_numbers", "tidy_csr"]


def build_csr(values: NDArray, labels: NDArray, indptr: NDArray, shape: tuple[int, int]) -> sp.csr_array:
    """A CSR array whose indices are 32 bits wide wherever they fit: scipy alone would keep what it is given."""
    is_small = max(*shape, labels.size) <= np.iinfo(np.int32).max
    index_type = np.int32 if is_small else np.int64
    parts = values, labels.astype(index_type, copy=False), indptr.astype(index_type, copy=False)
    return sp.csr_array(parts, shape=shape, copy=False)


def check_numbers(path: Any, what: str, size: int, n_entries: int) -> None:
    """Refuse a file whose numbers of instances, labels or features are out of all proportion to its entries."""
    try:
        check_numbering(path, what, size, n_entries)
    except InputError as error:
        raise FileError(str(error)) from error


def tidy_csr(matrix: Any, name: str) -> sp.csr_array:
    """A matrix of real numbers, in any sparse layout or dense, as canonical CSR; the input is not changed."""
    csr = canonical_csr(matrix, name)
    return build_csr(csr.data, csr.indices, csr.indptr, csr.shape)
