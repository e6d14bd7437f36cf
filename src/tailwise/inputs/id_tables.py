"""Label probabilities given entry by entry: tables of (instance, label, probability), and pairs of arrays.

The columns of instances and labels hold ids of any kind. Integers in a column that is called exactly ``instance`` or
``label`` are instead taken as row or column numbers of a matrix if all are at least 0, if the largest is below a
million or 10 times the number of rows, and if the caller did not name that column. If ``n_labels`` is given, integers
in any column of labels are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.checks import check_numbering, check_size
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import as_array, as_numbers, build_csr, canonical_csr, check_most_labels
from tailwise.inputs.table_columns import (
    choose_columns,
    column_values,
    describe_columns,
    factorise,
    library_of,
    list_columns,
    open_table,
    suggest_columns,
)
from tailwise.inputs.wide_tables import is_wide, read_wide, refuse_levels
from tailwise.kernels.rows import find_disorder

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TableEntries", "read_pair", "read_table"]

FREE_NUMBERS, NUMBERS_PER_ROW = 1_000_000, 10  # up to these, integers are numbers rather than ids


@dataclass(frozen=True, eq=False)
class TableEntries:
    """The content of a table.

    Attributes
    ----------
    matrix : csr_array, or ndarray for a wide table
        The values, a row for each instance and a column for each label.
    instance_ids : Ids or None
        The ids of the rows; None if the table numbers them.
    label_names : LabelNames or None
        The ids of the columns; None if the table numbers them.
    ranks : ndarray or None
        The rank of each entry of the matrix, as the table states it.
    library : str
        The library of the table.
    messages : tuple of str
        Which columns were read, if they have names other than instance, label and probability.
    """

    matrix: Any
    instance_ids: Ids | None = None
    label_names: LabelNames | None = None
    ranks: NDArray | None = None
    library: str = ""
    messages: tuple[str, ...] = ()


def read_table(
    table: Any,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    n_labels: int | None = None,
    *,
    name: str = "probabilities",
    needs_values: bool = True,
    may_repeat: bool = False,
) -> TableEntries:
    """Read a table of any library: one row per entry, or a column of numbers for each label.

    Parameters
    ----------
    table : DataFrame or Table
        Of pandas, polars, pyarrow, dask or another library that narwhals reads.
    columns : mapping or sequence of str, optional
        The columns of the parts instance, label, probability and rank, in this order if it is a sequence. Default:
        columns with usual names.
    n_labels : int, optional
        Number of labels, for labels that are numbers.
    name : str
        The parameter, for error messages.
    needs_values : bool
        Whether a table without probabilities is refused; otherwise each value is 1.
    may_repeat : bool
        Whether a pair of a table without probabilities and ranks may be listed several times; it counts once.
    """
    frame = open_table(table, name)
    found = choose_columns(columns, frame.columns, name)
    library = library_of(table)
    if columns is None and is_wide(frame, found):
        wide = read_wide(frame, found, name)
        messages = (*describe_columns(found, ()), *wide.messages)
        return TableEntries(wide.values, wide.instance_ids, wide.label_names, library=library, messages=messages)
    wanted = ("instance", "label", "probability") if needs_values else ("instance", "label")
    missing = [part for part in wanted if part not in found]
    if missing:
        refuse_levels(table, name)
        own = suggest_columns(frame.columns, found, wanted)
        msg = (
            f"{name} as a table must have the columns {', '.join(wanted)}. Missing: {', '.join(missing)}. It has "
            f"{list_columns(frame.columns)}. Name them: {', '.join(f'{part}={own[part]!r}' for part in own)}."
        )
        raise InputError(msg)
    if not needs_values and "probability" not in found:
        _refuse_unread(frame, [column for column in frame.columns if column not in found.values()], name)
    may_repeat &= "probability" not in found and "rank" not in found
    return _read_entries(frame, found, columns, n_labels, name, library, may_repeat=may_repeat)


def _refuse_unread(frame: Any, columns: list[Any], name: str) -> None:
    """Refuse a table with a column of zeros and ones under an unknown name: rows with 0 would count as well."""
    for column in columns:
        kind = frame[column].dtype
        if (kind.is_numeric() or str(kind) == "Boolean") and not frame[column].null_count():
            values = frame[column].to_numpy()
            if not values.all() and ((values == 0) | (values == 1)).all():
                msg = (
                    f"{name} must say which pairs count. Its column {column!r} holds zeros and ones, but only a column "
                    f"named probability, score, weight or relevance is read. Rename it to relevance, or drop it."
                )
                raise InputError(msg)


class _Part(NamedTuple):
    """A column of instances or labels as numbers, how many there are, and their ids, if any."""

    numbers: NDArray
    size: int
    ids: Any  # Ids, LabelNames or None

    def call(self, number: int) -> str:
        """Return the id of an instance or a label in the table."""
        return str(number) if self.ids is None else repr(self.ids[number])


def _read_entries(
    frame: Any,
    found: dict[str, Any],
    given: Any,
    n_labels: int | None,
    name: str,
    library: str,
    *,
    may_repeat: bool,
) -> TableEntries:
    chosen = () if given is None else tuple(given) if isinstance(given, Mapping) else ("instance", "label")
    is_plain = {part: part not in chosen and found[part] == part for part in ("instance", "label")}
    with ThreadPoolExecutor(1) as other:  # ids are numbered without holding the interpreter lock
        options = {"may_number": is_plain["instance"]}
        reading = other.submit(_read_part, frame, found["instance"], "instance", name, **options)
        labels = _read_labels(frame, found["label"], name, n_labels, may_number=is_plain["label"])
        instances = reading.result()
    values = np.ones(instances.numbers.size, np.float32)
    if "probability" in found:
        values = as_numbers(column_values(frame, found["probability"], name), name)
    ranks = column_values(frame, found["rank"], "rank") if "rank" in found else None
    matrix, ranks, is_repeated = _arrange(instances, labels, values, ranks, name)
    if is_repeated and not may_repeat:
        _refuse_twice(instances, labels, name, _remedy_for(library, has_values="probability" in found))
    if is_repeated:
        matrix.sum_duplicates()
        matrix.data[:] = 1
    return TableEntries(matrix, instances.ids, labels.ids, ranks, library, describe_columns(found, chosen))


def _read_labels(frame: Any, column: Any, name: str, n_labels: int | None, *, may_number: bool) -> _Part:
    is_sized = n_labels is not None
    part = _read_part(frame, column, "label", name, may_number=may_number or is_sized, is_sized=is_sized)
    if part.ids is not None:
        return part._replace(ids=LabelNames(part.ids))
    return _read_sized(part, n_labels)


def _read_part(frame: Any, column: Any, part: str, name: str, *, may_number: bool, is_sized: bool = False) -> _Part:
    if may_number and frame[column].dtype.is_integer() and frame[column].null_count() == 0:
        numbers = frame[column].to_numpy()
        _check_numbers(part, numbers, f"If these are ids, name their column: {part}={column!r}.")
        size = int(numbers.max()) + 1 if numbers.size else 0
        if is_sized or size <= max(FREE_NUMBERS, NUMBERS_PER_ROW * numbers.size):
            return _Part(numbers, size, None)
    codes, ids = factorise(frame, column, part, name)
    return _Part(codes, len(ids), ids)


def _arrange(
    instances: _Part, labels: _Part, values: NDArray, ranks: NDArray | None, name: str
) -> tuple[sp.csr_array, NDArray | None, bool]:
    """The entries as a matrix with sorted labels, their ranks in its order, and whether a pair is repeated."""
    rows, columns, shape = instances.numbers, labels.numbers, (instances.size, labels.size)
    if 0 in shape:
        canonical_csr(sp.coo_array(shape), name)  # raises
    if ranks is not None:
        order = np.lexsort((columns, rows))
        rows, columns, values, ranks = rows[order], columns[order], values[order], ranks[order]
    if (rows[1:] >= rows[:-1]).all():
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
        csr = build_csr(values, columns, indptr, shape)
        csr = csr if find_disorder(csr.indptr, csr.indices) < 0 else csr.sorted_indices()
    else:
        csr = sp.coo_array((values, (rows, columns)), shape=shape).tocsr()
    return csr, ranks, csr.nnz < rows.size or find_disorder(csr.indptr, csr.indices) >= 0


def _remedy_for(library: str, *, has_values: bool) -> str:
    if not has_values:
        return "Remove the duplicates first."
    grouping = "group_by" if library in ("polars", "pyarrow", "ibis") else "groupby"
    return f"Remove or merge the duplicates first, for instance with {grouping} and max."


def _refuse_twice(instances: _Part, labels: _Part, name: str, remedy: str) -> NoReturn:
    order = np.lexsort((labels.numbers, instances.numbers))
    rows, columns = instances.numbers[order], labels.numbers[order]
    x = int(np.argmax((rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])))
    msg = (
        f"{name} must hold each label of an instance once. Instance {instances.call(rows[x])} holds label "
        f"{labels.call(columns[x])} twice. {remedy}"
    )
    raise InputError(msg)


def read_pair(pair: tuple, n_labels: int | None = None) -> sp.csr_array:
    """Read a pair (labels, values) of arrays of shape (n, k'), with -1 for an empty slot."""
    if len(pair) != 2:
        msg = f"probabilities as a tuple must be a pair (labels, values). Got {len(pair)} parts."
        raise InputError(msg)
    labels, values = as_array(pair[0], "labels"), as_numbers(pair[1], "probabilities")
    if labels.ndim != 2 or labels.shape != values.shape:
        msg = f"labels and values must have the same shape (n, k'). Got {labels.shape} and {values.shape}."
        raise InputError(msg)
    used = labels != -1
    rows = np.broadcast_to(np.arange(labels.shape[0])[:, None], labels.shape)[used]
    numbers = labels[used]
    _check_numbers("label", numbers, "Map names to 0, 1, 2, ... first, or give a table of ids.")
    m = int(numbers.max()) + 1 if numbers.size else 0
    if n_labels is None:
        check_numbering("probabilities", "label", m, numbers.size)
    part = _read_sized(_Part(numbers, m, None), n_labels)
    return canonical_csr(
        sp.coo_array((values[used], (rows, numbers)), shape=(labels.shape[0], part.size)), "probabilities"
    )


def _read_sized(part: _Part, n_labels: int | None) -> _Part:
    """Labels that are numbers, and how many there are if the caller says so."""
    if n_labels is None:
        check_most_labels(part.size)
        return part
    m = check_size("n_labels", n_labels)
    check_most_labels(m)
    if part.size > m:
        msg = f"label numbers must be below n_labels={m}. Got {part.size - 1}. Give a larger n_labels."
        raise InputError(msg)
    return part._replace(size=m)


def _check_numbers(part: str, numbers: NDArray, remedy: str) -> None:
    if numbers.dtype.kind not in "iu" or (numbers.size and numbers.min() < 0):
        came = numbers.dtype if numbers.dtype.kind not in "iu" else numbers.min()
        msg = f"{part} numbers must be integers of at least 0. Got {came}. {remedy}"
        raise InputError(msg)
