"""Contents as rows of a table: instance, label, title, probability and rank, for formats that list entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.inputs.ids import Ids

__all__ = ["ROWS", "RowsOfTable", "list_rows", "plain_values"]

ROWS = 100_000  # entries at a time


class RowsOfTable(NamedTuple):
    """A block of rows, as tuples in the order of the names; None where an instance without labels has no value."""

    names: list[str]
    records: list[tuple[Any, ...]]


def list_rows(blocks: Iterable[Contents]) -> Iterator[RowsOfTable]:
    """Yield the entries in the order of their instances, best first; instances without ids are numbered."""
    n_before = 0
    for block in blocks:
        yield from _rows_of(block, n_before)
        n_before += block.matrix.shape[0]


def _rows_of(contents: Contents, n_before: int) -> Iterator[RowsOfTable]:
    matrix, names = contents.matrix, contents.label_names
    order, values = contents.best_first(), contents.values
    titles = None if names is None else names.titles
    has_ranks = contents.ranks is not None or contents.ranking is not None
    header = [_head("instance", contents.instance_names), _head("label", names), *(["title"] if titles else [])]
    header += ["probability", *(["rank"] if has_ranks else [])]
    step = max(1, int(ROWS / max(1.0, matrix.nnz / matrix.shape[0])))
    for first in range(0, matrix.shape[0], step):
        last = min(matrix.shape[0], first + step)
        ids = (
            range(n_before + first, n_before + last)
            if contents.instance_names is None
            else contents.instance_names[first:last]
        )
        records: list[tuple[Any, ...]] = []
        for i, name in zip(range(first, last), ids, strict=True):
            where = order[matrix.indptr[i] : matrix.indptr[i + 1]]
            labels = matrix.indices[where].tolist()
            columns = [[name] * len(labels), labels if names is None else [names[j] for j in labels]]
            columns += [[titles[j] for j in labels]] if titles else []
            columns += [plain_values(values[where])]
            columns += [list(range(1, len(labels) + 1))] if has_ranks else []
            records += zip(*columns, strict=True) if labels else [(name, *[None] * (len(header) - 1))]
        yield RowsOfTable(header, records)


def _head(part: str, ids: Ids | None) -> str:
    """Return the name of a column; ids that look like integers get another one, which marks them as ids for readers."""
    if ids is None or not len(ids):
        return part
    look_like_integers = ids.values.dtype.kind in "iu" or all(str(each).isdecimal() for each in ids)
    return f"{part}_id" if look_like_integers else part


def plain_values(values: Any) -> list[Any]:
    """Convert to Python numbers with as few digits as their type allows."""
    if values.dtype == np.float32:
        return [float(text) for text in values.astype(np.str_)]
    return values.astype(np.int8).tolist() if values.dtype == np.bool_ else values.tolist()
