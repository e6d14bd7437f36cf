"""The inputs of an evaluation: true labels, a selection, priors and a filter, checked against each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.datasets.catalogue.filters import is_text_filter, load_filter, pairs_of
from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.read_write import as_labels
from tailwise.errors import FileError, InputError
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.id_tables import read_table
from tailwise.inputs.joining import Space, as_chosen
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import as_array, as_indicator
from tailwise.inputs.paths import Source, columns_there, is_list_of_paths, is_path
from tailwise.inputs.priors import LabelPriors
from tailwise.inputs.table_columns import is_table
from tailwise.inputs.tags import are_tags, list_tags, place_tags
from tailwise.inputs.wide_tables import index_of
from tailwise.metrics.joined import Joined

REMEDY = "Give true labels, not probabilities or scores; convert counts with truth > 0."


def read_truth(truth: Any, label_names: Any = None, columns: dict[str, str] | None = None) -> Source:
    """Read true labels as a canonical CSR without stored zeros, with the file or table they came from.

    A Source, which was read before, is returned unchanged.
    """
    if isinstance(truth, Chosen):
        msg = f"truth must be a 0/1 matrix of true labels. Got a {type(truth).__name__}. Pass truth before selection."
        raise InputError(msg)
    if isinstance(truth, Source):
        return truth
    if are_tags(truth) and not is_list_of_paths(truth):
        return _read_tags(truth, LabelNames.of(label_names))
    if is_table(truth):
        found = read_table(truth, columns, name="truth", needs_values=False, may_repeat=True)
        matrix = as_indicator(found.matrix, "truth", REMEDY)
        return Source(matrix, Contents(matrix, label_names=found.label_names, instance_names=found.instance_ids))
    source = Source.of(truth, label_names, columns)
    if source.path is not None:
        _refuse_selection(source)
        return replace(source, matrix=as_labels(source.matrix, source.path))
    return Source(as_indicator(truth, "truth", REMEDY))


def _read_tags(truth: Any, given: LabelNames | None) -> Source:
    """Read lists of names; the index of a pandas Series names the instances."""
    matrix, names = place_tags(list_tags(truth, "truth"), given, "truth")
    contents = Contents(matrix, label_names=names, instance_names=index_of(truth))
    return Source(matrix, contents, all_names=given, is_of_tags=given is None)


def _refuse_selection(source: Source) -> None:
    """Refuse a file that says that it is a selection: it holds only ones, so its metrics would look plausible."""
    contents = source.contents
    if contents is not None and contents.ranking is not None and (contents.matrix.data == 1).all():
        msg = (
            f"truth must be true labels. Got {source.path}, which holds a selection with the order of its labels. "
            "Give truth first, then the selection: evaluate(truth, selection), tailwise evaluate TRUTH SELECTION."
        )
        raise FileError(msg)


def read_selection(selection: Any, truth: Source, columns: dict[str, str]) -> tuple[Source, Chosen]:
    """Read a selection, with ids if it has any; return truth as well, as the selection may have more labels."""
    if is_table(selection):
        chosen = as_chosen(selection, "selection", columns_there(selection, columns))
        selection = Space("truth", truth.instance_ids, truth.names).number_by_id(chosen)
    else:
        selection = truth.read_selection(selection, columns_there(selection, columns))
    by_id = isinstance(selection, Chosen) and _have_both(selection.label_names, truth.names)
    if not by_id and truth.is_of_tags:
        msg = "truth lists labels by name, and selection by number. Give label_names, the names of all labels in order."
        raise InputError(msg)
    if isinstance(selection, Chosen) and not by_id:
        truth = truth.widened(selection.n_labels)
    n, m = truth.matrix.shape
    in_order = not (isinstance(selection, Chosen) and _have_both(selection.instance_ids, truth.instance_ids))
    return truth, Chosen.of(selection, None if by_id else m, n_instances=n if in_order else None, like="truth")


def _have_both(first: Any, second: Any) -> bool:
    return first is not None and second is not None


def read_priors(priors: Any, truth: Source, joined: Joined | None = None) -> LabelPriors | None:
    """Read training frequencies, if given, for the labels of the truth, and of a selection that is joined to it."""
    joined = Joined(truth.matrix, label_names=truth.names) if joined is None else joined
    label_priors, n_labels = truth.read_priors(priors), joined.truth.shape[1]
    label_priors = None if label_priors is None else joined.space.read_priors(label_priors)
    if label_priors is not None and label_priors.n_labels != n_labels:
        msg = f"priors covers {label_priors.n_labels} labels, truth has {n_labels}. Give the priors of the same labels."
        raise InputError(msg)
    return label_priors if label_priors is None else label_priors.with_names(None)  # of the labels of truth now


def read_filter(filter: Any, truth: Source, joined: Joined) -> NDArray | None:
    """Read the pairs (instance, label) to remove, as ascending numbers instance * m + label."""
    if filter is None:
        return None
    if is_path(filter):
        filter = load_filter(filter) if is_text_filter(filter) else pairs_of(truth.load_like(filter).matrix)
    pairs = as_array(filter, "filter")
    if pairs.size == 0:
        return np.zeros(0, dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        msg = f"filter must be pairs (instance, label), an integer array of shape (pairs, 2). Got shape {pairs.shape}."
        raise InputError(msg)
    if joined.truth.shape[0] < truth.matrix.shape[0]:
        msg = "filter numbers the instances of truth, and selection lacks some of them. Use instances='all'."
        raise InputError(msg)
    n, m = joined.truth.shape
    for name, column, size in (("instance", pairs[:, 0], n), ("label", pairs[:, 1], m)):
        if column.min() < 0 or column.max() >= size:
            came = column.min() if column.min() < 0 else column.max()
            msg = f"filter must hold {name} numbers from 0 to {size - 1}. Got {came}. Use the filter of this data set."
            raise InputError(msg)
    return np.unique(pairs[:, 0].astype(np.int64) * m + pairs[:, 1].astype(np.int64))


def without_pairs(truth: sp.csr_array, chosen: Chosen, keys: NDArray) -> tuple[sp.csr_array, Chosen]:
    """Remove the pairs of a filter from both; the chosen labels after a removed one move up."""
    n, m = truth.shape
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(truth.indptr))
    kept = truth.copy()
    kept.data = np.where(np.isin(rows * m + truth.indices, keys), 0, truth.data)
    kept.eliminate_zeros()
    labels = chosen.labels
    is_out = np.isin(np.arange(n, dtype=np.int64)[:, None] * m + labels, keys) & (labels != EMPTY)
    fewer = Chosen.from_labels(np.where(is_out, EMPTY, labels), m)
    return kept, Chosen(fewer.labels, m, is_ranked=chosen.is_ranked)
