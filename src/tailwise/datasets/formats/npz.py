"""Sparse matrices as ``scipy.sparse.save_npz`` stores them, with the ranking of a selection as an additional array.

PECOS stores its matrices the same way, each row in the order of decreasing scores; that order is read as a ranking.
Archives are not trusted: nothing is unpickled, and a damaged directory is detected.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import input_errors_of, opened, written_beside
from tailwise.datasets.formats.ordered_rows import is_ranking, ranks_of_order
from tailwise.errors import FileError, MachineError
from tailwise.inputs.matrices import check_matrix, cut_pointers, tidy_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_archive", "read_npz", "read_npz_blocks", "read_whole", "write_npz", "write_smat"]

RANKING = "labels"  # scipy.sparse.load_npz ignores an array of this name
NPY_MAGIC = b"\x93NUMPY"
ENTRIES_AT_ONCE = 1 << 21  # of a block


def read_npz(path: Any) -> Contents:
    """Read a matrix, checked and canonical, and its ranking if the file has one."""
    remedy = "Copy it again, or write it again with scipy.sparse.save_npz."
    matrix, ranking = read_whole(path, _read_matrix, "be a complete and valid .npz file", remedy)
    ranks = ranks_of_order(matrix.indptr, matrix.indices) if ranking is None and _is_ranked(matrix) else None
    with input_errors_of():
        return Contents(tidy_csr(matrix, f"the matrix in {path}"), ranking=ranking, ranks=ranks)


def read_npz_blocks(path: Any) -> Iterator[Contents]:
    """Read a CSR matrix in blocks of instances; any other layout, and a selection with its order, as a whole."""
    try:
        yield from _read_csr_blocks(path)
    except _Other:
        yield read_npz(path)


class _Other(Exception):
    """The layout is not CSR, or the file holds an order of labels or is damaged; reading it as a whole shows which."""


def _read_csr_blocks(path: Any) -> Iterator[Contents]:
    with opened(path) as file, ExitStack() as stack:
        try:
            archive = stack.enter_context(zipfile.ZipFile(file))
            shape, indptr = (_read_member(archive, name) for name in ("shape.npy", "indptr.npy"))
            parts = [stack.enter_context(archive.open(f"{name}.npy")) for name in ("indices", "data")]
            kinds = [_read_kind(part) for part in parts]
            is_csr = _read_member(archive, "format.npy").item() in (b"csr", "csr")
        except Exception as error:  # as in read_whole, damaged bytes fail in many ways
            raise _Other from error
        is_whole = shape.size == 2 and indptr.size == shape[0] + 1 and all(each[0] == (indptr[-1],) for each in kinds)
        is_ranked = f"{RANKING}.npy" in archive.namelist()
        if is_ranked or not (is_csr and is_whole and (np.diff(indptr) >= 0).all() and indptr[0] == 0):
            raise _Other
        for first, last in cut_pointers(indptr, ENTRIES_AT_ONCE):
            size = int(indptr[last] - indptr[first])
            labels, values = (_read_numbers(part, kind[1], size) for part, kind in zip(parts, kinds, strict=True))
            matrix = sp.csr_array((last - first, int(shape[1])), dtype=values.dtype)
            matrix.data, matrix.indices, matrix.indptr = values, labels, indptr[first : last + 1] - indptr[first]
            with input_errors_of():
                yield Contents(tidy_csr(matrix, f"the matrix in {path}"))


def _read_member(archive: zipfile.ZipFile, name: str) -> NDArray:
    with archive.open(name) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _read_kind(file: Any) -> tuple[Any, Any]:
    """Return the shape and type of an array, to be read further."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.kind not in "fiub":
        raise _Other
    return shape, dtype


def _read_numbers(file: Any, dtype: Any, size: int) -> NDArray:
    data = file.read(size * dtype.itemsize)
    if len(data) < size * dtype.itemsize:
        raise _Other
    return np.frombuffer(data, dtype)


def write_npz(path: Any, contents: Contents) -> None:
    """Write what ``scipy.sparse.load_npz`` reads; uncompressed, so the bytes do not depend on the version of zlib."""
    matrix = contents.matrix
    more = {} if contents.ranking is None else {RANKING: contents.ranking}
    _write(path, matrix, matrix.indices, matrix.data, _is_array=True, **more)


def write_smat(path: Any, contents: Contents) -> None:
    """Write a matrix as PECOS does, each row best first: by rank, otherwise by score."""
    order = contents.best_first()
    _write(path, contents.matrix, contents.matrix.indices[order], contents.values[order])


def read_archive(path: Any, rule: str, remedy: str) -> dict[str, NDArray]:
    """Read all arrays by name; `rule` and `remedy` are for the error about a damaged or foreign file."""
    return read_whole(path, _read_arrays, rule, remedy)


def read_whole(path: Any, read: Callable[[BinaryIO], Any], rule: str, remedy: str) -> Any:
    """Return what `read` returns for the open file; it must only read, because any failure is blamed on the file."""
    with opened(path) as file:
        try:
            return read(file)
        except FileError:
            raise
        except MemoryError as error:
            msg = f"{path} must fit in memory. It does not: {error}."
            raise MachineError(msg) from error
        except Exception as error:  # damaged bytes break zipfile, zlib, numpy and scipy in more ways than can be listed
            reason = f"{type(error).__name__}: {error}".rstrip(".")
            if "allow_pickle" in reason:  # numpy suggests allowing it, which is unsafe for untrusted files
                reason = "ValueError: it holds Python objects, not numbers"
            msg = f"{path} must {rule}. Reading it failed with {reason}. {remedy}"
            raise FileError(msg) from error


def _write(path: Any, matrix: sp.csr_array, indices: NDArray, values: NDArray, **more: Any) -> None:
    shape = np.array(matrix.shape, dtype=np.int64)
    with written_beside(path) as file:
        np.savez(file, indices=indices, indptr=matrix.indptr, format=np.array(b"csr"), shape=shape, data=values, **more)


def _is_ranked(matrix: Any) -> bool:
    is_csr = sp.issparse(matrix) and matrix.format == "csr" and matrix.dtype.kind in "fiu"
    return is_csr and is_ranking(matrix.indptr, matrix.indices, matrix.data)


def _read_matrix(file: BinaryIO) -> tuple[Any, NDArray | None]:
    if file.read(len(NPY_MAGIC)) == NPY_MAGIC:
        _refuse_dense(file, "a single array in the .npy format")
    if not zipfile.is_zipfile(file):
        rule = f"{file.name} must be an .npz file"
        msg = f"{rule}. It is not one, or it was cut short. Write it with scipy.sparse.save_npz."
        raise FileError(msg)
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        _check_directory(archive.zip)
        if "format" not in archive.files:
            _refuse_dense(file, f"the arrays {', '.join(archive.files) or '(none)'}")
        ranking = archive[RANKING] if RANKING in archive.files else None
    file.seek(0)
    matrix = sp.load_npz(file)
    check_matrix(matrix, f"the matrix in {file.name}")
    return matrix, ranking


def _refuse_dense(file: BinaryIO, came: str) -> NoReturn:
    msg = (
        f"{file.name} must hold a sparse matrix. Got {came}. "
        "Save one with scipy.sparse.save_npz(path, scipy.sparse.csr_array(array))."
    )
    raise FileError(msg)


def _read_arrays(file: BinaryIO) -> dict[str, NDArray]:
    if not zipfile.is_zipfile(file):
        msg = "it is not an .npz file, or it was cut short"
        raise ValueError(msg)
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        _check_directory(archive.zip)
        return {name: archive[name] for name in archive.files}


def _check_directory(archive: zipfile.ZipFile) -> None:
    """Refuse a damaged directory, which could hide an array without any other error."""
    for entry in archive.infolist():
        archive.open(entry).close()  # compares the name in the directory with the one next to the data
        if entry.comment:  # numpy writes no comments; a wrong length would hide the following entries
            msg = f"the entry {entry.filename} has a comment"
            raise zipfile.BadZipFile(msg)
