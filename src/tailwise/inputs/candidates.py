"""Label probabilities in any supported form, converted to one validated, read-only CSR matrix."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.checks import check_size
from tailwise.inputs.id_tables import read_pair, read_table
from tailwise.inputs.matrices import (
    ENTRIES_AT_ONCE,
    as_array,
    canonical_csr,
    cut_labels,
    extend_columns,
    is_mapped,
    make_columns,
)
from tailwise.inputs.odd_probabilities import SMALLEST, without_rounding
from tailwise.inputs.predictor_outputs import read_predictor_output
from tailwise.inputs.table_columns import LIBRARIES
from tailwise.kernels.rows import (
    Columns,
    Rows,
    find_odd_probability,
    sum_by_label,
    survey_labels,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from tailwise.engines import Engine
    from tailwise.inputs.ids import Ids
    from tailwise.inputs.label_names import LabelNames

__all__ = ["Candidates", "Origin", "from_table"]

SAMPLE = 4096  # candidates by which labels are divided into parts with about as many candidates each
MOST_WIDENED = 1_000_000  # up to this many entries, double precision is worth its memory


class ByLabel(NamedTuple):
    """What one sweep over the candidates finds for each label; arrays (m,)."""

    largest: NDArray
    sizes: NDArray


class Origin(NamedTuple):
    """Where probabilities came from: the library of the table, and messages about how it was read."""

    library: str = ""
    messages: tuple[str, ...] = ()


UNKNOWN = Origin()


class Candidates:
    """The labels that may be selected for each instance, with their probabilities.

    Parameters
    ----------
    indptr, labels, probabilities : ndarray
        A canonical CSR: int64 ``(n + 1,)``, int32 ``(nnz,)`` ascending within a row, float32 or float64 ``(nnz,)``.
        Use :meth:`of` for anything else; these arrays are not checked and not copied, only viewed as read-only.
    n_labels : int
        Number of labels m.
    holds_all_labels : bool
        Whether the input covered every label of every instance, as a dense matrix does. Its zeros are not candidates,
        but may fill the slots of an instance that has fewer candidates than its budget.
    label_names : LabelNames, optional
        The ids of the labels and their titles, if known.
    instance_ids : Ids, optional
        The ids of the instances, if known.
    origin : Origin
        The library of the table that these candidates were read from, and which of its columns were read.
    columns : Columns, optional
        The same candidates by label, if they are available. Default: made when they are first needed.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> candidates = tw.Candidates.of(np.array([[0.9, 0.0, 0.2], [0.0, 0.4, 0.0]]))
    >>> candidates
    Candidates(2 instances, 3 labels, 3 entries)
    >>> candidates.condition_positives()
    array([0.9, 0.4, 0.2])
    """

    __slots__ = (
        "_by_label",
        "_columns",
        "_sums",
        "holds_all_labels",
        "instance_ids",
        "label_names",
        "n_labels",
        "origin",
        "rows",
    )

    def __init__(
        self,
        indptr: NDArray,
        labels: NDArray,
        probabilities: NDArray,
        n_labels: int,
        *,
        holds_all_labels: bool = False,
        label_names: LabelNames | None = None,
        instance_ids: Ids | None = None,
        origin: Origin = UNKNOWN,
        columns: Columns | None = None,
    ) -> None:
        if label_names is not None and len(label_names) != n_labels:
            msg = f"label_names must hold one name for each of the {n_labels} labels. Got {len(label_names)} names."
            raise InputError(msg)
        if instance_ids is not None and len(instance_ids) != indptr.size - 1:
            msg = f"instance_ids must hold one id for each of the {indptr.size - 1} instances. Got {len(instance_ids)}."
            raise InputError(msg)
        self.rows = Rows(_read_only(indptr), _read_only(labels), _read_only(probabilities))
        self.n_labels = int(n_labels)
        self.holds_all_labels = holds_all_labels
        self.label_names = label_names
        self.instance_ids = instance_ids
        self.origin = origin
        self._columns = columns
        self._by_label: ByLabel | None = None
        self._sums: NDArray | None = None

    @classmethod
    def of(
        cls,
        probabilities: Any,
        *,
        n_labels: int | None = None,
        top: int | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> Candidates:
        """Check and convert any supported form of label probabilities.

        Parameters
        ----------
        probabilities : array_like or path
            ndarray ``(n, m)``; any scipy.sparse matrix or array; a torch tensor; a pair ``(labels, values)`` of
            ``(n, k')`` arrays with -1 as padding; a table of pandas, polars, pyarrow or dask, with one row per entry
            (columns of instances, labels and probabilities, by ids of any kind) or one column per label; a file in any
            format that :func:`tailwise.load` reads; or Candidates. Zeros in a dense array are not candidates.
        n_labels : int, optional
            Number of labels, for forms that do not determine it (a pair, a table, some files). Default: the largest
            label + 1.
        top : int, optional
            Keep only the ``top`` most probable labels of each instance (ties go to the smaller label).
        columns : mapping of str to str, optional
            The columns of a table or a file that hold the parts ``instance``, ``label`` and ``probability``. Default:
            those with usual names, such as user_id, item_id and score. Integers in columns called exactly ``instance``
            and ``label`` are taken as row and column numbers, unless they are huge or the column is named here;
            anything else is an id.

        Returns
        -------
        Candidates
            Shares memory with the input if that is already canonical; the input is never changed. Candidates from a
            table carry its ids, those from a file the label names found in it or in a labels.txt next to it.
        """
        if columns and isinstance(probabilities, cls):
            _refuse_columns(probabilities)
        candidates = probabilities if isinstance(probabilities, cls) else _from_any(probabilities, n_labels, columns)
        if n_labels is not None and n_labels != candidates.n_labels:
            msg = f"n_labels must equal the number of columns, {candidates.n_labels}. Got {n_labels}. Omit it."
            raise InputError(msg)
        return candidates if top is None else candidates.keep_top(top)

    @property
    def n_instances(self) -> int:
        return self.rows.indptr.size - 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_instances, self.n_labels

    @property
    def n_entries(self) -> int:
        return self.rows.labels.size

    @property
    def sizes(self) -> NDArray:
        """Number of candidates of each instance."""
        return np.diff(self.rows.indptr)

    @property
    def by_label(self) -> ByLabel:
        """The largest probability of each label, and the number of its candidates; read-only."""
        return self.survey()

    def survey(self, engine: Engine | None = None) -> ByLabel:
        """Like `by_label`, found on all threads of an engine when it is first needed."""
        if self._by_label is None:
            found = ByLabel(np.zeros(self.n_labels), np.zeros(self.n_labels, dtype=np.int64))
            self._share_labels(engine, lambda first, last: survey_labels(self.rows, *found, first, last))
            self._by_label = found
        return self._by_label

    def sum_up(self, engine: Engine | None = None) -> NDArray:
        """The sum of the probabilities of each label, found on all threads when first needed; read-only."""
        if self._sums is None:
            sums = np.zeros(self.n_labels)
            self._share_labels(engine, lambda first, last: sum_by_label(self.rows, sums, first, last))
            self._sums = sums
        return self._sums

    def _share_labels(self, engine: Engine | None, task: Callable[[int, int], None]) -> None:
        """Call the task for ranges of labels, one for each thread; each goes through all rows in order."""
        if engine is None or not engine.shares(self.n_entries):
            task(0, self.n_labels)
            return
        sample = np.sort(self.rows.labels[np.random.default_rng(0).integers(0, self.n_entries, SAMPLE)])
        inner = sample[SAMPLE * np.arange(1, engine.workers) // engine.workers]
        engine.share([0, *inner.tolist(), self.n_labels], lambda _, first, last: task(first, last))

    def columns(self, engine: Engine) -> Columns:
        """The candidates by label: those of a store that has them, otherwise made when they are first needed."""
        if self._columns is None:
            at_once = ENTRIES_AT_ONCE if is_mapped(self.rows.labels) else self.n_entries
            self._columns = make_columns(self.rows, self.survey(engine).sizes, engine, self.make_zeros, at_once)
        return self._columns

    def columns_of(self, labels: NDArray, engine: Engine) -> Columns:
        """The candidates of some labels, unless those of all are at hand, or are as many."""
        sizes = np.zeros_like(self.by_label.sizes)
        sizes[labels] = self.by_label.sizes[labels]
        n_wanted = int(sizes.sum())
        if self._columns is not None or n_wanted == self.n_entries or is_mapped(self.rows.labels):
            return self.columns(engine)
        return make_columns(self.rows, sizes, engine, partial(np.empty, n_wanted), n_wanted)

    def make_zeros(self, dtype: Any, size: int | None = None) -> NDArray:
        """Zeros, by default one for each candidate: in a temporary file if the candidates are a mapped file."""
        size = self.n_entries if size is None else size
        if not is_mapped(self.rows.labels):
            return np.zeros(size, dtype)
        from tailwise.inputs.scratch import make_scratch

        return make_scratch(size, dtype, self.rows.labels)

    def split_labels(self, parts: int) -> list[int]:
        """Edges of parts of the labels; adding up their candidates takes about as long for each part."""
        return cut_labels(self.by_label.sizes, parts)

    def condition_positives(self) -> NDArray:
        """Expected number of positives p of each label: the sum of its probabilities."""
        return self.sum_up().copy()

    def with_names(self, label_names: LabelNames | None, instance_ids: Ids | None = None) -> Candidates:
        """Return the same candidates with these label names and ids of instances; None keeps the present ones.

        More names than labels add labels without candidates.
        """
        if label_names is None and instance_ids is None:
            return self
        names, ids = label_names or self.label_names, instance_ids or self.instance_ids
        return self._like(*self.rows, n_labels=len(names or ()) or self.n_labels, label_names=names, instance_ids=ids)

    def with_messages(self, messages: tuple[str, ...]) -> Candidates:
        """Return the same candidates with more messages about how they were read."""
        new = tuple(message for message in messages if message not in self.origin.messages)
        origin = self.origin._replace(messages=(*self.origin.messages, *new))
        return self._like(*self.rows, origin=origin) if new else self

    def with_labels(self, more: Ids) -> Candidates:
        """Return the same candidates with more labels, given by their ids, that are candidates of no instance."""
        assert self.label_names is not None
        names = self.label_names.extended(more)
        if names is self.label_names:
            return self
        return self._like(*self.rows, n_labels=len(names), label_names=names, holds_all_labels=False)

    def _like(self, indptr: NDArray, labels: NDArray, probabilities: NDArray, **changes: Any) -> Candidates:
        """Return other entries with all else the same as in these candidates."""
        kept = {name: getattr(self, name) for name in _KEPT}
        entries = zip((indptr, labels, probabilities), self.rows, strict=True)
        if self._columns is not None and all(new is old for new, old in entries):
            kept["columns"] = extend_columns(self._columns, changes.get("n_labels", self.n_labels))
        return Candidates(indptr, labels, probabilities, **{**kept, **changes})

    def widened(self) -> Candidates:
        """Return the candidates in double precision, unless they are many.

        Kernels are compiled for each type of probabilities. Single precision saves memory and time only for large
        batches, and double precision holds every single-precision number.
        """
        if self.rows.values.dtype == np.float64 or self.n_entries > MOST_WIDENED:
            return self
        return self._like(self.rows.indptr, self.rows.labels, self.rows.values.astype(np.float64))

    def with_entries(self, indptr: NDArray, labels: NDArray, probabilities: NDArray) -> Candidates:
        """Return other entries for the same instances and labels."""
        return self._like(indptr, labels, probabilities)

    def keep_top(self, top: int) -> Candidates:
        """Keep the ``top`` most probable labels of each instance."""
        top = check_size("top", top, remedy="Omit it to keep every candidate.")
        if not (self.sizes > top).any():
            return self
        from tailwise.inputs.top_candidates import copy_top

        return self._like(*copy_top(self, top))

    def part(self, first: int, last: int) -> Rows:
        """The rows of the instances first to last."""
        indptr = self.rows.indptr[first : last + 1]
        entries = slice(indptr[0], indptr[-1])
        return Rows(indptr - indptr[0], self.rows.labels[entries], self.rows.values[entries])

    def to_csr(self) -> sp.csr_array:
        """Return the probabilities as a read-only scipy CSR array that shares memory with this object."""
        indptr = self.rows.indptr
        if self.n_entries <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)  # with 64-bit pointers scipy would copy the labels to 64 bits as well
        return sp.csr_array((self.rows.values, self.rows.labels, indptr), shape=self.shape, copy=False)

    def __repr__(self) -> str:
        return f"Candidates({self.n_instances:,} instances, {self.n_labels:,} labels, {self.n_entries:,} entries)"


_KEPT = ("n_labels", "holds_all_labels", "label_names", "instance_ids", "origin")


def _from_any(probabilities: Any, n_labels: int | None, columns: Mapping[str, str] | None) -> Candidates:
    if isinstance(probabilities, (str, os.PathLike)):
        return _from_path(probabilities, n_labels, columns)
    if type(probabilities).__module__.split(".")[0] in LIBRARIES:  # none of which needs to be installed
        return from_table(probabilities, n_labels, columns)
    if columns:
        _refuse_columns(probabilities)
    if isinstance(probabilities, tuple):
        return _from_csr(read_pair(probabilities, n_labels))
    if not isinstance(probabilities, np.ndarray) and not sp.issparse(probabilities):
        probabilities = read_predictor_output(probabilities, "probabilities")
    matrix = as_array(probabilities, "probabilities")
    return _from_csr(canonical_csr(matrix, "probabilities"), holds_all_labels=not sp.issparse(matrix))


def _refuse_columns(probabilities: Any) -> NoReturn:
    came = type(probabilities).__name__
    msg = f"instance, label and probability name the columns of a table. Got them with a {came}. Omit them."
    raise InputError(msg)


def _from_path(path: str | os.PathLike[str], n_labels: int | None, columns: Mapping[str, str] | None) -> Candidates:
    # These import every format, which most callers do not need.
    from tailwise.datasets.formats.store_files import is_store, map_candidates
    from tailwise.inputs.paths import load_all_labels, names_for

    contents = load_all_labels(path, n_labels=n_labels, columns=columns)
    if is_store(path):
        mapped = map_candidates(path, contents.matrix.shape[1])
        return mapped.with_names(names_for(contents, path), contents.instance_names)
    names, origin = names_for(contents, path), Origin(messages=contents.messages)
    return _from_csr(contents.matrix, label_names=names, instance_ids=contents.instance_names, origin=origin)


def from_table(table: Any, n_labels: int | None = None, columns: Mapping[str, str] | None = None) -> Candidates:
    """Read a table; `n_labels` is how many labels there are if the table numbers them."""
    found = read_table(table, columns, n_labels)
    is_wide = not sp.issparse(found.matrix)
    return _from_csr(
        canonical_csr(found.matrix, "probabilities") if is_wide else found.matrix,
        holds_all_labels=is_wide,
        label_names=found.label_names,
        instance_ids=found.instance_ids,
        origin=Origin(found.library, found.messages),
    )


def _from_csr(csr: sp.csr_array, **known: Any) -> Candidates:
    values = csr.data
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64 if values.dtype.itemsize > 4 else np.float32)
    if find_odd_probability(values, SMALLEST) >= 0:
        values = without_rounding(values, csr, known)
    indptr, labels = csr.indptr.astype(np.int64, copy=False), csr.indices.astype(np.int32, copy=False)
    return Candidates(indptr, labels, values, csr.shape[1], **known)


def _read_only(array: NDArray) -> NDArray:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
